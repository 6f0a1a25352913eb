/**
 * Checks origin, token, role and size of every request before routing. The check is plain code in front of the router: it takes a
 * microsecond, and no route can bypass it.
 */
import type { IncomingMessage } from "node:http"
import type { Access, RequestTable, RequestTraits } from "@detent/api/Access"
import type { Actor } from "@detent/durable"
import { type Grant, grantOfToken, scopeRefusal } from "../access/Grant.ts"
import { type InstanceTokenReader, isInstanceToken } from "../access/InstanceTokens.ts"
import type { KnownNamedTokens } from "../access/NamedTokens.ts"
import type { ProblemResponse } from "./ProblemResponse.ts"
import { isLoopback } from "./ServeOptions.ts"
import type { SessionCookies } from "./Sessions.ts"
import type { GrantTable, KnownTokens } from "./Tokens.ts"

export interface RequestGuardOptions {
  readonly tokens: KnownTokens
  readonly namedTokens: KnownNamedTokens
  readonly instanceTokens: InstanceTokenReader
  readonly sessions: SessionCookies
  readonly grants: GrantTable
  readonly bodyBytes: number
  readonly uploadBytes: number
  /** What the endpoint of a request needs, by method and path. */
  readonly requestTable: RequestTable
  /** Whether the request is for a file of the page. The page is public; its data is not. */
  readonly isPage: (request: IncomingMessage) => boolean
  /** Web applications that may call with a token. */
  readonly origins: ReadonlySet<string>
  /** Whether the server refuses every change. */
  readonly observes: boolean
}

/** Query parameters that hold a token: URLs end up in logs and browser histories. */
const tokenInQuery = /[?&](?:token|access_token|api_key|apikey|auth|authorization|key)=/i

/** The name of a user of the console who has not given one. */
const consoleUser = "console"

/** A form may exceed its file by this many bytes. */
const formBytes = 64 * 1024

