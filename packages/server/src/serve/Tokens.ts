/** The tokens of the server, and the grant of each request in flight. */
import { createHash, timingSafeEqual } from "node:crypto"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { AccessRole, Grant } from "../access/Grant.ts"

export interface TokenOptions {
  readonly operate?: Redacted.Redacted | undefined
  readonly read?: Redacted.Redacted | undefined
}

export class KnownTokens {
  readonly #known: ReadonlyArray<readonly [AccessRole, Buffer]>

  constructor({ operate, read }: TokenOptions) {
    this.#known = [
      ...(operate === undefined ? [] : [["operate", digest(Redacted.value(operate))] as const]),
      ...(read === undefined ? [] : [["read", digest(Redacted.value(read))] as const]),
    ]
  }

  /** Whether requests need a token. Without tokens every client may do everything, so the server is reachable from this machine only. */
  get areNeeded(): boolean {
    return this.#known.length > 0
  }

  /** Compares in constant time. */
  roleOf(token: string): AccessRole | undefined {
    const given = digest(token)
    let role: AccessRole | undefined
    for (const [known, expected] of this.#known) if (timingSafeEqual(given, expected)) role ??= known
    return role
  }
}

export class Tokens extends Context.Service<Tokens, KnownTokens>()("@detent/server/Tokens") {
  static readonly layer = (tokens: TokenOptions): Layer.Layer<Tokens> => Layer.sync(Tokens, () => new KnownTokens(tokens))
}

const digest = (token: string): Buffer => createHash("sha256").update(token).digest()

/**
 * Passes the grant of each request in flight from the guard to the handlers. It is kept beside the request, never in its headers:
 * a tracer exports headers, and a client can add headers to each message of a procedure call.
 */
export class GrantTable {
  /** Keyed by Node's request object, which lives as long as the request or its WebSocket. */
  readonly #grants = new WeakMap<object, Grant>()

  set(request: object, grant: Grant) {
    this.#grants.set(request, grant)
  }

  get(request: object): Grant | undefined {
    return this.#grants.get(request)
  }
}

export class RequestGrants extends Context.Service<RequestGrants, GrantTable>()("@detent/server/RequestGrants") {
  static readonly layer = Layer.sync(RequestGrants, () => new GrantTable())
}
