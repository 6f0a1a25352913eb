/**
 * Idempotency keys of requests that change something. Each key is stored with a digest of its request: a repeated request
 * returns the first answer, a different request with the same key is refused. The digest is entered before the operation runs, so
 * this also holds for concurrent requests, to one process or to several.
 */
import { createHash } from "node:crypto"
import { CurrentActor, forkLoop, OwnTables } from "@detent/durable"
import { PersistenceFailed } from "@detent/machine"
import { Turns } from "@detent/store/internal"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { actor } from "./CurrentActor.ts"
import { nameOf, outcomeOf } from "./ErrorKind.ts"
import { RequestKeyTaken } from "./errors.ts"

export interface KeyedRequest {
  /** The operation and its object: a key belongs to one operation on one object. */
  readonly operation: string
  readonly key: string
  /** The whole request. */
  readonly content: unknown
}

export interface RequestKeysService {
  /**
   * Runs the operation once for its key. Its answer has to be JSON, or nothing. A refusal releases the key; after any other
   * failure, such as an interrupt or an outage, the outcome is unknown, and the same request runs the operation again.
   */
  readonly once: <A, E, R>(
    request: KeyedRequest,
    operation: Effect.Effect<A, E, R>,
  ) => Effect.Effect<A, E | RequestKeyTaken | PersistenceFailed, R>
  /** Like `once`, for an operation that is idempotent by itself: a repeated request runs it again and returns the current answer. */
  readonly guard: <A, E, R>(
    request: KeyedRequest,
    operation: Effect.Effect<A, E, R>,
  ) => Effect.Effect<A, E | RequestKeyTaken | PersistenceFailed, R>
}

/** One attempt at a request, for the operation that it runs. */
export interface Attempt {
  /**
   * Whether an earlier attempt with the same key began and its outcome is unknown: its process was killed, or another process still
   * runs it. An operation that then finds its work already done answers as if it had done the work now.
   */
  readonly isRepeated: boolean
  /** The dedupe id of the event that the request sends: the same for every attempt. Undefined without a key. */
  readonly eventId: string | undefined
  /**
   * Returns the result that `look` had before the first attempt changed anything. The result is stored with the key, so it has to
   * be JSON. Without a key, `look` runs now.
   */
  readonly before: <A extends Schema.Json, E, R>(look: Effect.Effect<A, E, R>) => Effect.Effect<A, E | PersistenceFailed, R>
}

const withoutKey: Attempt = { isRepeated: false, eventId: undefined, before: (look) => look }

export const CurrentAttempt = Context.Reference<Attempt>("@detent/workspace/CurrentAttempt", { defaultValue: () => withoutKey })

/** Older keys are deleted. */
const keptMillis = 7 * 24 * 3600 * 1000

const sqliteSteps: OwnTables.Steps = {
  "0001_request_keys": [
    `CREATE TABLE detent_request_keys (
      operation TEXT NOT NULL, request_key TEXT NOT NULL, digest TEXT NOT NULL, answer TEXT, note TEXT, at INTEGER NOT NULL,
      PRIMARY KEY (operation, request_key)
    ) WITHOUT ROWID`,
    "CREATE INDEX detent_request_keys_at ON detent_request_keys (at)",
  ],
}

const postgresSteps = (schema: string): OwnTables.Steps => ({
  "0001_request_keys": [
    `CREATE TABLE ${schema}.request_keys (
      operation TEXT NOT NULL, request_key TEXT NOT NULL, digest TEXT NOT NULL, answer TEXT, note TEXT, at BIGINT NOT NULL,
      PRIMARY KEY (operation, request_key)
    )`,
    `CREATE INDEX request_keys_at ON ${schema}.request_keys (at)`,
  ],
})

const Rows = Schema.Array(
  Schema.Struct({
    digest: Schema.String,
    answer: Schema.NullOr(Schema.String),
    note: Schema.NullOr(Schema.String),
    // PostgreSQL returns a BIGINT as a bigint.
    at: Schema.Union([Schema.Finite, Schema.BigInt]),
  }),
)

