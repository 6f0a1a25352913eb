import * as explore from "@detent/workspace/operations/graphExplore"
import * as Effect from "effect/Effect"
import { chooseGraph, versionIn } from "../../graph/chooseGraph.ts"
import { command } from "../../line/Command.ts"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { knowledge } from "../../workspace/Opening.ts"
import { paging, upTo } from "../shared.ts"
import { namespace } from "./shared.ts"

const { observing } = knowledge

export default command(
  {
    name: "graph versions",
    summary: "the versions of a graph, newest first",
    arguments: [],
    options: [namespace, ...paging],
    examples: [{ line: "detent graph versions --limit 5", says: "to compare with `detent graph diff --from`" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { namespace: name } = yield* chooseGraph(input.namespace)
      const page = yield* upTo(input.limit, yield* versionIn("--after", input.after), (limit, after) =>
        Effect.map(explore.versions(name, { limit, after }), ({ versions: items, next }) => ({ items, next })),
      )
      yield* output.rows(
        page.items,
        [
          { title: "VERSION", of: ({ version }) => version },
          { title: "TRIPLES", of: ({ triples }) => triples },
          { title: "BATCHES", of: (one) => one.batches },
          { title: "ADDED", of: ({ at }) => (at === undefined ? "" : momentText(at)) },
        ],
        "no versions",
      )
      if (page.next !== undefined) yield* output.note(`more with --after ${page.next}`)
    }).pipe(Effect.provide(observing(input))),
)
