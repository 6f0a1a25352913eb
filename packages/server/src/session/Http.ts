/** Handlers of the session API. */
import type { IncomingMessage } from "node:http"
import { createRequire } from "node:module"
import { relative, resolve } from "node:path"
import { CoreApi } from "@detent/api/CoreApi"
import { Forbidden, kind, Unauthorized } from "@detent/api/Problem"
import { OpenSession } from "@detent/api/SessionApi"
import { isBucketLocation } from "@detent/blobs/BucketLocation"
import { type Actor, CurrentActor } from "@detent/durable"
import { hashOf } from "@detent/workspace/AccessTokens"
import { AuditLog } from "@detent/workspace/AuditLog"
import { CurrentWorkspace } from "@detent/workspace/CurrentWorkspace"
import { optional } from "@detent/workspace/optional"
import { systemsOn } from "@detent/workspace/Systems"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import type { AccessRole } from "../access/Grant.ts"
import { NamedTokens } from "../access/NamedTokens.ts"
import { makeOperating, refuseUnknownKeys } from "../serve/Operating.ts"
import { cookieName, isSecure, type Session, Sessions, sessionMillis } from "../serve/Sessions.ts"
import { RequestGrants, Tokens } from "../serve/Tokens.ts"

const version = String(createRequire(import.meta.url)("../../package.json").version)

const unknown = new Unauthorized({
  type: kind("TokenUnknown"),
  title: "The token is not valid",
  status: 401,
  detail: 'check that it is the one the server was started with, and send it as {"token":"…"}',
})

const scoped = new Forbidden({
  type: kind("TokenScoped"),
  title: "Not allowed",
  status: 403,
  detail: "this token is for some machines, and the console shows all; ask the operator of the server for a token without machines",
})

/** The token in the header of a request. */
const bearerOf = ({ headers }: HttpServerRequest): string | undefined => /^bearer +(\S+)$/i.exec(headers["authorization"] ?? "")?.[1]

export const sessionHandlers = HttpApiBuilder.group(
  CoreApi,
  "session",
  Effect.fnUntraced(function* (handlers) {
    const sessions = yield* Sessions
    const grants = yield* RequestGrants
    const tokens = yield* Tokens
    const named = yield* NamedTokens
    const operating = yield* makeOperating()
    const { role: work, database, node, data } = yield* CurrentWorkspace
    const systems = yield* systemsOn
    const openKeys = refuseUnknownKeys(OpenSession)

    const view = (role: AccessRole, session: Session | undefined) =>
      HttpServerResponse.jsonUnsafe(
        {
          role,
          observes: work === "observe",
          database,
          version,
          ...optional({ node, data: dataOption(data) }),
          needsToken: tokens.areNeeded,
          systems,
          ...optional({ expiresAt: session?.expiresAt }),
        },
        { headers: { "cache-control": "no-store" } },
      )

    /** The session view with a new cookie. Without a cookie where the role has no token. */
    const begun = (request: HttpServerRequest, role: AccessRole, token?: string) => {
      const session = sessions.begin(role, token)
      const response = view(role, session)
      return session === undefined
        ? response
        : HttpServerResponse.setCookieUnsafe(response, ...cookieOf(request, session.value, sessionMillis))
    }

    return handlers
      .handle("get", ({ request }) =>
        Effect.sync(() => {
          const source = sourceOf(request)
          const session = sessions.of(source)
          // Every request has a role here: the guard refuses others.
          const role = grants.get(source)?.role ?? "read"
          return session === undefined || !sessions.isAging(session) ? view(role, session) : begun(request, role, session.named)
        }),
      )
      .handle("open", ({ request, payload: { token } }) =>
        Effect.gen(function* () {
          yield* openKeys(request)
          const given = token ?? bearerOf(request)
          const found = given === undefined || !tokens.areNeeded ? undefined : named.read(given)
          if (found?.machines !== undefined) return yield* Effect.fail(scoped)
          const ofServer = token === undefined || !tokens.areNeeded ? grants.get(sourceOf(request))?.role : tokens.roleOf(token)
          const role = found?.role ?? ofServer
          if (role === undefined) return yield* Effect.fail(unknown)
          if (tokens.areNeeded) {
            const who: Actor = found === undefined ? { kind: "user", name: "console" } : { kind: "token", name: found.name }
            const opened = Effect.flatMap(AuditLog, (log) => log.add({ operation: "session.open", object: {}, detail: { role } }))
            yield* operating(Effect.provideService(opened, CurrentActor, who))
          }
          return begun(request, role, found === undefined || given === undefined ? undefined : hashOf(given))
        }),
      )
      .handle("end", ({ request }) =>
        Effect.sync(() => HttpServerResponse.setCookieUnsafe(HttpServerResponse.empty({ status: 204 }), ...cookieOf(request, "", 0))),
      )
  }),
)

/** The value of `--data` for a command in the working folder of this process; undefined for the default folder. */
const dataOption = (data: string): string | undefined => {
  if (isBucketLocation(data)) return data
  if (data === resolve(".detent")) return undefined
  const below = relative(process.cwd(), data)
  return below === "" ? "." : below.startsWith("..") ? data : below
}

const sourceOf = (request: HttpServerRequest): IncomingMessage => request.source as IncomingMessage

const cookieOf = (request: HttpServerRequest, value: string, millis: number) => {
  const source = sourceOf(request)
  const options = { path: "/", httpOnly: true, sameSite: "strict", secure: isSecure(source), maxAge: millis } as const
  return [cookieName(source.headers.host), value, options] as const
}
