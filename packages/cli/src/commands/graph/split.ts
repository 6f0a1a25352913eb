import * as Effect from "effect/Effect"
import { decidedIn, decideIdentity, decisionOf } from "../../graph/Identity.ts"
import { command } from "../../line/Command.ts"
import { documentIds, documentOption, entityIri, identityOptions, namespace } from "./shared.ts"

export default command(
  {
    name: "graph split",
    summary: "make one entity several",
    detail:
      "With --document, the mentions in these documents become one entity of their own; without it, the mentions of each document do.\n" +
      "Later batches keep them apart. `detent graph undo` takes the decision back.",
    arguments: [{ name: "entity", summary: "the entity's IRI, as `detent graph entities` shows it" }],
    options: [documentOption, namespace, ...identityOptions],
    examples: [
      {
        line: "detent graph split urn:detent:graph:sea:3f9c2a71b0d4 --document doc-3f9c2a71b0d4,doc-77b1c02e91aa",
        says: "these documents speak of another one",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const entities = [yield* entityIri(input.entity)]
      const documents = input.document === undefined ? undefined : yield* documentIds(input.document)
      return yield* decidedIn(input, (server, name) =>
        decideIdentity(server, name, { ...decisionOf(input), kind: "split", entities, documents }),
      )
    }),
)
