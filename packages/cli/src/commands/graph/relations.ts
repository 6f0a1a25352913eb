import { localName } from "@detent/knowledge"
import * as graph from "@detent/workspace/operations/graph"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import { chooseVersion } from "../../graph/chooseGraph.ts"
import { chooseProperty } from "../../graph/chooseTerm.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { knowledge } from "../../workspace/Opening.ts"
import { upTo } from "../shared.ts"
import { cursorOf, entityIri, objectText, pageOptions, placeOf } from "./shared.ts"

const { observing } = knowledge

export default command(
  {
    name: "graph relations",
    summary: "facts of the graph; a fact that several documents state is listed once",
    arguments: [],
    options: [
      { name: "entity", kind: "text", value: "IRI", summary: "only facts with this entity as subject or object" },
      { name: "property", kind: "text", value: "NAME", summary: "only facts of this property: its IRI, or the last part of the IRI" },
      ...pageOptions,
    ],
    examples: [{ line: "detent graph relations --limit 20 --json", says: "with their confidence and the number of sources" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const version = yield* chooseVersion(input)
      const { limit } = input
      const entity = input.entity === undefined ? undefined : yield* entityIri(input.entity)
      const property = yield* chooseProperty(version, input.property)
      const page = yield* upTo(limit, (yield* placeOf(input.after)).after, (most, after) =>
        Effect.map(graph.relations(version, { ...optional({ entity, property, after }), limit: most }), ({ relations: items, next }) => ({
          items,
          next,
        })),
      )
      yield* output.rows(
        page.items,
        [
          { title: "SUBJECT", of: ({ subject, subjectLabel }) => subjectLabel ?? subject },
          { title: "PROPERTY", of: (one) => localName(one.property) },
          { title: "OBJECT", of: objectText },
          { title: "CONFIDENCE", of: ({ confidence }) => confidence.toFixed(2) },
          { title: "PLACES", of: ({ witnesses }) => witnesses },
        ],
        "no fact fits",
      )
      if (page.next !== undefined) yield* output.note(`more with --after ${cursorOf(page.next)}`)
    }).pipe(Effect.provide(observing(input))),
)
