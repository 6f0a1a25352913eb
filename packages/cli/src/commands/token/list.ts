import { listTokens } from "@detent/workspace/operations/access"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { observing } from "../../workspace/Opening.ts"
import { scopeText } from "./shared.ts"

export default command(
  {
    name: "token list",
    summary: "named tokens, with those that have ended",
    arguments: [],
    options: [],
    examples: [{ line: "detent token list --json", says: "who made each, and when it ends" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const now = yield* Clock.currentTimeMillis
      yield* output.rows(
        yield* listTokens,
        [
          { title: "NAME", of: ({ name }) => name, looks: (text, _, style) => style.bold(text) },
          { title: "ROLE", of: ({ role }) => role },
          { title: "FOR", of: scopeText },
          { title: "MADE", of: ({ createdAt, createdBy }) => `${momentText(createdAt)} by ${createdBy}` },
          {
            title: "ENDS",
            of: ({ expiresAt, revokedAt }) => {
              if (revokedAt !== undefined) return `revoked ${momentText(revokedAt)}`
              if (expiresAt === undefined) return ""
              return `${expiresAt <= now ? "ended " : ""}${momentText(expiresAt)}`
            },
          },
        ],
        "no named tokens; make one with `detent token create`",
      )
    }).pipe(Effect.provide(observing(input))),
)
