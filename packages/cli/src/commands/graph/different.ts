import * as Effect from "effect/Effect"
import { decidedIn, decideIdentity, decisionOf } from "../../graph/Identity.ts"
import { command } from "../../line/Command.ts"
import { entityIri, identityOptions, namespace } from "./shared.ts"

export default command(
  {
    name: "graph different",
    summary: "keep two entities apart",
    detail:
      "Later batches never join the two, whatever their names and values. The graph does not change.\n" +
      "`detent graph undo` takes the decision back.",
    arguments: [
      { name: "entity", summary: "IRI of an entity, as `detent graph entities` shows it" },
      { name: "other", summary: "IRI of the other entity" },
    ],
    options: [namespace, ...identityOptions],
    examples: [
      { line: "detent graph different urn:detent:graph:sea:3f9c2a71b0d4 urn:detent:graph:sea:77b1c02e91aa", says: "two ships of one name" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const entities = [yield* entityIri(input.entity), yield* entityIri(input.other)]
      return yield* decidedIn(input, (server, name) => decideIdentity(server, name, { ...decisionOf(input), kind: "different", entities }))
    }),
)