/** The part of a URL that the router matches. */
export const pathOf = (url: string): string => {
  const end = url.search(/[?;#]/)
  return end === -1 ? url : url.slice(0, end)
}

export class RequestGuard {
  readonly #options: RequestGuardOptions

  constructor(options: RequestGuardOptions) {
    this.#options = options
  }

  /** Returns why the request is refused, or undefined. Stores the grant of an admitted request. */
  refusal(request: IncomingMessage): ProblemResponse | undefined {
    const { url = "", headers } = request
    if (tokenInQuery.test(url)) return inQuery
    if (url.includes("%00")) return nullCharacter
    const traits = this.#traitsOf(request)
    const isOfApplication = this.isOfApplication(request)
    const elsewhere = isOfApplication ? undefined : this.#originProblem(request)
    if (elsewhere !== undefined) return elsewhere
    if (headers["transfer-encoding"] !== undefined && !traits.takesFile) return lengthNeeded
    const { bodyBytes, uploadBytes } = this.#options
    const length = Number(headers["content-length"] ?? 0)
    if (length > (traits.takesFile ? uploadBytes + formBytes : bodyBytes)) return tooLarge(traits.takesFile ? uploadBytes : bodyBytes)
    const session = isOfApplication ? undefined : this.#grantOfSession(request)
    const grant = session ?? this.#grantOf(headers)
    if (grant === "Expired") return expiredToken
    if (isOfApplication && request.method === "OPTIONS") return undefined
    if (isWebhook(request)) return this.#options.observes ? onlyLooks : undefined
    if (grant === undefined && !needsNoGrant(traits, request) && !this.#options.isPage(request))
      return headers.authorization === undefined ? noToken : wrongToken
    const abused =
      headers.authorization === undefined && !isOfApplication ? browserProblem(request, traits, session !== undefined) : undefined
    if (abused !== undefined) return abused
    if (grant === undefined) return undefined
    const outside = scopeRefusal(grant, request, pathOf(url))
    if (outside !== undefined && !this.#options.isPage(request)) return outOfScope(outside)
    if (grant.role === "read" && mayChange(traits)) return roleMissing
    if (this.#options.observes && mayChange(traits)) return onlyLooks
    this.#options.grants.set(request, grant)
    return undefined
  }

  /** Whether the request comes from a page of a web application that may call this server. */
  isOfApplication({ headers: { origin, host = "" } }: IncomingMessage): boolean {
    return origin !== undefined && this.#options.origins.has(origin) && hostOf(origin) !== host
  }

  #grantOf({ authorization, ...headers }: IncomingMessage["headers"]): Grant | "Expired" | undefined {
    const { tokens, namedTokens, instanceTokens } = this.#options
    if (!tokens.areNeeded)
      return { role: "operate", actor: { kind: "user", name: headers["sec-fetch-site"] === "same-origin" ? consoleUser : "local" } }
    const token = authorization === undefined ? undefined : /^bearer +(\S+)$/i.exec(authorization)?.[1]
    if (token === undefined) return undefined
    if (isInstanceToken(token)) {
      const signed = instanceTokens.read(token)
      if (signed === undefined || signed === "Expired") return signed
      const actor: Actor = { kind: "token", name: `for ${signed.machine}/${signed.id}` }
      return { role: signed.events.length > 0 ? "operate" : "read", actor, instance: signed, expiresAt: signed.expiresAt }
    }
    const named = namedTokens.read(token)
    if (named !== undefined) return grantOfToken(named)
    const role = tokens.roleOf(token)
    return role === undefined ? undefined : { role, actor: { kind: "token", name: role } }
  }

  /** The grant of the session cookie. Procedures accept tokens only: they are for programs. */
  #grantOfSession(request: IncomingMessage): Grant | undefined {
    if (request.headers.authorization !== undefined || pathOf(request.url ?? "").startsWith("/rpc")) return undefined
    const session = this.#options.sessions.of(request)
    if (session === undefined) return undefined
    if (session.named === undefined) return { role: session.role, actor: { kind: "user", name: consoleUser } }
    const token = this.#options.namedTokens.ofHash(session.named)
    return token === undefined ? undefined : grantOfToken(token)
  }

  /** A page of another site, open in the user's browser, must not send requests in the user's name. */
  #originProblem({ headers }: IncomingMessage): ProblemResponse | undefined {
    const { host = "", origin } = headers
    if (headers["sec-fetch-site"] === "cross-site") return otherSite
    if (origin !== undefined && hostOf(origin) !== host) return otherSite
    // Refuses DNS rebinding: another name that resolves to this machine.
    return !this.#options.tokens.areNeeded && !isLoopback(nameOf(host)) ? otherName : undefined
  }

  #traitsOf({ method = "GET", url = "" }: IncomingMessage): RequestTraits {
    return this.#options.requestTable(method, pathOf(url))
  }
}

const isReading = ({ method }: IncomingMessage): boolean => method === "GET" || method === "HEAD" || method === "OPTIONS"

/** Whether the request needs no token and no session, or is signed by a queue, which the handler verifies. */
const needsNoGrant = ({ access }: RequestTraits, { headers }: IncomingMessage): boolean =>
  access === "everyone" ||
  access === "session" ||
  (access === "queue" && /^bearer +[\w-]+\.[\w-]+\.[\w-]+$/i.test(headers.authorization ?? ""))

const changing: ReadonlySet<Access> = new Set(["operator", "queue"])

/** Whether another service delivers something. It has no token: the handler verifies its signature. */
const isWebhook = ({ method, url = "" }: IncomingMessage): boolean => method === "POST" && pathOf(url).startsWith("/webhooks/")

/** Procedures check the role themselves. */
const mayChange = ({ access }: RequestTraits): boolean => changing.has(access)

/**
 * Refuses requests that a browser may have sent for a page of another origin. Browsers send the cookie also with requests of pages on
 * other ports and subdomains, and a server without tokens needs no cookie. A form can neither send JSON nor omit its Origin.
 */
const browserProblem = (request: IncomingMessage, traits: RequestTraits, isByCookie: boolean): ProblemResponse | undefined => {
  const { headers } = request
  if (headers["sec-fetch-site"] === "same-site" && !(isReading(request) && headers["sec-fetch-mode"] === "navigate")) return otherSite
  if (!isByCookie || isReading(request)) return undefined
  if (headers.origin === undefined) return originNeeded
  const isSent = /^(?:application\/json|multipart\/form-data)\b/i.test(headers["content-type"] ?? "")
  return isSent || !mayChange(traits) ? undefined : typeNeeded
}

const hostOf = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).host : undefined)

