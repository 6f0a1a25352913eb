/**
 * The review lists of batches and the decisions of reviewers, in tables of the database. A decision belongs to a fact of one version of
 * a document in one graph: another batch that finds the fact in the same version finds the decision too. A later version gets a copy of
 * the decision where the same words state the same fact.
 */

import { OwnTables } from "@detent/durable"
import { defectsAsFailures } from "@detent/store/internal"
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { MigrationError } from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { surenessOf } from "../fact/Fact.ts"
import { defaultPatience, type RunStoreFailed, rowReader, runStoreFailed, storePatience } from "../runs/RunTables.ts"
import { type BatchId, Namespace } from "../storage/Identity.ts"
import {
  factIdOf,
  type ReviewCounts,
  type ReviewedOnce,
  type ReviewFact,
  ReviewFactJson,
  type ReviewStatus,
  ReviewVerdict,
} from "./ReviewItem.ts"

/**
 * `pending` until the decision is applied to the graph; then `applied`, or `refused` with the reason when the graph would not conform
 * with the fact.
 */
const DecisionState = Schema.Literals(["pending", "applied", "refused"])

export interface Decision {
  readonly factId: string
  readonly namespace: Namespace
  /** `reopened`: the decision was reversed, and the fact is open again. */
  readonly verdict: ReviewVerdict
  readonly by: string
  /** In milliseconds. */
  readonly at: number
  readonly state: typeof DecisionState.Type
  readonly problem?: string
  readonly fact: ReviewFact
}

/** A fact of a review list, with the decision on it, if there is one. */
export interface ListedFact {
  readonly factId: string
  readonly fact: ReviewFact
  readonly decision?: Omit<Decision, "fact" | "factId" | "namespace">
}

/** A fact of a version of a document. */
type FactKey = Pick<Decision, "factId" | "fact">

/** Selects facts of a list, in the order of documents and spans. */
export interface ListQuery {
  readonly status?: ReviewStatus
  readonly properties?: ReadonlyArray<string>
  /** Only facts with a lower confidence. */
  readonly below?: number
  readonly facts?: ReadonlyArray<string>
  readonly after?: ListPlace
  readonly limit: number
}

export interface ListPlace {
  readonly documentId: string
  readonly start: number
  readonly factId: string
}

export interface ReviewStoreService {
  /** Removes the list of a batch. `add` then stores the new list page by page; a fact may be added more than once. */
  readonly begin: (batch: BatchId) => Effect.Effect<void, RunStoreFailed>
  readonly add: (batch: BatchId, namespace: Namespace, facts: ReadonlyArray<ReviewFact>) => Effect.Effect<void, RunStoreFailed>
  /** Marks the list as complete. */
  readonly complete: (batch: BatchId) => Effect.Effect<void, RunStoreFailed>
  readonly isComplete: (batch: BatchId) => Effect.Effect<boolean, RunStoreFailed>
  /** Removes the facts of a list that runs other than these found. Decisions are kept: they belong to a version of a document. */
  readonly retain: (batch: BatchId, runs: ReadonlySet<string>) => Effect.Effect<void, RunStoreFailed>
  readonly list: (batch: BatchId, query: ListQuery) => Effect.Effect<ReadonlyArray<ListedFact>, RunStoreFailed>
  /** The properties that facts of the list have. */
  readonly properties: (batch: BatchId) => Effect.Effect<ReadonlyArray<string>, RunStoreFailed>
  readonly counts: (batch: BatchId, query?: Pick<ListQuery, "properties" | "below">) => Effect.Effect<ReviewCounts, RunStoreFailed>
  /** Stores decisions, except on facts that have one. Returns the stored decision of each fact. */
  readonly decide: (decisions: ReadonlyArray<Decision>) => Effect.Effect<ReadonlyArray<Decision>, RunStoreFailed>
  /**
   * Copies decisions on earlier versions of the documents to the given facts, where the same words state the same fact. A fact that has
   * a decision keeps it, and one whose last decision was reversed gets none.
   */
  readonly carryOver: (namespace: Namespace, facts: ReadonlyArray<ReviewFact>) => Effect.Effect<void, RunStoreFailed>
  /**
   * Reverses applied decisions: the facts are open, and the reversal is pending until it is applied too. Returns the facts whose decision
   * was reversed.
   */
  readonly reopen: (
    namespace: Namespace,
    facts: ReadonlyArray<FactKey>,
    by: string,
    at: number,
  ) => Effect.Effect<ReadonlySet<string>, RunStoreFailed>
  /** The decisions on each fact, with reviewer and time, the earliest first. */
  readonly history: (
    namespace: Namespace,
    facts: ReadonlyArray<FactKey>,
  ) => Effect.Effect<ReadonlyMap<string, ReadonlyArray<ReviewedOnce>>, RunStoreFailed>
  /** All decisions of a graph on the given versions of documents that are neither refused nor reversed. */
  readonly decisions: (
    namespace: Namespace,
    documents: ReadonlyArray<Pick<ReviewFact, "documentId" | "contentHash">>,
  ) => Effect.Effect<ReadonlyArray<Decision>, RunStoreFailed>
  /** The first pending decisions of a graph. */
  readonly pending: (namespace: Namespace, limit: number) => Effect.Effect<ReadonlyArray<Decision>, RunStoreFailed>
  /** The graphs with pending decisions. */
  readonly pendingIn: Effect.Effect<ReadonlyArray<Namespace>, RunStoreFailed>
  /** Marks a decision as applied, or as refused with the problem. A decision that is no longer pending is left unchanged. */
  readonly settle: (decision: Decision, problem?: string) => Effect.Effect<void, RunStoreFailed>
}

