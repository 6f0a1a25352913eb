/**
 * Credentials for object stores. Credentials that end are kept until shortly before their end, and asked for once although many
 * requests need them. They are in no message.
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

/** No credentials could be had. `retryable`: their source is away, and may give some later. */
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
  /** The next ones are new. */
  readonly forget: Effect.Effect<void>
}

export interface Expiring<A> {
  readonly value: A
  /** In milliseconds since 1970. */
  readonly expiresAt: number
}

/** So long before their end credentials are replaced: Google's metadata server gives no new ones earlier than five minutes before. */
const renewedBefore = 225_000

export const cached = <A>(fetched: Effect.Effect<Expiring<A>, CredentialsRefused>): Credentials<A> => {
  let kept: Expiring<A> | undefined
  const turn = Semaphore.makeUnsafe(1)
  const current = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (kept !== undefined && kept.expiresAt - renewedBefore > now) return kept.value
    const before = kept
    kept = yield* Effect.catch(fetched, (refused) =>
      // Those before are good for minutes: the next request asks again.
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

/** A variable of the environment; undefined where it is not set or empty. */
export const variable = (name: string): Effect.Effect<string | undefined> =>
  Effect.map(Effect.orDie(Config.String(name).pipe(Config.withDefault(""))), (value) => (value === "" ? undefined : value))

/** One attempt gave nothing, for this reason. */
class NoAnswer extends Data.TaggedError("NoAnswer")<{ readonly message: string }> {}

export interface AskOptions {
  readonly problem: string
  readonly nextStep: string
  /** How long one attempt may take. Default: ten seconds. */
  readonly timeout?: Duration.Input
  /** How often it is asked again. Default: twice. */
  readonly retries?: number
  /** There may be no such server: then a missing answer is not an outage. */
  readonly mayBeAbsent?: boolean
}

const pauses = Schedule.exponential("200 millis")

const isRefusal = ({ message }: { readonly message: string }): boolean => /^4\d\d\b/.test(message)

/** A machine outside of the cloud does not know the name of its metadata server. */
const isUnknownName = (error: unknown): boolean => /\b(?:ENOTFOUND|EAI_AGAIN)\b/.test(innermostReason(error))

/**
 * The text that a token endpoint or a metadata server answers. Asked again when it fails: one that is away for a moment must not fail
 * a write.
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

/** The same for an answer that is JSON. */
export const asked = <A>(
  request: HttpClientRequest.HttpClientRequest,
  schema: Schema.Decoder<A>,
  options: AskOptions,
): Effect.Effect<A, CredentialsRefused> =>
  Effect.flatMap(askedText(request, options), (text) =>
    Effect.mapError(
      Schema.decodeUnknownEffect(Schema.fromJsonString(schema))(text),
      // The message of the schema could repeat a part of a key.
      () => new CredentialsRefused({ problem: `${options.problem} (the answer holds none)`, nextStep: options.nextStep }),
    ),
  )

/** The word of the token endpoint, like `invalid_grant`; never its description, which may repeat the request. */
const problemIn = (text: string): string => /"error"\s*:\s*"([a-z_]{1,40})"/.exec(text)?.[1] ?? ""
