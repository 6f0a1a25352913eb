/** Operations on named tokens and on the audit log. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { AccessTokens, type TokenRequest } from "../AccessTokens.ts"
import { AuditLog } from "../AuditLog.ts"
import { TokenRefused } from "../errors.ts"
import { optional } from "../optional.ts"

export interface CreateToken extends Omit<TokenRequest, "expiresInMillis"> {
  /** Such as `90 days`. Default: it does not end. */
  readonly expiresIn?: string | undefined
}

const millisIn = (text: string | undefined): Effect.Effect<number | undefined, TokenRefused> => {
  if (text === undefined) return Effect.undefined
  const duration = Duration.fromInput(text as Duration.Input)
  return Option.isSome(duration)
    ? Effect.succeed(Duration.toMillis(duration.value))
    : Effect.fail(new TokenRefused({ problem: `${text} is no length of time`, nextStep: 'write it as in "90 days" or "12 hours"' }))
}

/** Makes a token. Its answer has the secret, which is shown once: after a lost answer, revoke the token and make another. */
export const createToken = ({ expiresIn, ...request }: CreateToken) =>
  Effect.gen(function* () {
    const expiresInMillis = yield* millisIn(expiresIn)
    return yield* (yield* AccessTokens).create({ ...request, ...optional({ expiresInMillis }) })
  })

/** Makes a new secret of a token. `keep`: how long the one before remains valid. Default: a day. */
export const rotateToken = (name: string, keep = "1 day") =>
  Effect.gen(function* () {
    const keepMillis = yield* millisIn(keep)
    return yield* (yield* AccessTokens).rotate(name, keepMillis ?? 0)
  })

/** Ends all secrets of a token. */
export const revokeToken = (name: string) =>
  Effect.flatMap(AccessTokens, (tokens) => Effect.map(tokens.revoke(name), (count) => ({ revoked: count })))

export const listTokens = Effect.flatMap(AccessTokens, ({ list }) => list)

export interface AuditPage {
  readonly actor?: string | undefined
  readonly operation?: string | undefined
  readonly since?: number | undefined
  readonly before?: number | undefined
  readonly limit?: number | undefined
}

const longestPage = 1000

/** A page of the audit log, newest first. */
export const audit = ({ limit = 100, ...filter }: AuditPage = {}) =>
  Effect.gen(function* () {
    const most = Math.min(longestPage, Math.max(1, limit))
    const entries = yield* (yield* AuditLog).list({ ...filter, limit: most + 1 })
    const page = entries.slice(0, most)
    return { entries: page, ...optional({ next: entries.length > most ? page.at(-1)?.number : undefined }) }
  })