interface Claim {
  /** Whether this request entered the digest. */
  readonly isFirst: boolean
  /** When the first attempt entered it. */
  readonly at: number
  readonly answer: string | undefined
}

const make = Effect.gen(function* () {
  const sql = (yield* SqlClient).withoutTransforms()
  yield* OwnTables.migrate({ name: "requests", sqlite: sqliteSteps, postgres: postgresSteps })
  const table = sql.onDialectOrElse({
    sqlite: () => sql("detent_request_keys"),
    pg: () => sql.literal("detent.request_keys"),
    orElse: () => sql("detent_request_keys"),
  })
  /** Requests with the same key run one at a time in this process. */
  const turns = new Turns()

  const storing = <A>(effect: Effect.Effect<A, SqlError>): Effect.Effect<A, PersistenceFailed> =>
    Effect.mapError(effect, (cause) => new PersistenceFailed({ machine: "(requests)", operation: "key", cause }))

  const find = ({ operation, key }: KeyedRequest) =>
    Effect.map(
      storing(sql`SELECT digest, answer, note, at FROM ${table} WHERE operation = ${operation} AND request_key = ${key}`),
      (rows) => Schema.decodeUnknownSync(Rows)(rows)[0],
    )

  /**
   * Enters the digest, or refuses the request where the key has a different digest. Returns the stored answer, if any, and whether
   * this call entered the digest. If it did not, the same request may be running in this or another process.
   */
  const claim = (request: KeyedRequest, digest: string) =>
    Effect.gen(function* () {
      const { operation, key } = request
      const at = yield* Clock.currentTimeMillis
      const entered = yield* storing(
        sql`
          INSERT INTO ${table} (operation, request_key, digest, at) VALUES (${operation}, ${key}, ${digest}, ${at})
          ON CONFLICT DO NOTHING RETURNING digest`,
      )
      if (entered.length > 0) return { isFirst: true, at, answer: undefined } satisfies Claim
      const row = yield* find(request)
      if (row !== undefined && row.digest !== digest) return yield* new RequestKeyTaken({ key })
      return { isFirst: false, at: row === undefined ? at : Number(row.at), answer: row?.answer ?? undefined } satisfies Claim
    })

  /** Only the request that entered the digest releases the key, and only where no other attempt has succeeded. */
  const releasing = (request: KeyedRequest, isFirst: boolean) => (cause: Cause.Cause<unknown>) => {
    const { operation, key } = request
    return isFirst && isRefusal(cause)
      ? Effect.ignore(storing(sql`DELETE FROM ${table} WHERE operation = ${operation} AND request_key = ${key} AND answer IS NULL`))
      : Effect.void
  }

  /** Keeps the note of the first attempt, also where another process runs the same request at the same time. */
  const before = (request: KeyedRequest): Attempt["before"] => {
    const noted = Effect.map(find(request), (row) => row?.note ?? undefined)
    return <A extends Schema.Json, E, R>(look: Effect.Effect<A, E, R>) =>
      Effect.gen(function* () {
        const earlier = yield* noted
        if (earlier !== undefined) return JSON.parse(earlier) as A
        const seen = yield* look
        const { operation, key } = request
        const note = JSON.stringify(seen)
        yield* storing(sql`UPDATE ${table} SET note = ${note} WHERE operation = ${operation} AND request_key = ${key} AND note IS NULL`)
        const first = yield* noted
        return first === undefined || first === note ? seen : (JSON.parse(first) as A)
      })
  }

  /** Stores the answer, and the key again where another attempt at the same request failed and released it. */
  const remember = ({ operation, key }: KeyedRequest, digest: string, answer: string) =>
    Effect.gen(function* () {
      const at = yield* Clock.currentTimeMillis
      yield* storing(
        sql`
          INSERT INTO ${table} AS old (operation, request_key, digest, answer, at)
          VALUES (${operation}, ${key}, ${digest}, ${answer}, ${at})
          ON CONFLICT (operation, request_key) DO UPDATE SET answer = excluded.answer WHERE old.digest = excluded.digest`,
      )
    })

  const guard: RequestKeysService["guard"] = (request, operation) =>
    Effect.gen(function* () {
      const digest = digestOf(request.content)
      const { isFirst, answer } = yield* claim(request, digest)
      const result = yield* Effect.onError(operation, releasing(request, isFirst))
      if (answer === undefined) yield* remember(request, digest, "")
      return result
    })

  const once: RequestKeysService["once"] = <A, E, R>(request: KeyedRequest, operation: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const digest = digestOf(request.content)
      const known = yield* claim(request, digest)
      if (known.answer !== undefined) return answerOf<A>(known.answer)
      const running = Effect.gen(function* () {
        // The same request may have ended while this one waited, or failed and released the key.
        const earlier = yield* claim(request, digest)
        if (earlier.answer !== undefined) return answerOf<A>(earlier.answer)
        const isFirst = known.isFirst || earlier.isFirst
        const attempt = Effect.provideService(operation, CurrentAttempt, {
          isRepeated: !isFirst,
          eventId: eventIdOf(request, earlier.at),
          before: before(request),
        })
        const answer = yield* Effect.onError(attempt, releasing(request, isFirst))
        yield* remember(request, digest, JSON.stringify(answer) ?? "")
        return answer
      })
      return yield* turns.alone(JSON.stringify([request.operation, request.key]), running)
    })

  const forget = Effect.flatMap(Clock.currentTimeMillis, (now) => storing(sql`DELETE FROM ${table} WHERE at < ${now - keptMillis}`))
  yield* forkLoop("the retention of idempotency keys", Effect.delay(forget, "1 hour"))
  return { once, guard } satisfies RequestKeysService
})

