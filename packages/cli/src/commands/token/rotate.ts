import { rotateToken } from "@detent/workspace/operations/access"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { changedHere } from "../../workspace/Changing.ts"
import { observing } from "../../workspace/Opening.ts"
import { keyOption } from "../shared.ts"
import { shown, tokenName } from "./shared.ts"

export default command(
  {
    name: "token rotate",
    summary: "make a new secret of a token, while the one before remains valid for a time",
    arguments: [tokenName],
    options: [
      { name: "keep", kind: "text", value: "TIME", default: "1 day", summary: "how long the secret before remains valid" },
      keyOption,
    ],
    examples: [{ line: "detent token rotate ci --keep '1 hour'", says: "two secrets are valid for an hour" }],
  },
  ({ name, keep, key, ...place }) => {
    const change = { operation: "access.rotateToken", params: { name }, json: { keep }, key, isSecret: true }
    return Effect.flatMap(changedHere(change, rotateToken(name, keep)), shown).pipe(Effect.provide(observing(place)))
  },
)
