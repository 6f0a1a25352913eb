import * as Effect from "effect/Effect"
import { decidedIn, decideIdentity, decisionOf } from "../../graph/Identity.ts"
import { command } from "../../line/Command.ts"
import { entityIri, identityOptions, namespace } from "./shared.ts"

export default command(
  {
    name: "graph merge",
    summary: "make two entities one",
    detail:
      "The second entity becomes the first, with all its facts, also in later batches. Refused where the graph would violate its shapes.\n" +
      "`detent graph undo` takes the decision back.",
    arguments: [
      { name: "entity", summary: "IRI of the entity that stays, as `detent graph entities` shows it" },
      { name: "other", summary: "IRI of the entity that becomes the first" },
    ],
    options: [namespace, ...identityOptions],
    examples: [
      {
        line: 'detent graph merge urn:detent:graph:sea:3f9c2a71b0d4 urn:detent:graph:sea:77b1c02e91aa --reason "renamed in 1913"',
        says: "the decision, with its number",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const entities = [yield* entityIri(input.entity), yield* entityIri(input.other)]
      return yield* decidedIn(input, (server, name) => decideIdentity(server, name, { ...decisionOf(input), kind: "merge", entities }))
    }),
)
