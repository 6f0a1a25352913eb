/**
 * Authenticates callers that deliver tasks over HTTP, besides the operators of the server: Cloud Tasks, when it is the queue. A call
 * carries an OIDC token that Google signs for a service account: RS256 only, verified with Google's keys, which are cached for as long
 * as their response allows, and for a day longer while they cannot be fetched again.
 */
import { createPublicKey, createVerify, type JsonWebKey, type KeyObject } from "node:crypto"
import { innermostReason } from "@detent/machine/internal"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import type { CloudTasksSettings, TaskSettings } from "./Task.ts"

/** The token does not prove that the caller is the service account. `foreign`: it is a valid token for another account or audience. */
export class CallerRefused extends Schema.TaggedError<CallerRefused>()("CallerRefused", {
  problem: Schema.String,
  nextStep: Schema.String,
  foreign: Schema.Boolean,
}) {
  override get message() {
    return `${this.problem}; ${this.nextStep}`
  }
}

/** The keys cannot be fetched at the moment. */
export class KeysUnavailable extends Schema.TaggedError<KeysUnavailable>()("KeysUnavailable", { problem: Schema.String }) {
  override get message() {
    return `the keys of Google's tokens cannot be fetched: ${this.problem}; the next call fetches them again`
  }
}

export interface TaskCallersService {
  /** Fails unless this is a valid token of the service account, with this server as its audience. */
  readonly verify: (token: string) => Effect.Effect<void, CallerRefused | KeysUnavailable>
  /** How often the queue delivers a task at most. */
  readonly maxAttempts: number
}

const noCallers: TaskCallersService = {
  maxAttempts: 1,
  verify: () =>
    Effect.fail(
      new CallerRefused({
        problem: "this server accepts no calls of a task queue",
        nextStep: "send its own token, or set knowledge.tasks to a queue of Cloud Tasks",
        foreign: false,
      }),
    ),
}

export class TaskCallers extends Context.Service<TaskCallers, TaskCallersService>()("@detent/knowledge/TaskCallers") {
  static readonly layer = (settings: TaskSettings | undefined): Layer.Layer<TaskCallers> =>
    Layer.sync(TaskCallers, () =>
      settings?.queue === "cloud-tasks" ? { verify: verifier(settings), maxAttempts: settings.maxAttempts ?? 5 } : noCallers,
    )
}

const issuers: ReadonlySet<string> = new Set(["https://accounts.google.com", "accounts.google.com"])

const defaultKeysUrl = "https://www.googleapis.com/oauth2/v3/certs"

/** How much clocks may differ, in seconds. */
const skew = 60

/** In milliseconds: how long keys are cached without a `max-age`, and the pause before an unknown key makes them be fetched again. */
const [keptFor, askedAgainAfter] = [3_600_000, 30_000]

/** In milliseconds: how long expired keys are used while they cannot be fetched. Google may have withdrawn them in the meantime. */
const usedExpired = 24 * 3_600_000

const jsonPart = <A>(schema: Schema.Codec<A, unknown>) => {
  const decode = Schema.decodeOption(Schema.fromJsonString(schema))
  return (part: string): A | undefined => Option.getOrUndefined(decode(Buffer.from(part, "base64url").toString("utf8")))
}

const headerOf = jsonPart(Schema.Struct({ alg: Schema.String, kid: Schema.String }))

const claimsOf = jsonPart(
  Schema.Struct({
    iss: Schema.String,
    aud: Schema.String,
    exp: Schema.Finite,
    iat: Schema.Finite,
    email: Schema.optionalKey(Schema.String),
    email_verified: Schema.optionalKey(Schema.Boolean),
  }),
)

const KeySet = Schema.fromJsonString(
  Schema.Struct({ keys: Schema.Array(Schema.Struct({ kid: Schema.String, kty: Schema.String, n: Schema.String, e: Schema.String })) }),
)

/** Longer than any token of Google's. */
const longestToken = 8192