export class ReviewStore extends Context.Service<ReviewStore, ReviewStoreService>()("@detent/knowledge/ReviewStore") {
  /** In the database the client is connected to: SQLite or PostgreSQL. */
  static readonly layer: Layer.Layer<ReviewStore, MigrationError | SqlError, SqlClient> = Layer.effect(
    ReviewStore,
    Effect.suspend(() => make(defaultPatience)),
  )

  /** Like `layer`, but retries an unreachable database for the given time. */
  static readonly layerWith = ({
    patience,
  }: {
    readonly patience: Duration.Input
  }): Layer.Layer<ReviewStore, MigrationError | SqlError, SqlClient> => Layer.effect(ReviewStore, make(patience))
}

const statements = (prefix: string, integer: string, real: string): ReadonlyArray<string> => [
  `CREATE TABLE ${prefix}review_facts (
    batch_id TEXT NOT NULL, document_id TEXT NOT NULL, span_start ${integer} NOT NULL, fact_id TEXT NOT NULL,
    run_id TEXT NOT NULL, namespace TEXT NOT NULL, content_hash TEXT NOT NULL, property TEXT NOT NULL, sureness ${real} NOT NULL, fact TEXT NOT NULL,
    PRIMARY KEY (batch_id, document_id, span_start, fact_id)
  )`,
  `CREATE TABLE ${prefix}review_lists (batch_id TEXT PRIMARY KEY NOT NULL)`,
  `CREATE TABLE ${prefix}review_decisions (
    namespace TEXT NOT NULL, document_id TEXT NOT NULL, content_hash TEXT NOT NULL, fact_id TEXT NOT NULL,
    verdict TEXT NOT NULL, decided_by TEXT NOT NULL, decided_at ${integer} NOT NULL, state TEXT NOT NULL, problem TEXT, fact TEXT NOT NULL,
    PRIMARY KEY (namespace, document_id, content_hash, fact_id)
  )`,
]

/** The history of decisions. A reversed decision stays here. */
const log = (prefix: string, integer: string, key: string): ReadonlyArray<string> => [
  `CREATE TABLE ${prefix}review_log (
    entry ${key}, namespace TEXT NOT NULL, document_id TEXT NOT NULL, content_hash TEXT NOT NULL, fact_id TEXT NOT NULL,
    verdict TEXT NOT NULL, decided_by TEXT NOT NULL, decided_at ${integer} NOT NULL
  )`,
]

const sqlite: OwnTables.Steps = {
  "0001_reviews": [
    ...statements("detent_", "INTEGER", "REAL"),
    "CREATE INDEX detent_review_facts_id ON detent_review_facts (batch_id, fact_id)",
    "CREATE INDEX detent_review_pending ON detent_review_decisions (namespace) WHERE state = 'pending'",
    ...log("detent_", "INTEGER", "INTEGER PRIMARY KEY"),
    "CREATE INDEX detent_review_log_fact ON detent_review_log (namespace, fact_id)",
  ],
}

