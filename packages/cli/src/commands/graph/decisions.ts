import * as operations from "@detent/workspace/operations/identities"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import { chooseGraph } from "../../graph/chooseGraph.ts"
import { saidText } from "../../graph/Identity.ts"
import { command } from "../../line/Command.ts"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { knowledge } from "../../workspace/Opening.ts"
import { paging, upTo } from "../shared.ts"
import { decisionNumber, namespace } from "./shared.ts"

const { observing } = knowledge

export default command(
  {
    name: "graph decisions",
    summary: "what people have decided about entities, newest first",
    arguments: [],
    options: [namespace, ...paging],
    examples: [{ line: "detent graph decisions --json", says: "with state, person, time and reason" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { namespace: name } = yield* chooseGraph(input.namespace)
      const start = input.after === undefined ? undefined : yield* decisionNumber(input.after)
      const page = yield* upTo(input.limit, start, (limit, after) =>
        Effect.map(operations.list(name, { limit, ...optional({ after }) }), ({ decisions: items, next }) => ({ items, next })),
      )
      yield* output.rows(
        page.items,
        [
          { title: "DECISION", of: ({ id }) => id },
          { title: "KIND", of: ({ kind }) => kind },
          { title: "SAYS", of: saidText },
          { title: "STATE", of: ({ state }) => state },
          { title: "BY", of: ({ by }) => by },
          { title: "AT", of: ({ at }) => momentText(at) },
          { title: "REASON", of: ({ reason }) => reason ?? "" },
        ],
        "no decisions; see `detent graph merge --help`",
      )
      if (page.next !== undefined) yield* output.note(`more with --after ${page.next}`)
    }).pipe(Effect.provide(observing(input))),
)
