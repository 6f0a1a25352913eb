import { revokeToken } from "@detent/workspace/operations/access"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { changedHere } from "../../workspace/Changing.ts"
import { observing } from "../../workspace/Opening.ts"
import { keyOption } from "../shared.ts"
import { tokenName } from "./shared.ts"

export default command(
  {
    name: "token revoke",
    summary: "end a token; servers refuse it within two seconds",
    arguments: [tokenName],
    options: [keyOption],
    examples: [{ line: "detent token revoke ci", says: "ends all its secrets" }],
  },
  ({ name, key, ...place }) =>
    Effect.gen(function* () {
      const output = yield* Output
      const ended = yield* changedHere({ operation: "access.revokeToken", params: { name }, key }, revokeToken(name))
      yield* output.value({ name, ...ended }, () => `${name} is revoked\n`)
    }).pipe(Effect.provide(observing(place))),
)
