/** Writes a batch of commits inside a transaction that holds the write lock: checks stay valid until its end. */
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Commit, CommitOutcome, Fence, InstanceKey } from "../contract/Commit.ts"
import { commandColumns, instanceColumns, snapshotColumns, timerColumns } from "../sql/CommitColumns.ts"
import { revisionOf } from "../sql/keys.ts"
import { dedupeIdsOf, duplicateOf, inheriting } from "../sql/Records.ts"
import { wholeOf } from "../sql/Row.ts"
import type { RowKeys } from "./RowKeys.ts"
import * as statements from "./statements.ts"
import type { Run } from "./transaction.ts"
import { valuesIn } from "./values.ts"
import { isPlainNew, writeNew } from "./writeNew.ts"

export const writeCommits = (
  run: Run,
  keys: RowKeys | undefined,
  commits: ReadonlyArray<Commit>,
): Effect.Effect<ReadonlyArray<CommitOutcome>, SqlError> =>
  Effect.gen(function* () {
    const fences = new Fences(run)
    const written: Written = { instances: [], events: [] }
    const outcomes: Array<CommitOutcome> = []
    if (commits.length > 1 && commits.every(isPlainNew) && (yield* fences.areAllHeld(commits)))
      outcomes.push(...(yield* writeNew(run, keys !== undefined, commits, written.instances, (commit) => conflictOf(run, commit))))
    else for (const commit of commits) outcomes.push(yield* writeCommit(run, keys, fences, written, commit))
    yield* conclude(run, written)
    return outcomes
  })

/** Copies the journal of one instance up to a sequence number to a new one. */
export const writeFork = (
  run: Run,
  keys: RowKeys | undefined,
  from: InstanceKey,
  through: number,
  to: Commit,
): Effect.Effect<CommitOutcome, SqlError> =>
  Effect.gen(function* () {
    const [source] = yield* run(statements.selectForkSource, [through, from.machine, from.id])
    if (source === undefined) return { _tag: "Conflict", actual: -1 }
    const instance = wholeOf(source, "instance")
    const [duplicate] = yield* run(statements.selectForkDuplicates, [JSON.stringify(dedupeIdsOf(to)), instance, through])
    if (duplicate !== undefined) return duplicateOf(duplicate)
    const written: Written = { instances: [], events: [] }
    const outcome = yield* writeCommit(run, keys, new Fences(run), written, inheriting(to, source))
    if (outcome._tag === "Stored") yield* run(statements.copyEvents, [to.machine, to.id, instance, through, through])
    yield* conclude(run, written)
    return outcome
  })

const stored: CommitOutcome = { _tag: "Stored" }

/** The rows that the commits of a transaction have written, or that statements of many rows write at its end. */
interface Written {
  /** Row keys, for the listing. */
  readonly instances: Array<number>
  readonly events: Array<ReadonlyArray<string | number | null>>
}

/** No commit reads the events of another: each instance appears once in a batch. */
const conclude = (run: Run, { instances, events }: Written): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    let from = 0
    for (const { size, statement } of statements.insertEvents) {
      for (; from + size <= events.length; from += size) yield* run(statement, events.slice(from, from + size).flat())
    }
    if (instances.length > 0) yield* run(statements.insertMoves, [JSON.stringify(instances)])
  })

const writeCommit = (
  run: Run,
  keys: RowKeys | undefined,
  fences: Fences,
  written: Written,
  commit: Commit,
): Effect.Effect<CommitOutcome, SqlError> =>
  Effect.gen(function* () {
    const fenced = commit.fence === undefined ? undefined : yield* fences.refusal(commit.fence)
    if (fenced !== undefined) return fenced
    const duplicate = yield* findDuplicate(run, commit)
    if (duplicate !== undefined) return duplicate
    const instance = yield* writeInstance(run, keys, commit)
    if (instance === undefined) return yield* conflictOf(run, commit)
    written.instances.push(instance)
    for (const event of commit.events) written.events.push([instance, ...eventValues(event, commit)])
    for (const [statement, parameters] of partsOf(instance, commit)) yield* run(statement, parameters)
    return stored
  })

/** Returns the row key, or undefined if the instance is not at the expected sequence. */
const writeInstance = (run: Run, keys: RowKeys | undefined, commit: Commit): Effect.Effect<number | undefined, SqlError> => {
  const known = commit.expected < 0 ? undefined : keys?.get(commit)
  if (known === undefined) return writeNamed(run, keys, commit)
  const statement = keepsOwner(commit) ? statements.updateRowKeepingOwner : statements.updateRow
  const parameters = [...instanceValues(commit, commit), known, commit.machine, commit.id, commit.expected, ...lifeOf(commit)]
  return Effect.flatMap(run.changes(statement, parameters), (changes) =>
    changes === 1 ? Effect.succeed(known) : writeNamed(run, keys, commit),
  )
}

