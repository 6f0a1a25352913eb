/**
 * Sessions of browsers. A page exchanges its token once for a cookie, which scripts cannot read. The value of the cookie is a role, an
 * expiry and the hash of a named token, signed with a key that is derived from the token of the server: every server with the same token
 * accepts it, nothing is stored, and a change of that token revokes it. The session of a named token ends with that token too.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import type { IncomingMessage } from "node:http"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { AccessRole } from "../access/Grant.ts"
import type { TokenOptions } from "./Tokens.ts"

/** How long a session lasts. `GET /api/v1/session` renews it in its second half. */
export const sessionMillis = 12 * 3_600_000

export interface Session {
  readonly role: AccessRole
  readonly expiresAt: number
  /** The hash of the named token that it was opened with; undefined: a token of the server. */
  readonly named?: string
}

const purpose = "detent session 2"

/** Role, expiry in base 36, the hash of a named token or nothing, and signature in base64url. */
const form = /^(read|operate)\.([0-9a-z]{1,11})\.([\w-]{43}|)\.([\w-]{43})$/

export class SessionCookies {
  readonly #keys: ReadonlyMap<AccessRole, Buffer>
  readonly #now: () => number

  constructor({ operate, read }: TokenOptions, now: () => number) {
    this.#keys = new Map([
      ...(operate === undefined ? [] : [["operate", keyOf(operate)] as const]),
      ...(read === undefined ? [] : [["read", keyOf(read)] as const]),
    ])
    this.#now = now
  }

  /** A new session, and the value of its cookie. Undefined where the role has no token, and a named one has no server token to sign with. */
  begin(role: AccessRole, named?: string): (Session & { readonly value: string }) | undefined {
    const key = this.#keyFor(role, named)
    if (key === undefined) return undefined
    const expiresAt = this.#now() + sessionMillis
    const signed = `${role}.${expiresAt.toString(36)}.${named ?? ""}`
    const value = `${signed}.${signatureOf(key, signed).toString("base64url")}`
    return { role, expiresAt, value, ...(named === undefined ? {} : { named }) }
  }

  /** Sessions of named tokens are signed with the key of the role `operate` where the server has one. */
  #keyFor(role: AccessRole, named: string | undefined): Buffer | undefined {
    return named === undefined ? this.#keys.get(role) : (this.#keys.get("operate") ?? this.#keys.get("read"))
  }

  /**
   * The session of a request. Undefined where no cookie is valid: it is missing, has expired or was signed with another token. A cookie of
   * another path or subdomain may come first under the same name.
   */
  of({ headers: { cookie, host } }: Pick<IncomingMessage, "headers">): Session | undefined {
    if (cookie === undefined || this.#keys.size === 0) return undefined
    const start = `${cookieName(host)}=`
    for (const one of cookie.split(";")) {
      const text = one.trim()
      const session = text.startsWith(start) ? this.#read(text.slice(start.length)) : undefined
      if (session !== undefined) return session
    }
    return undefined
  }

  #read(value: string): Session | undefined {
    const [, role, expiry = "", hash = "", signature = ""] = form.exec(value) ?? []
    if (role !== "read" && role !== "operate") return undefined
    const named = hash === "" ? undefined : hash
    const key = this.#keyFor(role, named)
    const expiresAt = Number.parseInt(expiry, 36)
    if (key === undefined || expiresAt <= this.#now()) return undefined
    const isSigned = timingSafeEqual(signatureOf(key, `${role}.${expiry}.${hash}`), Buffer.from(signature, "base64url"))
    return isSigned ? { role, expiresAt, ...(named === undefined ? {} : { named }) } : undefined
  }

  /** Whether a session is in its second half. */
  isAging({ expiresAt }: Session): boolean {
    return expiresAt - this.#now() < sessionMillis / 2
  }
}

const keyOf = (token: Redacted.Redacted): Buffer => createHmac("sha256", Redacted.value(token)).update(purpose).digest()

const signatureOf = (key: Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest()

/** Browsers share cookies between the ports of a host: the name keeps the sessions of two servers apart. */
export const cookieName = (host = ""): string => {
  const [, port] = /:(\d{1,5})$/.exec(host) ?? []
  return port === undefined ? "detent" : `detent-${port}`
}

/** Whether the browser uses TLS, which a proxy in front of the server terminates. */
export const isSecure = ({ headers: { origin = "", "x-forwarded-proto": protocol } }: Pick<IncomingMessage, "headers">): boolean =>
  origin.startsWith("https:") || protocol === "https"

export class Sessions extends Context.Service<Sessions, SessionCookies>()("@detent/server/Sessions") {
  static readonly layer = (tokens: TokenOptions): Layer.Layer<Sessions> =>
    Layer.effect(
      Sessions,
      Effect.map(Clock.Clock, (clock) => new SessionCookies(tokens, () => clock.currentTimeMillisUnsafe())),
    )
}
