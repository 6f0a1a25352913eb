/**
 * Writes a batch of commits inside a transaction that holds the write lock: what is checked first stays true. A batch takes
 * three to five statements, however many commits are in it.
 */
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/unstable/sql/SqlError"
import type { Commit, CommitOutcome, InstanceKey } from "../Commit.ts"
import { instanceName } from "../CommitCheck.ts"
import { duplicateOf, inheriting } from "../sql/fork.ts"
import type { Row } from "../sql/Row.ts"
import { textOf, wholeOf } from "../sql/Row.ts"
import * as statements from "./statements.ts"
import type { Run } from "./transaction.ts"

type Value = string | number | null
type Rows = ReadonlyArray<Value | ReadonlyArray<Value>>

export const writeCommits = (run: Run, commits: ReadonlyArray<Commit>): Effect.Effect<ReadonlyArray<CommitOutcome>, SqlError> =>
  Effect.gen(function* () {
    const refusals = new Map<Commit, CommitOutcome>([...(yield* findDuplicates(run, commits)), ...(yield* findFenced(run, commits))])
    const tried = commits.filter((commit) => !refusals.has(commit))
    const keys = yield* writeInstances(run, tried)
    yield* writeParts(
      run,
      tried.flatMap((commit) => {
        const instance = keys.get(instanceName(commit))
        return instance === undefined ? [] : [{ instance, commit }]
      }),
    )
    const conflicting = tried.filter((commit) => !keys.has(instanceName(commit)))
    const sequences = yield* findSequences(run, conflicting)
    for (const commit of conflicting) refusals.set(commit, { _tag: "Conflict", actual: sequences.get(instanceName(commit)) ?? -1 })
    return commits.map((commit) => refusals.get(commit) ?? { _tag: "Stored" })
  })

/** Copies the journal of one instance up to a sequence number to a new one. */
export const writeFork = (run: Run, from: InstanceKey, through: number, to: Commit): Effect.Effect<CommitOutcome, SqlError> =>
  Effect.gen(function* () {
    const [source] = yield* run(statements.selectForkSource, [through, from.machine, from.id])
    if (source === undefined) return { _tag: "Conflict", actual: -1 }
    const instance = wholeOf(source, "instance")
    const dedupeIds = to.events.flatMap(({ dedupeId }) => dedupeId ?? [])
    const [duplicate] = yield* run(statements.selectForkDuplicates, [JSON.stringify(dedupeIds), instance, through])
    if (duplicate !== undefined) return duplicateOf(duplicate)
    const [outcome = { _tag: "Stored" }] = yield* writeCommits(run, [inheriting(to, source)])
    if (outcome._tag === "Stored") yield* run(statements.copyEvents, [to.machine, to.id, instance, through])
    return outcome
  })

/** Surrogate keys of those whose expected sequence was right. */
const writeInstances = (run: Run, commits: ReadonlyArray<Commit>) =>
  Effect.gen(function* () {
    const created = yield* runFor(run, statements.insertInstances, commits.filter(isFirst).map(firstRow))
    const updated = yield* runFor(run, statements.updateInstances, commits.filter((commit) => !isFirst(commit)).map(instanceRow))
    return new Map([...created, ...updated].map((row) => [instanceName(keyOf(row)), wholeOf(row, "instance")]))
  })

const isFirst = (commit: Commit): boolean => commit.expected === -1

const firstRow = (commit: Commit): ReadonlyArray<Value> => [...instanceRow(commit), commit.origin ?? null]

const instanceRow = ({ expected, machine, id, sequence, at, summary }: Commit): ReadonlyArray<Value> => [
  expected,
  machine,
  id,
  sequence,
  at,
  summary.tag,
  summary.status,
  summary.reason ?? null,
  summary.version,
  summary.resident ? 1 : 0,
]

interface Located {
  readonly instance: number
  readonly commit: Commit
}

/** Everything that belongs to instances whose row is written. */
const writeParts = (run: Run, located: ReadonlyArray<Located>) =>
  Effect.gen(function* () {
    const each = (rowsOf: (instance: number, commit: Commit) => Rows): Rows =>
      located.flatMap(({ instance, commit }) => rowsOf(instance, commit))
    yield* runFor(
      run,
      statements.insertEvents,
      each((instance, { events }) =>
        events.map((event) => [instance, event.sequence, event.at, event.tag, event.body, event.dedupeId ?? null]),
      ),
    )
    yield* runFor(
      run,
      statements.upsertSnapshots,
      each((instance, { snapshot }) =>
        snapshot === undefined ? [] : [[instance, snapshot.sequence, snapshot.at, snapshot.version, snapshot.body]],
      ),
    )
    yield* runFor(
      run,
      statements.deleteAllTimers,
      each((instance, { clearTimers }) => (clearTimers === "all" ? [instance] : [])),
    )
    yield* runFor(
      run,
      statements.deleteTimers,
      each((instance, { clearTimers }) => (clearTimers === "all" ? [] : clearTimers.map((name) => [instance, name]))),
    )
    yield* runFor(
      run,
      statements.upsertTimers,
      each((instance, { setTimers }) => setTimers.map(({ name, entry, due }) => [instance, name, entry, Math.ceil(due)])),
    )
    yield* runFor(
      run,
      statements.insertCommands,
      each((instance, { commands, at }) =>
        commands.map(({ key, slot, parameters, sequence }) => [instance, key, slot, parameters, sequence, at]),
      ),
    )
  })

const findFenced = (run: Run, commits: ReadonlyArray<Commit>) => {
  const names = [...new Set(commits.flatMap(({ fence }) => fence?.lease ?? []))]
  return Effect.map(runFor(run, statements.selectTokens, names), (rows) => {
    const tokens = new Map(rows.map((row) => [textOf(row, "name"), wholeOf(row, "token")]))
    return commits.flatMap((commit): ReadonlyArray<readonly [Commit, CommitOutcome]> => {
      const newest = commit.fence === undefined ? undefined : (tokens.get(commit.fence.lease) ?? 0)
      return newest === undefined || (newest > 0 && newest === commit.fence?.token) ? [] : [[commit, { _tag: "Fenced", newest }]]
    })
  })
}

const findDuplicates = (run: Run, commits: ReadonlyArray<Commit>) => {
  const sent = commits.flatMap(({ machine, id, events }, position) =>
    events.flatMap(({ dedupeId }) => (dedupeId === undefined ? [] : [[machine, id, dedupeId, position]])),
  )
  return Effect.map(runFor(run, statements.selectDuplicates, sent), (rows) =>
    // Of several in one commit the first is told: later entries of a map replace earlier ones.
    rows.toReversed().flatMap((row): ReadonlyArray<readonly [Commit, CommitOutcome]> => {
      const commit = commits[wholeOf(row, "position")]
      return commit === undefined ? [] : [[commit, duplicateOf(row)]]
    }),
  )
}

const findSequences = (run: Run, commits: ReadonlyArray<Commit>) =>
  Effect.map(
    runFor(
      run,
      statements.selectSequences,
      commits.map(({ machine, id }) => [machine, id]),
    ),
    (rows) => new Map(rows.map((row) => [instanceName(keyOf(row)), wholeOf(row, "sequence")])),
  )

const keyOf = (row: Row): InstanceKey => ({ machine: textOf(row, "machine"), id: textOf(row, "id") })

/** A statement over rows is not run when there are none. */
const runFor = (run: Run, statement: string, rows: Rows): Effect.Effect<ReadonlyArray<Row>, SqlError> =>
  rows.length === 0 ? Effect.succeed([]) : run(statement, [JSON.stringify(rows)])
