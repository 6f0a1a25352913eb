import * as Effect from "effect/Effect"
import { decidedIn, undoIdentity } from "../../graph/Identity.ts"
import { command } from "../../line/Command.ts"
import { keyOption } from "../shared.ts"
import { actorOption, decisionNumber, namespace } from "./shared.ts"

export default command(
  {
    name: "graph undo",
    summary: "take back a decision on entities",
    detail: "The graph gets the entities back as they were. A decision that a later one builds on is refused: undo that one first.",
    arguments: [{ name: "decision", summary: "the decision's number, as `detent graph decisions` shows it" }],
    options: [namespace, actorOption, keyOption],
    examples: [{ line: "detent graph undo 3", says: "two entities again" }],
  },
  (input) =>
    Effect.gen(function* () {
      const decision = yield* decisionNumber(input.decision)
      return yield* decidedIn(input, (server, name) => undoIdentity(server, name, { decision, by: input.by, key: input.key }))
    }),
)
