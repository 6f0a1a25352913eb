/** Who may do what: a token stands for a role. `read` looks; `operate` also changes things. */
import { createHash, timingSafeEqual } from "node:crypto"
import * as Redacted from "effect/Redacted"

export type AccessRole = "read" | "operate"

export interface TokenOptions {
  readonly operate?: Redacted.Redacted | undefined
  readonly read?: Redacted.Redacted | undefined
}

export class Tokens {
  readonly #known: ReadonlyArray<readonly [AccessRole, Buffer]>

  constructor({ operate, read }: TokenOptions) {
    this.#known = [
      ...(operate === undefined ? [] : [["operate", digest(Redacted.value(operate))] as const]),
      ...(read === undefined ? [] : [["read", digest(Redacted.value(read))] as const]),
    ]
  }

  /** Without tokens every client may do everything, so the server is reachable from this machine only. */
  get areNeeded(): boolean {
    return this.#known.length > 0
  }

  /** Takes as long for a wrong token as for a right one, however much of it is right. */
  roleOf(token: string): AccessRole | undefined {
    const given = digest(token)
    let role: AccessRole | undefined
    for (const [known, expected] of this.#known) if (timingSafeEqual(given, expected)) role ??= known
    return role
  }
}

const digest = (token: string): Buffer => createHash("sha256").update(token).digest()
