/** Writes a batch of commits in one statement, and finds out why those that were not stored were not. */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/unstable/sql/SqlClient"
import type { SqlError } from "effect/unstable/sql/SqlError"
import { dedupeIdsOf, duplicateOf } from "../sql/Duplicate.ts"
import { inheriting } from "../sql/fork.ts"
import type { Row } from "../sql/Row.ts"
import { optionalTextOf, wholeOf } from "../sql/Row.ts"
import type { Commit, CommitOutcome, InstanceKey } from "../store/Commit.ts"
import { RowProblem } from "../store/StoreFailure.ts"
import { alikeParameters, areAlike, writeAlike } from "./alike.ts"
import type { Positioned } from "./input.ts"
import { inOrder, inputOf, questionOf } from "./input.ts"
import { isPlainCommit, plainValues, writeOnePlain, writePlain } from "./plain.ts"
import { copyEvents, explainRefusals, selectForkDuplicates, selectForkSource, writeCommits } from "./statements.ts"
import { isTimedCommit, timedValues, writeTimed } from "./timed.ts"

export interface CommitWriter {
  readonly write: (commits: ReadonlyArray<Commit>) => Effect.Effect<ReadonlyArray<CommitOutcome>, SqlError>
  readonly fork: (from: InstanceKey, through: number, to: Commit) => Effect.Effect<CommitOutcome, SqlError>
}

export const makeWriter = (sql: SqlClient, schema: string): CommitWriter => {
  const statements = {
    write: writeCommits(schema),
    plain: writePlain(schema),
    onePlain: writeOnePlain(schema),
    timed: writeTimed(schema),
    alike: writeAlike(schema),
    explain: explainRefusals(schema),
    forkSource: selectForkSource(schema),
    forkDuplicates: selectForkDuplicates(schema),
    copyEvents: copyEvents(schema),
  }

  /** Answers how many were stored, and their positions, in one row: a row for each of 500 takes 0.1 ms more to read. */
  const run = (commits: ReadonlyArray<Commit>, ordered: ReadonlyArray<Positioned>) => {
    const [first] = commits
    if (first !== undefined && commits.every(isPlainCommit)) {
      if (commits.length === 1) return sql.unsafe<Row>(statements.onePlain, plainValues([0, first]))
      return sql.unsafe<Row>(statements.plain, [JSON.stringify(ordered.map(plainValues))])
    }
    if (areAlike(commits)) return sql.unsafe<Row>(statements.alike, alikeParameters(ordered))
    if (commits.every(isTimedCommit)) return sql.unsafe<Row>(statements.timed, [JSON.stringify(ordered.map(timedValues))])
    return sql.unsafe<Row>(statements.write, [JSON.stringify(ordered.map(inputOf))])
  }

  const write = (commits: ReadonlyArray<Commit>, attempts = 1): Effect.Effect<ReadonlyArray<CommitOutcome>, SqlError> => {
    const ordered = inOrder(commits)
    return Effect.flatMap(run(commits, ordered), ([row]) => {
      if (row !== undefined && wholeOf(row, "stored") === commits.length) return Effect.succeed(commits.map(() => stored))
      const positions = row === undefined ? undefined : optionalTextOf(row, "positions")
      const written = new Set(positions?.split(",").map(Number))
      return Effect.flatMap(explain(ordered.filter(([position]) => !written.has(position))), (reasons) => {
        const outcomes = commits.map((_, position) => (written.has(position) ? stored : reasonAt(reasons, position)))
        return attempts < attemptLimit ? retryUnfounded(commits, outcomes, attempts) : Effect.succeed(outcomes)
      })
    })
  }

  /** The sequence came to be the expected one only after the statement had begun: then nothing was wrong. */
  const retryUnfounded = (commits: ReadonlyArray<Commit>, outcomes: ReadonlyArray<CommitOutcome>, attempts: number) =>
    Effect.forEach(commits, (commit, n) => {
      const outcome = outcomes[n] ?? stored
      if (outcome._tag !== "Conflict" || outcome.actual !== commit.expected) return Effect.succeed(outcome)
      return Effect.map(write([commit], attempts + 1), ([again = outcome]) => again)
    })

  const explain = (refused: ReadonlyArray<Positioned>) => {
    const commits = new Map(refused)
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

/** How often a commit is tried that was refused for no reason that can be found. */
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
