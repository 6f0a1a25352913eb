/**
 * The decisions of people on which mentions are one entity, in tables of the database: two entities are one, one entity is several, or two
 * entities are not the same. A decision moves mentions, each named by its IRI in its document, from one entity to another. Later batches
 * honour it for these mentions, and so does every resolution; for a merge, also for the IRI that was merged away.
 */

import { OwnTables } from "@detent/durable"
import { defectsAsFailures } from "@detent/store/internal"
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { MigrationError } from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import type { DecidedMentions } from "../resolve/ResolvedGraph.ts"
import { defaultPatience, type RunStoreFailed, rowReader, runStoreFailed, storePatience } from "../runs/RunTables.ts"
import { Namespace } from "../storage/Identity.ts"
import { type IdentityDecision, IdentityKind, IdentityState } from "./IdentityDecision.ts"

/** A mention that a decision moves, or confirms where it is. */
export interface MentionMove {
  readonly documentId: string
  /** The IRI of the entity in its document. */
  readonly mention: string
  readonly before: string
  readonly after: string
}

export type NewDecision = Pick<IdentityDecision, "namespace" | "kind" | "entities" | "by" | "at" | "reason"> & {
  readonly moves: ReadonlyArray<MentionMove>
}

export interface IdentityStoreService {
  /** Stores a pending decision. */
  readonly add: (decision: NewDecision) => Effect.Effect<IdentityDecision, RunStoreFailed>
  readonly get: (namespace: Namespace, id: number) => Effect.Effect<Option.Option<IdentityDecision>, RunStoreFailed>
  /** Newest first. */
  readonly list: (
    namespace: Namespace,
    query: { readonly before?: number | undefined; readonly limit: number },
  ) => Effect.Effect<ReadonlyArray<IdentityDecision>, RunStoreFailed>
  readonly moves: (decision: number) => Effect.Effect<ReadonlyArray<MentionMove>, RunStoreFailed>
  /** A later decision, not undone, on a mention of the given one. */
  readonly laterThan: (decision: IdentityDecision) => Effect.Effect<number | undefined, RunStoreFailed>
  /** Changes the state, unless another process has changed it. Returns whether it did. */
  readonly change: (
    decision: Pick<IdentityDecision, "id" | "state">,
    to: { readonly state: IdentityState; readonly by?: string; readonly at?: number },
  ) => Effect.Effect<boolean, RunStoreFailed>
  /** What the decisions say that hold. */
  readonly decided: (namespace: Namespace) => Effect.Effect<DecidedMentions, RunStoreFailed>
  /** The entity that an entity became, by the IRI that was merged away. */
  readonly merged: (namespace: Namespace) => Effect.Effect<ReadonlyMap<string, string>, RunStoreFailed>
  /** Decisions whose change the graph may not have yet, in the order in which they were made. */
  readonly unfinished: Effect.Effect<ReadonlyArray<IdentityDecision>, RunStoreFailed>
}

export class IdentityStore extends Context.Service<IdentityStore, IdentityStoreService>()("@detent/knowledge/IdentityStore") {
  /** In the database the client is connected to: SQLite or PostgreSQL. Retries an unreachable database for the given time. */
  static readonly layer = (patience: Duration.Input = defaultPatience): Layer.Layer<IdentityStore, MigrationError | SqlError, SqlClient> =>
    Layer.effect(IdentityStore, make(patience))
}

const tables = (prefix: string, integer: string, key: string): ReadonlyArray<string> => [
  `CREATE TABLE ${prefix}identity_decisions (
    id ${key}, namespace TEXT NOT NULL, kind TEXT NOT NULL, entities TEXT NOT NULL, mentions ${integer} NOT NULL, state TEXT NOT NULL,
    decided_by TEXT NOT NULL, decided_at ${integer} NOT NULL, reason TEXT, undone_by TEXT, undone_at ${integer}
  )`,
  `CREATE TABLE ${prefix}identity_mentions (
    decision_id ${integer} NOT NULL, namespace TEXT NOT NULL, document_id TEXT NOT NULL, mention TEXT NOT NULL,
    before_iri TEXT NOT NULL, after_iri TEXT NOT NULL, PRIMARY KEY (decision_id, mention)
  )`,
]

const indexes = (prefix: string, name: string): ReadonlyArray<string> => [
  `CREATE INDEX ${name}identity_decisions_of ON ${prefix}identity_decisions (namespace, id)`,
  `CREATE INDEX ${name}identity_unfinished ON ${prefix}identity_decisions (id) WHERE state IN ('pending', 'reverting')`,
  `CREATE INDEX ${name}identity_mentions_by ON ${prefix}identity_mentions (namespace, mention, decision_id)`,
]

const sqlite: OwnTables.Steps = {
  "0001_identities": [...tables("detent_", "INTEGER", "INTEGER PRIMARY KEY AUTOINCREMENT"), ...indexes("detent_", "detent_")],
}

