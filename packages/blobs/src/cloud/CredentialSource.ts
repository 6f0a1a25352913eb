/**
 * Where credentials of object stores come from: a token endpoint or a metadata server, asked with patience. Expiring credentials are cached
 * until shortly before they expire, and fetched once even if many requests need them. No message contains them.
 */
import { innermostReason } from "@detent/machine/internal"
import * as Clock from "effect/Clock"
import * as Config from "effect/Config"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import type * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"

/** No credentials are available. `retryable`: their source is unreachable, and may provide some later. */
export class CredentialsRefused extends Schema.TaggedError<CredentialsRefused>()("CredentialsRefused", {
  problem: Schema.String,
  nextStep: Schema.String,
  retryable: Schema.Boolean.pipe(Schema.withConstructorDefault(Effect.succeed(false))),
}) {
  override get message() {
    return `${this.problem}; ${this.nextStep}`
  }
}

export interface Credentials<A> {
  readonly current: Effect.Effect<A, CredentialsRefused>
  /** Drops the cached credentials, so that the next call fetches new ones. */
  readonly forget: Effect.Effect<void>
}

export interface Expiring<A> {
  readonly value: A
  /** In milliseconds since the Unix epoch. */
  readonly expiresAt: number
}

/** Credentials are renewed this long before they expire. Google's metadata server issues new ones no earlier than five minutes before. */
const renewedBefore = 225_000

/** Once the source has answered, a missing answer is an outage, and not a machine without that source. */
export const cacheCredentials = <A>(fetch: (hasAnswered: boolean) => Effect.Effect<Expiring<A>, CredentialsRefused>): Credentials<A> => {
  let cached: Expiring<A> | undefined
  let hasAnswered = false
  const turn = Semaphore.makeUnsafe(1)
  const current = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (cached !== undefined && cached.expiresAt - renewedBefore > now) return cached.value
    const before = cached
    cached = yield* Effect.catch(fetch(hasAnswered), (refused) =>
      // The cached credentials are still valid; the next request tries again.
      before !== undefined && before.expiresAt > now + 10_000 ? Effect.succeed(before) : Effect.fail(refused),
    )
    hasAnswered = true
    return cached.value
  })
  return {
    current: turn.withPermit(current),
    forget: Effect.sync(() => {
      cached = undefined
    }),
  }
}

/** An environment variable; undefined if it is unset or empty. */
export const variable = (name: string): Effect.Effect<string | undefined> =>
  Effect.map(Effect.orDie(Config.String(name).pipe(Config.withDefault(""))), (value) => (value === "" ? undefined : value))

/** The reason why one attempt failed. */
class NoAnswer extends Data.TaggedError("NoAnswer")<{ readonly message: string; readonly status?: number }> {}

/** The HttpClient of the caller, if there is one. */
export const clientInContext: Effect.Effect<HttpClient.HttpClient | undefined> = Effect.map(
  Effect.serviceOption(HttpClient.HttpClient),
  Option.getOrUndefined,
)

export interface CredentialRequest {
  readonly problem: string
  readonly nextStep: string
  /** Timeout of one attempt. Default: ten seconds. */
  readonly timeout?: Duration.Input
  /** How long attempts are started. */
  readonly patience: Duration.Input
  /** The server may not exist on this machine: then a missing response is not an outage. */
  readonly mayBeAbsent?: boolean
  /** The name of the server exists only in its cloud: an unknown name is not an outage. */
  readonly mayBeUnknown?: boolean
  readonly client: HttpClient.HttpClient | undefined
}

/** Who is asked, and how long. */
export type CredentialSource = Pick<CredentialRequest, "patience" | "mayBeAbsent" | "mayBeUnknown" | "client">

export interface CredentialsOptions {
  /** For how long failed requests for credentials are repeated. Requests that need them wait meanwhile. Default: 15 seconds. */
  readonly patience?: Duration.Input
}

export const defaultPatience = "15 seconds"

/** A shorter patience with a server that may not exist. */
export const shortPatience = "2 seconds"

const attemptsWithin = (patience: Duration.Input) =>
  Schedule.min([Schedule.exponential("200 millis"), Schedule.spaced("3 seconds")]).pipe(
    Schedule.jittered,
    Schedule.upTo({ duration: patience }),
  )

/** The server has answered, and another attempt would get the same answer. */
const isRefusal = (error: unknown): boolean => {
  const status = error instanceof NoAnswer ? error.status : undefined
  return status !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 429
}

/** Outside of the cloud, the name of the metadata server is known to be unknown. Without an answer of DNS, the code is EAI_AGAIN. */
const isUnknownName = (error: unknown): boolean => {
  let inner = error
  for (let depth = 0; depth < 8 && inner instanceof Error; depth++) {
    if ("code" in inner && inner.code === "ENOTFOUND") return true
    inner = "reason" in inner && inner.reason instanceof Error ? inner.reason : inner.cause
  }
  return false
}

/**
 * The response text of a token endpoint or a metadata server. Repeated while the server or DNS does not answer, so that a short outage does
 * not fail the requests that need credentials.
 */
export const requestText = (
  request: HttpClientRequest.HttpClientRequest,
  { problem, nextStep, timeout = "10 seconds", patience, mayBeAbsent = false, mayBeUnknown = false, client }: CredentialRequest,
): Effect.Effect<string, CredentialsRefused> =>
  Effect.gen(function* () {
    const response = yield* HttpClient.execute(request)
    const text = yield* response.text
    const { status } = response
    return status === 200 ? text : yield* Effect.fail(new NoAnswer({ message: `${status} ${problemIn(text)}`.trim(), status }))
  }).pipe(
    Effect.timeoutOrElse({ duration: timeout, orElse: () => Effect.fail(new NoAnswer({ message: "no answer came in time" })) }),
    Effect.retry({ schedule: attemptsWithin(patience), while: (error) => !isRefusal(error) }),
    Effect.mapError((error) => {
      const retryable = !mayBeAbsent && !isRefusal(error) && !(mayBeUnknown && isUnknownName(error))
      return new CredentialsRefused({ problem: `${problem} (${innermostReason(error)})`, nextStep, retryable })
    }),
    Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "error" }),
    Effect.provide(client === undefined ? FetchHttpClient.layer : Layer.succeed(HttpClient.HttpClient, client)),
  )

/** Like `requestText`, for a JSON response. */
export const requestJson = <A>(
  request: HttpClientRequest.HttpClientRequest,
  schema: Schema.Decoder<A>,
  options: CredentialRequest,
): Effect.Effect<A, CredentialsRefused> =>
  Effect.flatMap(requestText(request, options), (text) =>
    Effect.mapError(
      Schema.decodeUnknownEffect(Schema.fromJsonString(schema))(text),
      // The message of the schema error could contain a part of a key.
      () => new CredentialsRefused({ problem: `${options.problem} (the response contains none)`, nextStep: options.nextStep }),
    ),
  )

/** The error code of the token endpoint, like `invalid_grant`; never its description, which may quote the request. */
const problemIn = (text: string): string => /"error"\s*:\s*"([a-z_]{1,40})"/.exec(text)?.[1] ?? ""
