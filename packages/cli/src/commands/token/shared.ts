/** Shared by the commands of tokens. */
import type { AccessToken, MadeToken } from "@detent/workspace/AccessTokens"
import * as Effect from "effect/Effect"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"

export const tokenName = { name: "name", summary: "the token's name, as `detent token list` shows it" } as const

export const scopeText = ({ machines, events }: AccessToken): string =>
  machines === undefined ? "everything" : `${machines.join(", ")}${events === undefined ? "" : `: ${events.join(", ")}`}`

/** Prints the secret alone to stdout, so that a script can take it, and the rest as a note. */
export const shown = (made: MadeToken) =>
  Effect.gen(function* () {
    const output = yield* Output
    yield* output.value(made, () => `${made.token}\n`)
    const { name, role, expiresAt } = made
    const end = expiresAt === undefined ? "it does not end" : `it ends ${momentText(expiresAt)}`
    yield* output.note(`token ${name} of the role ${role}, for ${scopeText(made)}; ${end}; keep it now: only its hash is stored`)
  })

/** Several names, separated by commas. */
export const namesIn = (text: string | undefined): ReadonlyArray<string> | undefined =>
  text
    ?.split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "")
