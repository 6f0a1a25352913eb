import { localName } from "@detent/knowledge"
import * as graph from "@detent/workspace/operations/graph"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import { chooseVersion } from "../../graph/chooseGraph.ts"
import { chooseClass } from "../../graph/chooseTerm.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { knowledge } from "../../workspace/Opening.ts"
import { upTo } from "../shared.ts"
import { cursorOf, pageOptions, placeOf } from "./shared.ts"

const { observing } = knowledge

export default command(
  {
    name: "graph entities",
    summary: "the entities of the graph, sorted by name",
    arguments: [{ name: "search", summary: "words of a name", optional: true }],
    options: [
      { name: "type", kind: "text", value: "NAME", summary: "only entities of this class: its IRI, or the last part of the IRI" },
      ...pageOptions,
    ],
    examples: [{ line: "detent graph entities lighthouse --limit 10", says: "names, other names and classes" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const version = yield* chooseVersion(input)
      const { search, limit } = input
      const type = yield* chooseClass(version, input.type)
      const page = yield* upTo(limit, (yield* placeOf(input.after)).after, (most, after) =>
        Effect.map(graph.entities(version, { ...optional({ search, type, after }), limit: most }), ({ entities: items, next }) => ({
          items,
          next,
        })),
      )
      yield* output.rows(
        page.items,
        [
          { title: "ENTITY", of: ({ label }) => label, looks: (text, _, style) => style.bold(text) },
          { title: "OTHER NAMES", of: ({ otherLabels }) => otherLabels.join(", ") },
          { title: "CLASSES", of: ({ types }) => types.map(localName).join(", ") },
          { title: "IRI", of: ({ iri }) => iri },
        ],
        "no entity fits",
      )
      if (page.next !== undefined) yield* output.note(`more with --after ${cursorOf(page.next)}`)
    }).pipe(Effect.provide(observing(input))),
)
