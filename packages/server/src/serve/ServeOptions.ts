/** The options of a server. Each has a default. */
import { isIP } from "node:net"
import type { HttpLimits } from "@detent/workspace/Config"
import * as Duration from "effect/Duration"
import type * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

export interface ServeOptions {
  /** Default: `127.0.0.1`. Any other address needs a token. */
  readonly host?: string
  /** Default: 4400. 0 takes a free port. */
  readonly port?: number
  /** The token of the role `operate`, which may do everything. */
  readonly token?: Redacted.Redacted | undefined
  /** The token of the role `read`. */
  readonly readToken?: Redacted.Redacted | undefined
  /**
   * Addresses of web applications, such as `https://shop.example`, whose pages may call this server with a token in the Authorization
   * header. Cookies are not accepted from them. Default: none.
   */
  readonly origins?: ReadonlyArray<string>
  /** The folder with the built files of the console. Default: the build of `@detent/console`. */
  readonly console?: string
  /** The folder with the built documentation, served at `/docs/guide`. Default: the folder that `npm run docs` builds in a clone. */
  readonly guide?: string
  /** Default: the limits of the workspace's configuration. */
  readonly limits?: Partial<Limits>
}

/** The same as `limits.http` of a configuration. */
export type Limits = HttpLimits

export const defaultLimits: Limits = {
  bodyBytes: 1_000_000,
  uploadBytes: 1_000_000_000,
  requests: 1000,
  unauthenticatedRequests: 100,
  streams: 10_000,
  connections: 20_000,
  headersTimeout: "10 seconds",
  requestTimeout: "30 seconds",
  unauthenticatedTimeout: "10 seconds",
  answerTimeout: "60 seconds",
  stopTimeout: "20 seconds",
}

export const millisOf = (duration: Duration.Input): number => Duration.toMillis(Duration.fromInputUnsafe(duration))

/** The server would be reachable from other machines without a token. */
export class TokenNeeded extends Schema.TaggedError<TokenNeeded>()("TokenNeeded", { host: Schema.String }) {
  override get message() {
    return `${this.host} can be reached from other machines, so a token is required; set DETENT_TOKEN or pass --token, or serve on 127.0.0.1`
  }
}

/** A web application is not named by its origin. */
export class OriginInvalid extends Schema.TaggedError<OriginInvalid>()("OriginInvalid", { origin: Schema.String }) {
  override get message() {
    return `${this.origin} is not the origin of a web application; pass protocol, host and port alone, such as https://shop.example`
  }
}

/** The token is too easy to guess. */
export class TokenWeak extends Schema.TaggedError<TokenWeak>()("TokenWeak", {}) {
  override get message() {
    return "a token needs at least 16 characters, all of them visible ASCII; generate one with `openssl rand -hex 32`"
  }
}

export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || host === "[::1]" || (isIP(host) === 4 && host.startsWith("127."))

const isStrong = (token: string): boolean => /^[\x21-\x7e]{16,}$/.test(token)

export const checkOrigins = (origins: ReadonlyArray<string>): Result.Result<ReadonlySet<string>, OriginInvalid> => {
  const invalid = origins.find((origin) => !/^https?:/.test(origin) || !URL.canParse(origin) || new URL(origin).origin !== origin)
  return invalid === undefined ? Result.succeed(new Set(origins)) : Result.fail(new OriginInvalid({ origin: invalid }))
}

/** Refuses weak tokens, and an address beyond this machine without a token. */
export const checkAccess = (host: string, tokens: ReadonlyArray<string>): Result.Result<void, TokenNeeded | TokenWeak> => {
  if (!tokens.every(isStrong)) return Result.fail(new TokenWeak())
  return tokens.length === 0 && !isLoopback(host) ? Result.fail(new TokenNeeded({ host })) : Result.succeed(undefined)
}
