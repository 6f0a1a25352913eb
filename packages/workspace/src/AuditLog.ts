/**
 * The audit log: what operators did, who did it, when, and how it ended. Starts and events of instances are not in it: the journals have
 * them, with who sent them. Entries are only ever added; triggers refuse every other statement on the table.
 */
import { type Actor, actorText, OwnTables } from "@detent/durable"
import { actorOfText, boundedActor } from "@detent/durable/internal"
import { PersistenceFailed } from "@detent/machine"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { actor } from "./CurrentActor.ts"
import { changeOnce, type KeyedChange } from "./RequestKeys.ts"

export interface AuditedAction {
  /** The operation as the API names it, such as `queues.pause`. */
  readonly operation: string
  /** What it was done to, such as `{ "queue": "mails" }`. */
  readonly object: Schema.JsonObject
  /** What else was asked for. Texts are cut, and of objects only the `_tag` is kept: events may have secrets in their fields. */
  readonly detail: Schema.JsonObject
}

export interface AuditEntry extends AuditedAction {
  readonly number: number
  /** Milliseconds since 1970. */
  readonly at: number
  readonly actor: Actor
  readonly outcome: "done" | "refused"
  /** Why it was refused. */
  readonly problem?: string
}

export interface AuditFilter {
  /** Only entries whose actor, such as `user ada`, contains this text, ignoring case. */
  readonly actor?: string | undefined
  /** Only entries whose operation begins with this text, such as `schedules.`. */
  readonly operation?: string | undefined
  /** Only entries before this number, for the next page. */
  readonly before?: number | undefined
  /** Only entries of this time and later, in milliseconds since 1970. */
  readonly since?: number | undefined
  readonly limit: number
}

export interface AuditLogService {
  /** Adds an entry for what the current actor did. */
  readonly add: (action: AuditedAction, problem?: string) => Effect.Effect<void, PersistenceFailed>
  /** Newest first. */
  readonly list: (filter: AuditFilter) => Effect.Effect<ReadonlyArray<AuditEntry>, PersistenceFailed>
}

const refusing = "entries of the audit log are only added"

const sqliteSteps: OwnTables.Steps = {
  "0001_audit": [
    `CREATE TABLE detent_audit (
      number INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor TEXT NOT NULL, operation TEXT NOT NULL, object TEXT NOT NULL, detail TEXT NOT NULL,
      outcome TEXT NOT NULL, problem TEXT
    )`,
    ...["update", "delete"].map(
      (change) =>
        `CREATE TRIGGER detent_audit_no_${change} BEFORE ${change.toUpperCase()} ON detent_audit BEGIN SELECT raise(abort, '${refusing}'); END`,
    ),
  ],
}

const postgresSteps = (schema: string): OwnTables.Steps => ({
  "0001_audit": [
    `CREATE TABLE ${schema}.audit (
      number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at BIGINT NOT NULL, actor TEXT NOT NULL, operation TEXT NOT NULL,
      object TEXT NOT NULL, detail TEXT NOT NULL, outcome TEXT NOT NULL, problem TEXT
    )`,
    `CREATE FUNCTION ${schema}.refuse_audit_change() RETURNS TRIGGER LANGUAGE plpgsql AS $function$
      BEGIN RAISE EXCEPTION '${refusing}'; END $function$`,
    `CREATE TRIGGER audit_is_kept BEFORE UPDATE OR DELETE ON ${schema}.audit FOR EACH ROW EXECUTE FUNCTION ${schema}.refuse_audit_change()`,
  ],
})

// PostgreSQL returns a BIGINT as a bigint.
const Whole = Schema.Union([Schema.Finite, Schema.BigInt])
const JsonObject = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Json))

const Rows = Schema.Array(
  Schema.Struct({
    number: Whole,
    at: Whole,
    actor: Schema.String,
    operation: Schema.String,
    object: JsonObject,
    detail: JsonObject,
    outcome: Schema.Literals(["done", "refused"]),
    problem: Schema.NullOr(Schema.String),
  }),
)

const readRows = Schema.decodeUnknownSync(Rows)

const longestProblem = 1000

