import * as explore from "@detent/workspace/operations/graphExplore"
import * as Effect from "effect/Effect"
import { chooseGraph, versionIn } from "../../graph/chooseGraph.ts"
import { command } from "../../line/Command.ts"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { knowledge } from "../../workspace/Opening.ts"
import { paging } from "../shared.ts"
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
      const page = yield* explore.versions(name, { limit: Math.min(1000, input.limit), after: yield* versionIn("--after", input.after) })
      yield* output.rows(
        page.versions,
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
