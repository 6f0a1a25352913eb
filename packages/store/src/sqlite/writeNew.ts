/**
 * Writes many new instances without events or other rows, as `startAll` makes them, with many rows per statement. They nearly always differ
 * only in ids, times and first states: each shared value is one parameter of the statement.
 */
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Commit, CommitOutcome } from "../contract/Commit.ts"
import { instanceName } from "../contract/CommitCheck.ts"
import { type Columns, instanceColumns, namesOf } from "../sql/CommitColumns.ts"
import { textOf, wholeOf } from "../sql/Row.ts"
import type { Run } from "./transaction.ts"
import { type SqliteValue, valuesIn } from "./values.ts"

/** A few sizes, so that each is prepared once. */
const statementSizes = [250, 25, 1] as const

/** Whether a commit only creates an instance. The caller checks its fence, if it has one. */
export const isPlainNew = ({ expected, events, snapshot, setTimers, commands }: Commit): boolean =>
  expected < 0 && events.length === 0 && snapshot === undefined && setTimers.length === 0 && commands.length === 0

/**
 * `moved` collects the row keys of new instances; `conflict` reads the sequence of an instance that already exists. `tells`: the database
 * client reports which rows it inserted.
 */
export const writeNew = (
  run: Run,
  tells: boolean,
  commits: ReadonlyArray<Commit>,
  moved: Array<number>,
  conflict: (commit: Commit) => Effect.Effect<CommitOutcome, SqlError>,
): Effect.Effect<ReadonlyArray<CommitOutcome>, SqlError> =>
  Effect.gen(function* () {
    const keys: Array<number> = []
    for (const group of alike(commits)) {
      let from = 0
      for (const size of statementSizes) {
        for (; from + size <= group.length; from += size) {
          const statement = (hasFields(group) ? insertIndexed : insertInstances).get(size) ?? ""
          const values = valuesOf(group, from, size)
          if (tells) {
            const { first, count } = yield* run.inserted(statement, values)
            for (let key = first; key < first + count; key++) keys.push(key)
          } else for (const row of yield* run(`${statement} returning instance`, values)) keys.push(wholeOf(row, "instance"))
        }
      }
    }
    for (const key of keys) moved.push(key)
    if (keys.length === commits.length) return commits.map(() => stored)
    // Nearly always all instances are new, so only now the statement is run that finds which ones are.
    const rows = yield* run(selectNames, [JSON.stringify(keys)])
    const written = new Set(rows.map((row) => instanceName({ machine: textOf(row, "machine"), id: textOf(row, "id") })))
    return yield* Effect.forEach(commits, (commit) => (written.has(instanceName(commit)) ? Effect.succeed(stored) : conflict(commit)))
  })

const stored: CommitOutcome = { _tag: "Stored" }

/** Groups of commits that differ in id, time and first state only. */
const alike = (commits: ReadonlyArray<Commit>): ReadonlyArray<ReadonlyArray<Commit>> => {
  const groups: Array<[Commit, ...Array<Commit>]> = []
  for (const commit of commits) {
    const group = groups.find(([first]) => isLike(commit, first))
    if (group === undefined) groups.push([commit])
    else group.push(commit)
  }
  return groups
}

const isLike = (one: Commit, other: Commit): boolean =>
  one.machine === other.machine &&
  (one.fields === undefined) === (other.fields === undefined) &&
  shared.every(([, { value }]) => value(one, one) === value(other, other))

/** The columns of an instance whose value is the same in many commits. */
const shared = Object.entries(instanceColumns as Columns<Commit>).filter(([name]) => name !== "updated_at")

const sharedNames = namesOf(Object.fromEntries(shared))

const insertStatements = (isIndexed: boolean): ReadonlyMap<number, string> =>
  new Map(
    statementSizes.map((size) => [
      size,
      `insert into detent_instances (machine, id, started_at, updated_at, origin, ${isIndexed ? "fields, " : ""}${sharedNames})
    select c.machine, v.column1, v.column2, v.column2, v.column3, ${isIndexed ? "v.column4, " : ""}${namesOf(Object.fromEntries(shared), "c.")}
    from (values ${Array.from({ length: size }, () => (isIndexed ? "(?, ?, ?, ?)" : "(?, ?, ?)")).join(", ")}) v
    cross join (select ? as machine, ${shared.map(([name]) => `? as ${name}`).join(", ")}) c
    where true on conflict (machine, id) do nothing`,
    ]),
  )

/** Without and with the values of indexed fields. */
const insertInstances = insertStatements(false)
const insertIndexed = insertStatements(true)

const hasFields = ([first]: ReadonlyArray<Commit>): boolean => first?.fields !== undefined

const selectNames = `select machine, id from detent_instances where instance in (select value from json_each(?))`

const sharedValues = valuesIn(Object.fromEntries(shared))

/** Ids, times and first states of some commits that are alike, then the shared values. */
const valuesOf = (group: ReadonlyArray<Commit>, from: number, size: number): ReadonlyArray<SqliteValue> => {
  const values: Array<SqliteValue> = []
  for (let index = from; index < from + size; index++) {
    const { id, at, origin = null, fields } = group[index] as Commit
    values.push(id, at, origin)
    if (fields !== undefined) values.push(fields)
  }
  const first = group[from] as Commit
  values.push(first.machine, ...sharedValues(first, first))
  return values
}