/** The host without its port. */
const nameOf = (host: string): string => host.replace(/:\d+$/, "")

const inQuery: ProblemResponse = {
  status: 400,
  name: "TokenInAddress",
  title: "Do not send tokens in URLs",
  detail: "URLs are kept in logs and histories; send the token as header, Authorization: Bearer TOKEN, and replace this one",
}

/** No stored name contains a null character, and PostgreSQL fails on a query with one. */
const nullCharacter: ProblemResponse = {
  status: 400,
  name: "AddressInvalid",
  title: "The address cannot be understood",
  detail: "it holds a null character, which no name has; correct it",
}

export const notDecodable: ProblemResponse = {
  ...nullCharacter,
  detail: "it is not percent-encoded UTF-8; encode each name in it with encodeURIComponent",
}

const noToken: ProblemResponse = {
  status: 401,
  name: "TokenMissing",
  title: "A token is required",
  detail: "send it as header, Authorization: Bearer TOKEN",
  headers: { "www-authenticate": "Bearer" },
}

const wrongToken: ProblemResponse = {
  status: 401,
  name: "TokenUnknown",
  title: "The token is not valid",
  detail: "check that it is the one the server was started with, sent as Authorization: Bearer TOKEN",
  headers: { "www-authenticate": 'Bearer error="invalid_token"' },
}

const expiredToken: ProblemResponse = {
  status: 401,
  name: "TokenExpired",
  title: "The token has expired",
  detail: "ask the server that made it for a new one",
  headers: { "www-authenticate": 'Bearer error="invalid_token", error_description="expired"' },
}

const roleMissing: ProblemResponse = {
  status: 403,
  name: "RoleMissing",
  title: "Not allowed",
  detail: "this token is read-only; use a token of the role operate to change something",
}

const outOfScope = (detail: string): ProblemResponse => ({ status: 403, name: "OutOfScope", title: "Not allowed", detail })

const onlyLooks: ProblemResponse = {
  status: 409,
  name: "OnlyLooks",
  title: "This server is read-only",
  detail: "this server is read-only (--observe); send the request to another server",
}

const otherSite: ProblemResponse = {
  status: 403,
  name: "OtherSite",
  title: "Not allowed from another site",
  detail: "the request comes from a page of another site; open the server's own address instead",
}

const originNeeded: ProblemResponse = {
  status: 403,
  name: "OriginMissing",
  title: "Not allowed without an Origin",
  detail: "a request by cookie that changes something has the Origin of the server; programs send Authorization: Bearer TOKEN instead",
}

const typeNeeded: ProblemResponse = {
  status: 415,
  name: "UnsupportedType",
  title: "This type is not supported",
  detail: "a request by cookie that changes something has the content-type application/json or multipart/form-data, also without a body",
}

const otherName: ProblemResponse = {
  status: 421,
  name: "OtherName",
  title: "The server does not answer to this host name",
  detail: "without a token it answers only as localhost or 127.0.0.1; use one of those, or start it with a token",
}

/** The server could refuse a body of unknown length only while it arrives, and the client would not read the answer. */
const lengthNeeded: ProblemResponse = {
  status: 411,
  name: "LengthNeeded",
  title: "The length of the body is required",
  detail: "send the body with a Content-Length header, not in chunks; only uploads may be sent in chunks",
}

export const tooLarge = (limit: number): ProblemResponse => ({
  status: 413,
  name: "BodyTooLarge",
  title: "Too large",
  detail: `the body may have at most ${limit} bytes; send less, or raise the limit of the server`,
})