const make = Effect.gen(function* () {
  const sql = (yield* SqlClient).withoutTransforms()
  yield* OwnTables.migrate({ name: "audit", sqlite: sqliteSteps, postgres: postgresSteps })
  const isPostgres = sql.onDialectOrElse({ pg: () => true, orElse: () => false })
  const table = sql.literal(isPostgres ? "detent.audit" : "detent_audit")
  const position = sql.literal(isPostgres ? "strpos" : "instr")
  const storing = <A>(effect: Effect.Effect<A, SqlError>): Effect.Effect<A, PersistenceFailed> =>
    Effect.mapError(effect, (cause) => new PersistenceFailed({ machine: "(audit)", operation: "audit", cause }))
  return AuditLog.of({
    add: ({ operation, object, detail }, problem) =>
      Effect.gen(function* () {
        const by = actorText(boundedActor(yield* actor))
        const at = Math.floor(yield* Clock.currentTimeMillis)
        const [outcome, why] = problem === undefined ? ["done", null] : ["refused", problem.slice(0, longestProblem)]
        yield* storing(sql`INSERT INTO ${table} (at, actor, operation, object, detail, outcome, problem)
          VALUES (${at}, ${by}, ${operation}, ${JSON.stringify(object)}, ${JSON.stringify(detail)}, ${outcome}, ${why})`)
      }),
    list: ({ actor: who = "", operation = "", before = Number.MAX_SAFE_INTEGER, since = 0, limit }) =>
      Effect.map(
        storing(sql`SELECT number, at, actor, operation, object, detail, outcome, problem FROM ${table}
          WHERE number < ${before} AND at >= ${since} AND ${position}(operation, ${operation}) = 1
            AND (${who} = '' OR ${position}(lower(actor), ${who.toLowerCase()}) > 0)
          ORDER BY number DESC LIMIT ${limit}`),
        (rows): ReadonlyArray<AuditEntry> =>
          readRows(rows).map(({ number, at, actor: by, problem, ...entry }) => ({
            ...entry,
            number: Number(number),
            at: Number(at),
            actor: actorOfText(by),
            ...(problem === null ? {} : { problem }),
          })),
      ),
  })
})

export class AuditLog extends Context.Service<AuditLog, AuditLogService>()("@detent/workspace/AuditLog") {
  static readonly layer: Layer.Layer<AuditLog, Effect.Error<typeof make>, SqlClient> = Layer.effect(AuditLog, make)
}

/** Starts of work, and what changes nothing. */
const unaudited: ReadonlySet<string> = new Set(["start", "send", "run", "estimate", "preview", "plan"])

const isAudited = (operation: string): boolean => !unaudited.has(operation.slice(operation.indexOf(".") + 1))

const longestText = 200

/** The fields of a request as the audit log keeps them. */
const summaryOf = (value: unknown): Schema.JsonObject => {
  if (!Predicate.isObject(value)) return {}
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .map(([name, field]) => [name, shortOf(field)]),
  )
}

const shortOf = (field: unknown): Schema.Json => {
  if (typeof field === "string") return field.length > longestText ? `${field.slice(0, longestText).toWellFormed()}…` : field
  if (typeof field === "number" || typeof field === "boolean" || field === null) return field
  if (Array.isArray(field)) return field.length > 20 ? `${field.length} values` : field.map(shortOf)
  return Predicate.hasProperty(field, "_tag") && typeof field._tag === "string" ? { _tag: field._tag } : "…"
}

/** Makes a change once per key, as {@link changeOnce}, and adds it to the audit log. */
export const changeAudited = <A, E, R>(change: KeyedChange, making: Effect.Effect<A, E, R>) =>
  changeOnce(change, isAudited(change.operation) ? audited(change, making) : making)

const audited = <A, E, R>(
  { operation, params, content }: KeyedChange,
  making: Effect.Effect<A, E, R>,
): Effect.Effect<A, E | PersistenceFailed, R | AuditLog> =>
  Effect.gen(function* () {
    const log = yield* AuditLog
    const action = { operation, object: summaryOf(params), detail: summaryOf(content) }
    const exit = yield* Effect.exit(making)
    // What was interrupted or has failed by a defect is not known to have ended.
    if (Exit.isSuccess(exit)) yield* log.add(action)
    else {
      const problem = Exit.findErrorOption(exit)
      if (problem._tag === "Some") yield* log.add(action, problemText(problem.value))
    }
    return yield* exit
  })

const problemText = (error: unknown): string => (Predicate.hasProperty(error, "message") ? String(error.message) : String(error))