/** Whether the operation certainly did nothing, because it refused the request. */
const isRefusal = ({ reasons }: Cause.Cause<unknown>): boolean =>
  reasons.length > 0 && reasons.every((reason) => Cause.isFailReason(reason) && isRefusedBy(reason.error))

const isRefusedBy = (error: unknown): boolean => {
  if (!Predicate.hasProperty(error, "_tag")) return false
  const { kind } = outcomeOf(String(nameOf(error as { readonly _tag: string })))
  return kind !== "unavailable" && kind !== "failed"
}

/** The time distinguishes a request from an earlier one whose key was deleted by retention. */
const eventIdOf = ({ operation, key }: KeyedRequest, at: number): string =>
  `request/${createHash("sha256")
    .update(JSON.stringify([operation, key, at]))
    .digest("hex")
    .slice(0, 32)}`

/** Decodes the stored answer. The empty text stands for no answer. */
const answerOf = <A>(text: string): A => (text === "" ? undefined : JSON.parse(text)) as A

const digestOf = (content: unknown): string =>
  createHash("sha256")
    .update(JSON.stringify(sorted(content)) ?? "")
    .digest("hex")

/** Sorts keys, so that their order does not change the digest. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, one]) => [name, sorted(one)]),
  )
}

export class RequestKeys extends Context.Service<RequestKeys, RequestKeysService>()("@detent/workspace/RequestKeys") {
  static readonly layer = Layer.effect(RequestKeys, make)
}

/** A change as the API names it: `batches.cancel`, its object, and the whole request. */
export interface KeyedChange {
  readonly operation: string
  readonly params: unknown
  readonly content: unknown
  readonly key: string | undefined
  /** The answer has a secret, so it is not kept: a repeated request runs again, and is refused. */
  readonly isSecret?: boolean | undefined
}

/** Makes a change once per key; without a key, always. The server and the command line share the keys. */
export const changeOnce = <A, E, R>({ operation, params, content, key, isSecret = false }: KeyedChange, change: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const acted = Effect.provideService(change, CurrentActor, yield* actor)
    if (key === undefined) return yield* acted
    const keys = yield* RequestKeys
    const request = { operation: `${operation} ${JSON.stringify(params ?? {})}`, key, content: content ?? null }
    return yield* isSecret ? keys.guard(request, acted) : keys.once(request, acted)
  })