/** Returns the check of a token, which caches the keys between calls. */
const verifier = ({
  serviceAccount,
  endpoint,
  audience = endpoint,
  keysUrl = defaultKeysUrl,
}: CloudTasksSettings): TaskCallersService["verify"] => {
  let keys: ReadonlyMap<string, KeyObject> = new Map()
  let freshUntil = 0
  let askedAt = Number.NEGATIVE_INFINITY
  const turn = Semaphore.makeUnsafe(1)

  const fetchKeys = Effect.gen(function* () {
    const response = yield* HttpClient.execute(HttpClientRequest.get(keysUrl))
    const text = yield* response.text
    if (response.status !== 200) return yield* Effect.fail(new KeysUnavailable({ problem: `${keysUrl} answers ${response.status}` }))
    const { keys } = yield* Schema.decodeEffect(KeySet)(text)
    return {
      found: new Map(keys.filter(({ kty }) => kty === "RSA").flatMap(keyOf)),
      keptMillis: keptMillis(response.headers["cache-control"]),
    }
  }).pipe(
    Effect.timeoutOrElse({ duration: "10 seconds", orElse: () => Effect.fail(new KeysUnavailable({ problem: "no answer came in time" })) }),
    Effect.mapError((error) => (error instanceof KeysUnavailable ? error : new KeysUnavailable({ problem: innermostReason(error) }))),
    Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "error" }),
    Effect.provide(FetchHttpClient.layer),
  )

  /** The key with this id. An unknown id may be new: the keys are fetched again, but not on every call. */
  const keyNamed = (kid: string) =>
    turn.withPermit(
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const known = keys.get(kid)
        if (known !== undefined && now < freshUntil) return known
        if (known === undefined && now < freshUntil && now - askedAt < askedAgainAfter) return undefined
        askedAt = now
        const fetched = yield* Effect.result(fetchKeys)
        if (fetched._tag === "Failure")
          return yield* known === undefined || now >= freshUntil + usedExpired ? Effect.fail(fetched.failure) : Effect.succeed(known)
        keys = fetched.success.found
        freshUntil = now + fetched.success.keptMillis
        return keys.get(kid)
      }),
    )

  const refused = (problem: string, nextStep = "call with a token that Google has signed for the account of the tasks", foreign = false) =>
    new CallerRefused({ problem, nextStep, foreign })

  return (token) =>
    Effect.gen(function* () {
      const [head = "", body = "", signature = "", ...rest] = token.length > longestToken ? [] : token.split(".")
      const header = headerOf(head)
      const claims = claimsOf(body)
      if (header === undefined || claims === undefined || signature === "" || rest.length > 0)
        return yield* refused("the token is not an OIDC token")
      if (header.alg !== "RS256") return yield* refused("the token is not signed with RS256")
      const key = yield* keyNamed(header.kid)
      if (key === undefined) return yield* refused("the token is signed with a key that is not Google's")
      if (!createVerify("RSA-SHA256").update(`${head}.${body}`).verify(key, signature, "base64url"))
        return yield* refused("the signature of the token is wrong")
      const now = (yield* Clock.currentTimeMillis) / 1000
      if (claims.exp + skew < now) return yield* refused("the token has expired", "call with a new one")
      if (claims.iat - skew > now) return yield* refused("the token is not valid yet", "check the clock of this machine")
      if (!issuers.has(claims.iss)) return yield* refused("the token is not issued by Google")
      if (claims.aud !== audience)
        return yield* refused(
          `the audience of the token is ${shown(claims.aud)}, not ${audience}`,
          "set knowledge.tasks.audience to the audience of the queue",
          true,
        )
      if (claims.email !== serviceAccount || claims.email_verified !== true)
        return yield* refused(
          `the token belongs to ${shown(claims.email ?? "another account")}, not to ${serviceAccount}`,
          "set knowledge.tasks.serviceAccount to the account of the tasks",
          true,
        )
    })
}

const shown = (text: string): string => text.slice(0, 200).replaceAll(/[^\x20-\x7e]/g, "?")

const keyOf = (key: { readonly kid: string } & JsonWebKey): ReadonlyArray<readonly [string, KeyObject]> => {
  try {
    return [[key.kid, createPublicKey({ key, format: "jwk" })]]
  } catch {
    // A key that Node cannot use signs nothing that could be verified here.
    return []
  }
}

const keptMillis = (cacheControl: string | undefined): number => {
  const seconds = /(?:^|[\s,])max-age=(\d{1,8})/.exec(cacheControl ?? "")?.[1]
  return seconds === undefined ? keptFor : Math.max(60_000, Number(seconds) * 1000)
}
