/**
 * The valid named tokens as this server knows them. Requests are checked without a read of the database: the tokens are read every two
 * seconds, and after each change that this server makes.
 */
import { forkLoop } from "@detent/durable"
import type { PersistenceFailed } from "@detent/machine"
import { type AccessToken, AccessTokens, hashOf, isNamedToken } from "@detent/workspace/AccessTokens"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const intervalMillis = 2000

export class KnownNamedTokens {
  readonly #tokens: AccessTokens["Service"]
  readonly #now: () => number
  #valid: ReadonlyMap<string, AccessToken> = new Map()

  constructor(tokens: AccessTokens["Service"], now: () => number) {
    this.#tokens = tokens
    this.#now = now
  }

  /** Reads the valid tokens. */
  get refresh(): Effect.Effect<void, PersistenceFailed> {
    return Effect.map(this.#tokens.valid, (valid) => {
      this.#valid = valid
    })
  }

  /** Undefined for a token that is not valid, or not known here yet. */
  read(token: string): AccessToken | undefined {
    return isNamedToken(token) ? this.ofHash(hashOf(token)) : undefined
  }

  ofHash(hash: string): AccessToken | undefined {
    const found = this.#valid.get(hash)
    return found === undefined || (found.expiresAt !== undefined && found.expiresAt <= this.#now()) ? undefined : found
  }
}

export class NamedTokens extends Context.Service<NamedTokens, KnownNamedTokens>()("@detent/server/NamedTokens") {
  static readonly layer: Layer.Layer<NamedTokens, PersistenceFailed, AccessTokens> = Layer.effect(
    NamedTokens,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const known = new KnownNamedTokens(yield* AccessTokens, () => clock.currentTimeMillisUnsafe())
      yield* known.refresh
      yield* forkLoop(
        "the named tokens",
        Effect.delay(
          Effect.suspend(() => known.refresh),
          intervalMillis,
        ),
      )
      return known
    }),
  )
}