const postgres = (schema: string): OwnTables.Steps => ({
  "0001_reviews": [
    ...statements(`${schema}.`, "BIGINT", "DOUBLE PRECISION"),
    `CREATE INDEX review_facts_id ON ${schema}.review_facts (batch_id, fact_id)`,
    `CREATE INDEX review_pending ON ${schema}.review_decisions (namespace) WHERE state = 'pending'`,
    ...log(`${schema}.`, "BIGINT", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
    `CREATE INDEX review_log_fact ON ${schema}.review_log (namespace, fact_id)`,
  ],
})

/** Rows per statement: a fact has up to ten parameters, and SQLite takes 32,766. */
const rowsAtOnce = 500

const decisionFields = {
  verdict: Schema.NullOr(ReviewVerdict),
  decided_by: Schema.NullOr(Schema.String),
  decided_at: Schema.NullOr(Schema.Int),
  state: Schema.NullOr(DecisionState),
  problem: Schema.NullOr(Schema.String),
}

const DecisionRow = Schema.Struct({ fact_id: Schema.String, namespace: Namespace, fact: ReviewFactJson, ...decisionFields })

const readDecision = rowReader("review_decisions", DecisionRow)

const decisionOf = (row: object): Decision => {
  const { fact_id: factId, namespace, fact, ...decided } = readDecision(row)
  return { factId, namespace, fact, ...decidedOf(decided) }
}

const decidedOf = ({
  verdict,
  decided_by: by,
  decided_at: at,
  state,
  problem,
}: Omit<typeof DecisionRow.Type, "fact_id" | "namespace" | "fact">) => ({
  verdict: verdict ?? "accepted",
  by: by ?? "",
  at: at ?? 0,
  state: state ?? "pending",
  ...(problem === null ? {} : { problem }),
})

const FactRow = Schema.Struct({ fact_id: Schema.String, fact: ReviewFactJson, ...decisionFields })

const readFact = rowReader("review_facts", FactRow)

const listedOf = (row: object): ListedFact => {
  const { fact_id: factId, fact, ...decided } = readFact(row)
  return { factId, fact, ...(decided.verdict === null ? {} : { decision: decidedOf(decided) }) }
}

const readCounts = rowReader(
  "review_facts",
  Schema.Struct({ open: Schema.NumberFromString, accepted: Schema.NumberFromString, rejected: Schema.NumberFromString }),
)

const LogRow = Schema.Struct({
  document_id: Schema.String,
  content_hash: Schema.String,
  fact_id: Schema.String,
  verdict: ReviewVerdict,
  decided_by: Schema.String,
  decided_at: Schema.Int,
})

const readLog = rowReader("review_log", LogRow)

const factText = Schema.encodeSync(ReviewFactJson)

const rowOf = ({ factId, namespace, verdict, by, at, state, problem, fact }: Decision) => ({
  namespace,
  document_id: fact.documentId,
  content_hash: fact.contentHash,
  fact_id: factId,
  verdict,
  decided_by: by,
  decided_at: at,
  state,
  problem: problem ?? null,
  fact: factText(fact),
})

/** Equal for facts of one document that say the same with the same words, wherever in the text they stand. */
const wordingOf = ({ documentId, fact: { subject, property, object, quote } }: ReviewFact): string => {
  const said = object._tag === "Entity" ? [object.mention.text, object.mention.name] : [object.text, object.lexical, object.datatype]
  return JSON.stringify([documentId, quote, property, subject.text, subject.name, ...said])
}

const make = (patience: Duration.Input) =>
  Effect.gen(function* () {
    const sql = (yield* SqlClient).withoutTransforms()
    yield* OwnTables.migrate({ name: "reviews", sqlite, postgres })
    const table = (name: string) =>
      sql.onDialectOrElse({ pg: () => sql.literal(`detent.${name}`), orElse: () => sql.literal(`detent_${name}`) })
    const [facts, lists, decisions, log] = [table("review_facts"), table("review_lists"), table("review_decisions"), table("review_log")]

    const failing =
      (operation: string) =>
      <A>(effect: Effect.Effect<A, SqlError>): Effect.Effect<A, RunStoreFailed> =>
        effect.pipe(defectsAsFailures(isSqlError), Effect.mapError(runStoreFailed(operation)))
    const patiently = storePatience(patience)
    const reading = <A>(effect: Effect.Effect<A, SqlError>) => patiently(failing("read the review list of")(effect))
    /** For writes that can be repeated when the response to the first attempt was lost. */
    const writing = <A>(effect: Effect.Effect<A, SqlError>) => patiently(failing("write the review list of")(effect))

    const isOf = (batch: BatchId, { properties, below }: Pick<ListQuery, "properties" | "below">) =>
      sql.and([
        sql`f.batch_id = ${batch}`,
        ...(properties === undefined ? [] : [properties.length === 0 ? sql`1 = 0` : sql.in("f.property", properties)]),
        ...(below === undefined ? [] : [sql`f.sureness < ${below}`]),
      ])

    const joined = sql`${facts} f left join ${decisions} d on d.namespace = f.namespace and d.document_id = f.document_id
    and d.content_hash = f.content_hash and d.fact_id = f.fact_id`

    const isOpen = sql`(d.state is null or d.state = 'refused' or d.verdict = 'reopened')`

    const hasStatus = (status: ReviewStatus) => (status === "open" ? isOpen : sql`d.verdict = ${status} and d.state <> 'refused'`)

    const keysOf = (some: ReadonlyArray<Pick<ReviewFact, "documentId" | "contentHash">>) => [
      ...new Set(some.map(({ documentId }) => documentId)),
    ]

    const decisionsOn = (namespace: Namespace, documents: ReadonlyArray<Pick<ReviewFact, "documentId" | "contentHash">>) =>
      Effect.gen(function* () {
        const versions = new Set(documents.map(({ documentId, contentHash }) => `${documentId} ${contentHash}`))
        const ids = keysOf(documents)
        const pages = yield* Effect.forEach(Arr.chunksOf(ids, rowsAtOnce), (some) =>
          reading(
            sql<object>`select * from ${decisions} where namespace = ${namespace} and ${sql.in("document_id", some)} order by document_id, fact_id`,
          ),
        )
        return pages
          .flat()
          .map(decisionOf)
          .filter(({ fact }) => versions.has(`${fact.documentId} ${fact.contentHash}`))
      })

    /** Adds decisions to the history, in the transaction that stores them. */
    const logged = (rows: ReadonlyArray<object>): Effect.Effect<void, SqlError> =>
      !Arr.isReadonlyArrayNonEmpty(rows)
        ? Effect.void
        : Effect.asVoid(sql`insert into ${log} ${sql.insert(Arr.map(rows, (row) => ({ ...row })))}`)

    const keyOf = ({ factId, fact: { documentId, contentHash } }: FactKey): string => `${documentId} ${contentHash} ${factId}`

    /** The last decision on each fact of the documents in other versions than the given ones, by `wordingOf`. */
    const earlierDecisions = (namespace: Namespace, some: ReadonlyArray<ReviewFact>) =>
      Effect.gen(function* () {
        const versions = new Set(some.map(({ documentId, contentHash }) => `${documentId} ${contentHash}`))
        const pages = yield* Effect.forEach(Arr.chunksOf(keysOf(some), rowsAtOnce), (ids) =>
          reading(
            sql<object>`select * from ${decisions} where namespace = ${namespace} and ${sql.in("document_id", ids)} order by decided_at`,
          ),
        )
        const earlier = pages
          .flat()
          .map(decisionOf)
          .filter(({ state, fact }) => state !== "refused" && !versions.has(`${fact.documentId} ${fact.contentHash}`))
        return new Map(earlier.map((decision) => [wordingOf(decision.fact), decision]))
      })

    return {
      begin: (batch) =>
        writing(
          sql.withTransaction(
            Effect.andThen(sql`delete from ${lists} where batch_id = ${batch}`, sql`delete from ${facts} where batch_id = ${batch}`),
          ),
        ).pipe(Effect.asVoid),
      add: (batch, namespace, some) =>
        Effect.forEach(
          Arr.chunksOf(some, rowsAtOnce),
          (page) =>
            writing(
              sql`insert into ${facts} ${sql.insert(
                Arr.map(page, (one) => ({
                  batch_id: batch,
                  document_id: one.documentId,
                  span_start: one.fact.span.start,
                  fact_id: factIdOf(one),
                  run_id: one.runId,
                  namespace,
                  content_hash: one.contentHash,
                  property: one.fact.property,
                  sureness: surenessOf(one.fact),
                  fact: factText(one),
                })),
              )} on conflict do nothing`,
            ),
          { discard: true },
        ),
      complete: (batch) => Effect.asVoid(writing(sql`insert into ${lists} ${sql.insert({ batch_id: batch })} on conflict do nothing`)),
      isComplete: (batch) => Effect.map(reading(sql`select 1 from ${lists} where batch_id = ${batch}`), (rows) => rows.length > 0),
      list: (batch, { status, facts: ids, after, limit, ...query }) =>
        reading(
          sql<object>`select f.fact_id, f.fact, d.verdict, d.decided_by, d.decided_at, d.state, d.problem from ${joined}
          where ${sql.and([
            isOf(batch, query),
            ...(status === undefined ? [] : [hasStatus(status)]),
            ...(ids === undefined ? [] : [sql.in("f.fact_id", ids)]),
            ...(after === undefined
              ? []
              : [sql`(f.document_id, f.span_start, f.fact_id) > (${after.documentId}, ${after.start}, ${after.factId})`]),
          ])} order by f.document_id, f.span_start, f.fact_id limit ${limit}`,
        ).pipe(Effect.map((rows) => rows.map(listedOf))),
      retain: (batch, runs) =>
        Effect.gen(function* () {
          const rows = yield* reading(sql<object>`select fact_id, run_id from ${facts} where batch_id = ${batch}`)
          const gone = rows.map((row) => readRun(row)).flatMap(({ fact_id: id, run_id: run }) => (runs.has(run) ? [] : [id]))
          yield* Effect.forEach(
            Arr.chunksOf(gone, rowsAtOnce),
            (some) => writing(sql`delete from ${facts} where batch_id = ${batch} and ${sql.in("fact_id", some)}`),
            { discard: true },
          )
        }),
      properties: (batch) =>
        Effect.map(reading(sql<object>`select distinct property from ${facts} where batch_id = ${batch}`), (rows) =>
          rows.map((row) => readProperty(row).property).toSorted(),
        ),
      counts: (batch, query = {}) => {
        const count = (condition: typeof isOpen, name: string) =>
          sql`cast(coalesce(sum(case when ${condition} then 1 else 0 end), 0) as text) as ${sql.literal(name)}`
        return Effect.map(
          reading(
            sql<object>`select ${count(isOpen, "open")}, ${count(hasStatus("accepted"), "accepted")}, ${count(hasStatus("rejected"), "rejected")}
            from ${joined} where ${isOf(batch, query)}`,
          ),
          ([row]) => readCounts(row ?? {}),
        )
      },
      decide: (made) =>
        Effect.map(
          Effect.forEach(Arr.chunksOf(made, rowsAtOnce), (page) =>
            Effect.gen(function* () {
              const rows = Arr.map(page, rowOf)
              // The first decision on a fact is kept. A fact whose decision was refused or reversed can be decided again.
              yield* writing(
                sql.withTransaction(
                  Effect.flatMap(
                    sql<object>`insert into ${decisions} as d ${sql.insert(rows)}
                    on conflict (namespace, document_id, content_hash, fact_id) do update
                    set verdict = excluded.verdict, decided_by = excluded.decided_by, decided_at = excluded.decided_at,
                      state = excluded.state, problem = excluded.problem, fact = excluded.fact
                    where d.state = 'refused' or (d.verdict = 'reopened' and d.state = 'applied')
                    returning namespace, document_id, content_hash, fact_id, verdict, decided_by, decided_at`,
                    logged,
                  ),
                ),
              )
              const wanted = new Set(page.map(({ factId }) => factId))
              const found = yield* Effect.forEach(
                Map.groupBy(page, ({ namespace }) => namespace),
                ([namespace, of]) =>
                  decisionsOn(
                    namespace,
                    of.map(({ fact }) => fact),
                  ),
              )
              return found.flat().filter(({ factId }) => wanted.has(factId))
            }),
          ),
          (pages) => pages.flat(),
        ),
      carryOver: (namespace, some) =>
        Effect.gen(function* () {
          const versioned = some.filter(({ contentHash }) => contentHash !== "")
          if (versioned.length === 0) return
          const earlier = yield* earlierDecisions(namespace, versioned)
          const rows = versioned.flatMap((fact) => {
            const decision = earlier.get(wordingOf(fact))
            if (decision === undefined || decision.verdict === "reopened") return []
            // The stage that called this adds accepted facts to the graph, and leaves rejected ones out.
            return [rowOf({ ...decision, factId: factIdOf(fact), fact, state: "applied" })]
          })
          yield* Effect.forEach(
            Arr.chunksOf(rows, rowsAtOnce),
            (page) =>
              writing(
                sql.withTransaction(
                  Effect.flatMap(
                    sql<object>`insert into ${decisions} ${sql.insert(page)} on conflict do nothing
                    returning namespace, document_id, content_hash, fact_id, verdict, decided_by, decided_at`,
                    logged,
                  ),
                ),
              ),
            { discard: true },
          )
        }),
      decisions: (namespace, documents) =>
        Effect.map(decisionsOn(namespace, documents), (found) =>
          found.filter(({ state, verdict }) => state !== "refused" && verdict !== "reopened"),
        ),
      pending: (namespace, limit) =>
        Effect.map(
          reading(sql<object>`select * from ${decisions} where namespace = ${namespace} and state = 'pending'
          order by document_id, content_hash, fact_id limit ${limit}`),
          (rows) => rows.map(decisionOf),
        ),
      pendingIn: Effect.map(reading(sql<object>`select distinct namespace from ${decisions} where state = 'pending'`), (rows) =>
        rows.map((row) => readNamespace(row).namespace),
      ),
      reopen: (namespace, some, by, at) =>
        Effect.gen(function* () {
          const reopened = new Set<string>()
          for (const page of Arr.chunksOf(some, rowsAtOnce)) {
            const one = ({ factId, fact: { documentId, contentHash } }: FactKey) =>
              sql<object>`update ${decisions} set verdict = 'reopened', decided_by = ${by}, decided_at = ${at}, state = 'pending', problem = null
              where namespace = ${namespace} and document_id = ${documentId} and content_hash = ${contentHash} and fact_id = ${factId}
                and state = 'applied' and verdict <> 'reopened'
              returning namespace, document_id, content_hash, fact_id, verdict, decided_by, decided_at`
            const changing = Effect.gen(function* () {
              const rows = (yield* Effect.forEach(page, one)).flat()
              yield* logged(rows)
              return rows
            })
            // Not retried: a second attempt would find the decisions reversed already, and return none.
            for (const row of yield* failing("write the review list of")(sql.withTransaction(changing))) reopened.add(readLog(row).fact_id)
          }
          return reopened
        }),
      history: (namespace, some) =>
        Effect.gen(function* () {
          const wanted = new Map(some.map((one) => [keyOf(one), one.factId]))
          const found = new Map<string, Array<ReviewedOnce>>()
          for (const page of Arr.chunksOf(some, rowsAtOnce)) {
            const ids = page.map(({ factId }) => factId)
            const rows = yield* reading(
              sql<object>`select * from ${log} where namespace = ${namespace} and ${sql.in("fact_id", ids)} order by entry`,
            )
            for (const row of rows.map((each) => readLog(each))) {
              const factId = wanted.get(`${row.document_id} ${row.content_hash} ${row.fact_id}`)
              if (factId === undefined) continue
              const entry = { verdict: row.verdict, by: row.decided_by, at: row.decided_at }
              found.set(factId, [...(found.get(factId) ?? []), entry])
            }
          }
          return found
        }),
      settle: ({ factId, namespace, verdict, by, at, fact: { documentId, contentHash } }, problem) =>
        Effect.asVoid(
          writing(sql`update ${decisions} set state = ${problem === undefined ? "applied" : "refused"}, problem = ${problem ?? null}
          where namespace = ${namespace} and document_id = ${documentId} and content_hash = ${contentHash} and fact_id = ${factId}
            and state = 'pending' and verdict = ${verdict} and decided_by = ${by} and decided_at = ${at}`),
        ),
    } satisfies ReviewStoreService
  })

const readRun = rowReader("review_facts", Schema.Struct({ fact_id: Schema.String, run_id: Schema.String }))
const readProperty = rowReader("review_facts", Schema.Struct({ property: Schema.String }))
const readNamespace = rowReader("review_decisions", Schema.Struct({ namespace: Namespace }))
