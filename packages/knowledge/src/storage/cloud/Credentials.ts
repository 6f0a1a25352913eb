/**
 * Credentials for object stores. Expiring credentials are cached until shortly before they expire, and fetched once even if many
 * requests need them. No message contains them.
 */
import * as Clock from "effect/Clock"
import * as Config from "effect/Config"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import * as FetchHttpClient from "effect/unstable/http/FetchHttpClient"
import * as HttpClient from "effect/unstable/http/HttpClient"
import type * as HttpClientRequest from "effect/unstable/http/HttpClientRequest"
import { innermostReason } from "../Describe.ts"

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

export const cached = <A>(fetched: Effect.Effect<Expiring<A>, CredentialsRefused>): Credentials<A> => {
  let kept: Expiring<A> | undefined
  const turn = Semaphore.makeUnsafe(1)
  const current = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (kept !== undefined && kept.expiresAt - renewedBefore > now) return kept.value
    const before = kept
    kept = yield* Effect.catch(fetched, (refused) =>
      // The cached credentials are still valid; the next request tries again.
      before !== undefined && before.expiresAt > now + 10_000 ? Effect.succeed(before) : Effect.fail(refused),
    )
    return kept.value
  })
  return {
    current: turn.withPermit(current),
    forget: Effect.sync(() => {
      kept = undefined
    }),
  }
}

/** An environment variable; undefined if it is unset or empty. */
export const variable = (name: string): Effect.Effect<string | undefined> =>
  Effect.map(Effect.orDie(Config.String(name).pipe(Config.withDefault(""))), (value) => (value === "" ? undefined : value))

/** The reason why one attempt failed. */
class NoAnswer extends Data.TaggedError("NoAnswer")<{ readonly message: string }> {}

export interface AskOptions {
  readonly problem: string
  readonly nextStep: string
  /** Timeout of one attempt. Default: ten seconds. */
  readonly timeout?: Duration.Input
  /** Number of retries. Default: 2. */
  readonly retries?: number
  /** The server may not exist on this machine: then a missing response is not an outage. */
  readonly mayBeAbsent?: boolean
}

const pauses = Schedule.exponential("200 millis")

const isRefusal = ({ message }: { readonly message: string }): boolean => /^4\d\d\b/.test(message)

/** Outside of the cloud, the host name of the metadata server does not resolve. */
const isUnknownName = (error: unknown): boolean => /\b(?:ENOTFOUND|EAI_AGAIN)\b/.test(innermostReason(error))

/**
 * The response text of a token endpoint or a metadata server. Retried on failure, so that a short outage of the server does not fail a
 * write.
 */
export const askedText = (
  request: HttpClientRequest.HttpClientRequest,
  { problem, nextStep, timeout = "10 seconds", retries = 2, mayBeAbsent = false }: AskOptions,
): Effect.Effect<string, CredentialsRefused> =>
  Effect.gen(function* () {
    const response = yield* HttpClient.execute(request)
    const text = yield* response.text
    return response.status === 200 ? text : yield* Effect.fail(new NoAnswer({ message: `${response.status} ${problemIn(text)}`.trim() }))
  }).pipe(
    Effect.timeoutOrElse({ duration: timeout, orElse: () => Effect.fail(new NoAnswer({ message: "no answer came in time" })) }),
    Effect.retry({ times: retries, schedule: pauses, while: (error) => !isRefusal(error) && !isUnknownName(error) }),
    Effect.mapError((error) => {
      const retryable = !mayBeAbsent && !isRefusal(error) && !isUnknownName(error)
      return new CredentialsRefused({ problem: `${problem} (${innermostReason(error)})`, nextStep, retryable })
    }),
    Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "error" }),
    Effect.provide(FetchHttpClient.layer),
  )

/** Like `askedText`, for a JSON response. */
export const asked = <A>(
  request: HttpClientRequest.HttpClientRequest,
  schema: Schema.Decoder<A>,
  options: AskOptions,
): Effect.Effect<A, CredentialsRefused> =>
  Effect.flatMap(askedText(request, options), (text) =>
    Effect.mapError(
      Schema.decodeUnknownEffect(Schema.fromJsonString(schema))(text),
      // The message of the schema error could contain a part of a key.
      () => new CredentialsRefused({ problem: `${options.problem} (the response contains none)`, nextStep: options.nextStep }),
    ),
  )

/** The error code of the token endpoint, like `invalid_grant`; never its description, which may quote the request. */
const problemIn = (text: string): string => /"error"\s*:\s*"([a-z_]{1,40})"/.exec(text)?.[1] ?? ""
