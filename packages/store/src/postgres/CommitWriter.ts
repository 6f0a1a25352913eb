/** Writes batches of commits to PostgreSQL, finds out why a commit was refused, and copies journals for forks. */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Commit, CommitOutcome, InstanceKey } from "../contract/Commit.ts"
import { isDeliveryId } from "../contract/CommitCheck.ts"
import { namesOf } from "../sql/CommitColumns.ts"
import { dedupeIdsOf, duplicateOf, inheriting } from "../sql/Records.ts"
import { optionalTextOf, type Row, wholeOf } from "../sql/Row.ts"
import { RowProblem } from "../sql/StoreFailure.ts"
import { inOrder, makeShapes } from "./commit.ts"
import { journalColumns, type Positioned } from "./commitInput.ts"

export interface CommitWriter {
  readonly write: (commits: ReadonlyArray<Commit>) => Effect.Effect<ReadonlyArray<CommitOutcome>, SqlError>
  readonly fork: (from: InstanceKey, through: number, to: Commit) => Effect.Effect<CommitOutcome, SqlError>
}

export const makeWriter = (sql: SqlClient, schema: string): CommitWriter => {
  const shapeFor = makeShapes(schema)
  const statements = {
    explain: explainRefusals(schema),
    forkSource: selectForkSource(schema),
    forkDuplicates: selectForkDuplicates(schema),
    copyEvents: copyEvents(schema),
  }

  const write = (commits: ReadonlyArray<Commit>, attempts = 1): Effect.Effect<ReadonlyArray<CommitOutcome>, SqlError> =>
    Effect.suspend(() => {
      const ordered = inOrder(commits)
      const { statement, parameters } = shapeFor(ordered)
      // One row for the whole batch: a row for each of 500 commits takes 0.1 ms more to read.
      return Effect.flatMap(sql.unsafe<Row>(statement, parameters), ([row]) => {
        if (row !== undefined && wholeOf(row, "stored") === commits.length) return Effect.succeed(commits.map(() => stored))
        const positions = row === undefined ? undefined : optionalTextOf(row, "positions")
        const written = new Set(positions?.split(",").map(Number))
        return Effect.flatMap(explain(ordered.filter(({ position }) => !written.has(position))), (reasons) => {
          const outcomes = commits.map((_, position) => (written.has(position) ? stored : reasonAt(reasons, position)))
          return attempts < attemptLimit ? retryUnfounded(commits, outcomes, attempts) : Effect.succeed(outcomes)
        })
      })
    })

  /**
   * Retries commits that were refused although their instance is at the expected sequence: it reached that only after the statement had
   * begun, or the fence of another commit in the batch did not hold. Commits with a fence are written separately, so that they cannot make
   * the others fail again.
   */
  const retryUnfounded = (commits: ReadonlyArray<Commit>, outcomes: ReadonlyArray<CommitOutcome>, attempts: number) => {
    const unfounded = commits.flatMap((commit, position): ReadonlyArray<Positioned> => {
      const outcome = outcomes[position]
      return outcome?._tag === "Conflict" && outcome.actual === commit.expected ? [{ position, commit }] : []
    })
    if (unfounded.length === 0) return Effect.succeed(outcomes)
    const groups = [
      unfounded.filter(({ commit }) => commit.fence === undefined),
      unfounded.filter(({ commit }) => commit.fence !== undefined),
    ]
    const retried = Effect.forEach(groups, (group) =>
      group.length === 0
        ? Effect.succeed([])
        : Effect.map(
            write(
              group.map(({ commit }) => commit),
              attempts + 1,
            ),
            (again) => group.map(({ position }, index) => [position, again[index]] as const),
          ),
    )
    return Effect.map(retried, (each) => {
      const again = new Map(each.flat())
      return outcomes.map((outcome, position) => again.get(position) ?? outcome)
    })
  }

  const explain = (refused: ReadonlyArray<Positioned>) => {
    const commits = new Map(refused.map(({ position, commit }) => [position, commit]))
    return Effect.map(sql.unsafe<Row>(statements.explain, [JSON.stringify(refused.map(questionOf))]), (rows) => {
      const reasons = rows.map((row) => [wholeOf(row, "n"), row] as const)
      return new Map(reasons.map(([position, row]) => [position, reasonOf(row, commits.get(position))]))
    })
  }

  const fork = (from: InstanceKey, through: number, to: Commit) =>
    sql.withTransaction(
      Effect.gen(function* () {
        const [source] = yield* sql.unsafe<Row>(statements.forkSource, [through, from.machine, from.id])
        if (source === undefined) return { _tag: "Conflict", actual: -1 } satisfies CommitOutcome
        const instance = wholeOf(source, "instance")
        const [duplicate] = yield* sql.unsafe<Row>(statements.forkDuplicates, [JSON.stringify(dedupeIdsOf(to)), instance, through])
        if (duplicate !== undefined) return duplicateOf(duplicate)
        const [outcome = stored] = yield* write([inheriting(to, source)])
        if (outcome._tag === "Stored") yield* sql.unsafe(statements.copyEvents, [to.machine, to.id, instance, through])
        return outcome
      }),
    )

  return { write: (commits) => write(commits), fork }
}

