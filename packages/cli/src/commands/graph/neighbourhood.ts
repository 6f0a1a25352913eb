import { localName } from "@detent/knowledge"
import * as explore from "@detent/workspace/operations/graphExplore"
import * as Effect from "effect/Effect"
import { chooseVersion } from "../../graph/chooseGraph.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { knowledge } from "../../workspace/Opening.ts"
import { entityIri, namespace, versionOption } from "./shared.ts"

const { observing } = knowledge

export default command(
  {
    name: "graph neighbourhood",
    summary: "the entities around an entity, and their relations",
    arguments: [{ name: "entity", summary: "the entity's IRI, as `detent graph entities` shows it" }],
    options: [
      namespace,
      versionOption,
      { name: "depth", kind: "integer", value: "N", default: 1, minimum: 1, summary: "steps from the entity; the maximum is 3" },
      { name: "limit", kind: "integer", value: "N", default: 100, minimum: 1, summary: "at most this many entities; the maximum is 300" },
    ],
    examples: [{ line: "detent graph neighbourhood http://example.org/people/ada --depth 2", says: "includes entities two steps away" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const entity = yield* entityIri(input.entity)
      const version = yield* chooseVersion(input)
      const found = yield* explore.neighbourhood(version, entity, { depth: Math.min(3, input.depth), limit: input.limit })
      if (output.isJson) return yield* output.value(found, () => "")
      const names = new Map(found.nodes.map(({ iri, label }) => [iri, label ?? iri]))
      yield* output.rows(
        found.edges,
        [
          { title: "FROM", of: ({ from }) => names.get(from) ?? from },
          { title: "PROPERTY", of: ({ property }) => localName(property) },
          { title: "TO", of: ({ to }) => names.get(to) ?? to },
          { title: "CONFIDENCE", of: ({ confidence }) => confidence.toFixed(2) },
          { title: "PLACES", of: ({ witnesses }) => witnesses },
        ],
        "the entity is related to no other entity",
      )
      const hidden = found.nodes.reduce((sum, node) => sum + node.hidden, 0)
      if (hidden > 0) yield* output.note(`${hidden} relations are not shown; raise --limit or --depth to see them`)
    }).pipe(Effect.provide(observing(input))),
)