const writeNamed = (run: Run, keys: RowKeys | undefined, commit: Commit): Effect.Effect<number | undefined, SqlError> => {
  const { expected, machine, id, at, origin } = commit
  const update = keepsOwner(commit) ? statements.updateInstanceKeepingOwner : statements.updateInstance
  const written =
    expected < 0
      ? run(statements.insertInstance, [...instanceValues(commit, commit), machine, id, at, origin ?? null])
      : run(update, [...instanceValues(commit, commit), machine, id, expected, ...lifeOf(commit)])
  return Effect.map(written, ([row]) => {
    if (row === undefined) return undefined
    const instance = wholeOf(row, "instance")
    keys?.set(commit, instance)
    return instance
  })
}

const lifeOf = (commit: Commit): ReadonlyArray<number | null> => [commit.startedAt ?? null, revisionOf(commit) ?? null]

/** Whether the instance needs an owner and the commit names none. */
const keepsOwner = ({ summary: { needsOwner, owner } }: Commit): boolean => needsOwner && owner === undefined

const [instanceValues, eventValues, snapshotValues, timerValues, commandValues] = [
  valuesIn(instanceColumns),
  valuesIn(statements.journalColumns),
  valuesIn(snapshotColumns),
  valuesIn(timerColumns),
  valuesIn(commandColumns),
]

type Part = readonly [statement: string, parameters: Parameters<Run>[1]]

/** The other parts of an instance: snapshot, timers and commands. Timers are cleared before they are set. */
const partsOf = (instance: number, commit: Commit): ReadonlyArray<Part> => {
  const { machine, at, snapshot, clearTimers, setTimers, commands, fields } = commit
  const parts: Array<Part> = []
  if (fields !== undefined) parts.push([statements.updateFields, [fields, instance]])
  if (snapshot !== undefined) parts.push([statements.upsertSnapshot, [instance, ...snapshotValues(snapshot, commit)]])
  if (clearTimers === "all") parts.push([statements.deleteAllTimers, [instance]])
  else for (const name of clearTimers) parts.push([statements.deleteTimer, [instance, name]])
  for (const timer of setTimers) parts.push([statements.upsertTimer, [instance, machine, ...timerValues(timer, commit)]])
  for (const command of commands) parts.push([statements.insertCommand, [instance, at, at, ...commandValues(command, commit)]])
  return parts
}

/** The newest tokens of leases, each read once per transaction: the write lock prevents changes. */
class Fences {
  readonly #run: Run
  readonly #newest = new Map<string, number>()

  constructor(run: Run) {
    this.#run = run
  }

  refusal({ lease, token }: Fence): Effect.Effect<CommitOutcome | undefined, SqlError> {
    return Effect.map(this.#token(lease), (newest) => (newest > 0 && newest === token ? undefined : { _tag: "Fenced", newest }))
  }

  areAllHeld(commits: ReadonlyArray<Commit>): Effect.Effect<boolean, SqlError> {
    const fences = new Map(commits.flatMap(({ fence }) => (fence === undefined ? [] : [[`${fence.lease}/${fence.token}`, fence] as const])))
    return Effect.map(
      Effect.forEach(fences.values(), (fence) => this.refusal(fence)),
      (refusals) => refusals.every((refusal) => refusal === undefined),
    )
  }

  #token(lease: string): Effect.Effect<number, SqlError> {
    const known = this.#newest.get(lease)
    if (known !== undefined) return Effect.succeed(known)
    return Effect.map(this.#run(statements.selectToken, [lease]), ([row]) => {
      const newest = row === undefined ? 0 : wholeOf(row, "token")
      this.#newest.set(lease, newest)
      return newest
    })
  }
}

const findDuplicate = (run: Run, commit: Commit): Effect.Effect<CommitOutcome | undefined, SqlError> => {
  const dedupeIds = dedupeIdsOf(commit)
  if (dedupeIds.length === 0) return Effect.undefined
  const found = run(statements.selectDuplicate, [JSON.stringify(dedupeIds), commit.machine, commit.id])
  return Effect.map(found, ([row]) => (row === undefined ? undefined : duplicateOf(row)))
}

const conflictOf = (run: Run, commit: Commit): Effect.Effect<CommitOutcome, SqlError> =>
  Effect.map(findSequence(run, commit), (actual) => ({ _tag: "Conflict", actual }))

const findSequence = (run: Run, { machine, id, startedAt }: Commit): Effect.Effect<number, SqlError> =>
  Effect.map(run(statements.selectSequence, [machine, id, startedAt ?? null]), ([row]) =>
    row === undefined ? -1 : wholeOf(row, "sequence"),
  )