/** How often a commit is tried that was refused although its instance is at the expected sequence. */
const attemptLimit = 3

const stored: CommitOutcome = { _tag: "Stored" }

const reasonOf = (row: Row, commit: Commit | undefined): CommitOutcome => {
  const newest = wholeOf(row, "newest")
  if (commit?.fence !== undefined && (newest === 0 || commit.fence.token !== newest)) return { _tag: "Fenced", newest }
  const dedupeId = optionalTextOf(row, "dedupe_id")
  if (dedupeId !== undefined) return { _tag: "Duplicate", dedupeId, sequence: wholeOf(row, "duplicate") }
  return { _tag: "Conflict", actual: wholeOf(row, "actual") }
}

const reasonAt = (reasons: ReadonlyMap<number, CommitOutcome>, position: number): CommitOutcome => {
  const reason = reasons.get(position)
  if (reason === undefined) throw new RowProblem(`no reason was given for the refusal of commit ${position}`)
  return reason
}

const questionOf = ({ position, commit }: Positioned): ReadonlyArray<unknown> => [
  position,
  commit.machine,
  commit.id,
  idsIn(commit).filter(([id]) => !isDeliveryId(id)),
  commit.fence?.lease,
  commit.startedAt,
  idsIn(commit).filter(([id]) => isDeliveryId(id)),
]

/** The deduplication ids of events that the journal may already have, each with the position of its event. */
const idsIn = ({ events }: Commit): ReadonlyArray<readonly [id: string, position: number]> =>
  events.flatMap(({ dedupeId, isFirst }, position) => (dedupeId === undefined || isFirst === true ? [] : [[dedupeId, position] as const]))

/**
 * Why commits were not stored. Rows: position, machine, id, dedupe ids of senders, lease, start, dedupe ids of nodes; each id with the
 * position of its event. Returns the first dedupe id that the journal already has, in the order of the events.
 */
const explainRefusals = (schema: string): string => `
  select c.n, case when i.started_at = coalesce(c.started_at, i.started_at) then i.sequence else -1 end as actual,
    coalesce(l.token, 0) as newest, d.dedupe_id, d.sequence as duplicate
  from (
    select (c ->> 0)::integer as n, c ->> 1 as machine, c ->> 2 as id, c -> 3 as dedupe, c ->> 4 as lease,
      (c ->> 5)::bigint as started_at, c -> 6 as delivered
    from jsonb_array_elements($1::jsonb) c
  ) c
  left join ${schema}.instances i on i.machine = c.machine and i.id = c.id
  left join ${schema}.leases l on l.name = c.lease
  left join lateral (
    select e.dedupe_id, e.sequence, (sent ->> 1)::integer as position
    from jsonb_array_elements(c.dedupe) sent
    join ${schema}.events e on e.instance = i.instance and e.dedupe_id = sent ->> 0
    union all
    select sent ->> 0, e.sequence, (sent ->> 1)::integer
    from jsonb_array_elements(c.delivered) sent
    join ${schema}.events e on e.instance = i.instance and e.delivery = sent ->> 0
    order by position limit 1
  ) d on true`

/** The source of a fork, with its snapshot if that is not newer than a sequence number. */
const selectForkSource = (schema: string): string => `
  select i.instance, i.origin, s.sequence, s.at, s.version, s.body
  from ${schema}.instances i left join ${schema}.snapshots s on s.instance = i.instance and s.sequence <= $1
  where i.machine = $2 and i.id = $3`

/** Parameters: JSON of dedupe ids, source, sequence number. The ids of senders have an index, those of nodes have none. */
const selectForkDuplicates = (schema: string): string => `
  select sent.id as dedupe_id, e.sequence, sent.position
  from jsonb_array_elements_text($1::jsonb) with ordinality as sent (id, position)
  join ${schema}.events e on e.instance = $2 and e.dedupe_id = sent.id and e.sequence <= $3
  union all
  select sent.id, e.sequence, sent.position
  from jsonb_array_elements_text($1::jsonb) with ordinality as sent (id, position)
  join ${schema}.events e on e.instance = $2 and e.delivery = sent.id and e.sequence <= $3
  order by position limit 1`

/** Parameters: machine and id of the fork, source, sequence number. */
const copyEvents = (schema: string): string => `
  insert into ${schema}.events (instance, ${namesOf(journalColumns)})
  select (select instance from ${schema}.instances where machine = $1 and id = $2), ${namesOf(journalColumns)}
  from ${schema}.events where instance = $3 and sequence <= $4`