const postgres = (schema: string): OwnTables.Steps => ({
  "0001_identities": [...tables(`${schema}.`, "BIGINT", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"), ...indexes(`${schema}.`, "")],
})

const rowsAtOnce = 500

const DecisionRow = Schema.Struct({
  id: Schema.Int,
  namespace: Namespace,
  kind: IdentityKind,
  entities: Schema.fromJsonString(Schema.Array(Schema.String)),
  mentions: Schema.Int,
  state: IdentityState,
  decided_by: Schema.String,
  decided_at: Schema.Int,
  reason: Schema.NullOr(Schema.String),
  undone_by: Schema.NullOr(Schema.String),
  undone_at: Schema.NullOr(Schema.Int),
})
const readDecision = rowReader("identity_decisions", DecisionRow)

const decisionOf = (row: object): IdentityDecision => {
  const { decided_by: by, decided_at: at, reason, undone_by: undoneBy, undone_at: undoneAt, ...said } = readDecision(row)
  return {
    ...said,
    by,
    at,
    ...(reason === null ? {} : { reason }),
    ...(undoneBy === null ? {} : { undoneBy }),
    ...(undoneAt === null ? {} : { undoneAt }),
  }
}

const MoveRow = Schema.Struct({ document_id: Schema.String, mention: Schema.String, before_iri: Schema.String, after_iri: Schema.String })
const readMove = rowReader("identity_mentions", MoveRow)

const moveOf = (row: object): MentionMove => {
  const { document_id: documentId, mention, before_iri: before, after_iri: after } = readMove(row)
  return { documentId, mention, before, after }
}

const readId = rowReader("identity_decisions", Schema.Struct({ id: Schema.Int }))

const make = (patience: Duration.Input) =>
  Effect.gen(function* () {
    const sql = (yield* SqlClient).withoutTransforms()
    yield* OwnTables.migrate({ name: "identities", sqlite, postgres })
    const table = (name: string) =>
      sql.onDialectOrElse({ pg: () => sql.literal(`detent.${name}`), orElse: () => sql.literal(`detent_${name}`) })
    const [decisions, mentions] = [table("identity_decisions"), table("identity_mentions")]
    const failing =
      (operation: string) =>
      <A>(effect: Effect.Effect<A, SqlError>): Effect.Effect<A, RunStoreFailed> =>
        effect.pipe(defectsAsFailures(isSqlError), Effect.mapError(runStoreFailed(operation)))
    const patiently = storePatience(patience)
    const reading = <A>(effect: Effect.Effect<A, SqlError>) => patiently(failing("read the decisions on entities of")(effect))
    const writing = failing("write a decision on entities of")
    const holds = sql`d.state in ('pending', 'applied')`

    const mergedIn = (namespace: Namespace) =>
      Effect.map(
        reading(sql<object>`select * from ${decisions} d where d.namespace = ${namespace} and d.kind = 'merge' and ${holds} order by d.id`),
        (rows): ReadonlyMap<string, string> => {
          const merged = new Map<string, string>()
          for (const { entities } of rows.map(decisionOf)) {
            const [kept = "", gone = ""] = entities
            merged.set(gone, kept)
            merged.delete(kept)
            for (const [from, to] of merged) if (to === gone) merged.set(from, kept)
          }
          return merged
        },
      )

    return {
      // Not retried: a second attempt could store the decision twice.
      add: ({ moves, reason, namespace, kind, entities, by, at }) =>
        writing(
          sql.withTransaction(
            Effect.gen(function* () {
              const [row = {}] = yield* sql<object>`insert into ${decisions} ${sql.insert({
                namespace,
                kind,
                entities: JSON.stringify(entities),
                mentions: moves.length,
                state: "pending",
                decided_by: by,
                decided_at: at,
                reason: reason ?? null,
              })} returning *`
              const decision = decisionOf(row)
              const rows = moves.map(({ documentId, mention, before, after }) => ({
                decision_id: decision.id,
                namespace,
                document_id: documentId,
                mention,
                before_iri: before,
                after_iri: after,
              }))
              for (const page of Arr.chunksOf(rows, rowsAtOnce)) yield* sql`insert into ${mentions} ${sql.insert(page)}`
              return decision
            }),
          ),
        ),
      get: (namespace, id) =>
        Effect.map(reading(sql<object>`select * from ${decisions} where namespace = ${namespace} and id = ${id}`), ([row]) =>
          Option.map(Option.fromUndefinedOr(row), decisionOf),
        ),
      list: (namespace, { before, limit }) =>
        Effect.map(
          reading(sql<object>`select * from ${decisions} where namespace = ${namespace}
            ${before === undefined ? sql`` : sql`and id < ${before}`} order by id desc limit ${limit}`),
          (rows) => rows.map(decisionOf),
        ),
      moves: (decision) =>
        Effect.map(reading(sql<object>`select * from ${mentions} where decision_id = ${decision} order by mention`), (rows) =>
          rows.map(moveOf),
        ),
      laterThan: ({ id, namespace }) =>
        Effect.map(
          reading(sql<object>`select min(m.decision_id) as id from ${mentions} o
            join ${mentions} m on m.namespace = o.namespace and m.mention = o.mention and m.decision_id > o.decision_id
            join ${decisions} d on d.id = m.decision_id
            where o.decision_id = ${id} and o.namespace = ${namespace} and ${holds} having min(m.decision_id) is not null`),
          ([row]) => (row === undefined ? undefined : readId(row).id),
        ),
      change: ({ id, state }, to) =>
        Effect.map(
          writing(sql<object>`update ${decisions} set state = ${to.state}
            ${to.by === undefined ? sql`` : sql`, undone_by = ${to.by}, undone_at = ${to.at ?? 0}`}
            where id = ${id} and state = ${state} returning id`),
          (rows) => rows.length > 0,
        ),
      decided: (namespace) =>
        Effect.gen(function* () {
          const rows = yield* reading(sql<object>`select m.* from ${mentions} m join ${decisions} d on d.id = m.decision_id
            where m.namespace = ${namespace} and ${holds} order by m.decision_id`)
          return { entities: new Map(rows.map(moveOf).map(({ mention, after }) => [mention, after])), merged: yield* mergedIn(namespace) }
        }),
      merged: mergedIn,
      unfinished: Effect.map(
        reading(sql<object>`select * from ${decisions} where state in ('pending', 'reverting') order by id limit 1000`),
        (rows) => rows.map(decisionOf),
      ),
    } satisfies IdentityStoreService
  })
