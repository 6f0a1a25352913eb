/** Writes the values by which instances are found, other than by a commit: the background fill of indexes, and labels. */
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import type { InstanceKey } from "../contract/Commit.ts"
import { type FieldsWrite, type IndexFill, type LabelChanges, type LabelOutcome, labelsAfter } from "../contract/Search.ts"
import type { Dialect } from "./Dialect.ts"
import type { Row } from "./Row.ts"
import { flagOf, optionalTextOf, textOf, wholeOf } from "./Row.ts"

export const fillOf = (row: Row): IndexFill => ({
  definition: textOf(row, "definition"),
  through: optionalTextOf(row, "through"),
  filled: wholeOf(row, "filled"),
  isComplete: flagOf(row, "is_complete"),
})

/** Returns a row if nothing has changed since `seen` was read. */
export const writeFill = (dialect: Dialect, machine: string, seen: IndexFill | undefined, fill: IndexFill) => {
  const { sql, indexFills } = dialect
  const { definition, through = null, filled } = fill
  const isComplete = dialect.flag(fill.isComplete)
  if (seen === undefined)
    return sql<Row>`
      insert into ${indexFills} (machine, definition, through, filled, is_complete)
      values (${machine}, ${definition}, ${through}, ${filled}, ${isComplete})
      on conflict (machine) do nothing returning machine`
  const place = seen.through === undefined ? sql`through is null` : sql`through = ${seen.through}`
  return sql<Row>`
    update ${indexFills} set definition = ${definition}, through = ${through}, filled = ${filled}, is_complete = ${isComplete}
    where machine = ${machine} and definition = ${seen.definition} and ${place} and is_complete = ${dialect.flag(seen.isComplete)}
    returning machine`
}

/** Returns the ids of the instances that have changed since they were read. */
export const writeFields = (
  dialect: Dialect,
  machine: string,
  writes: ReadonlyArray<FieldsWrite>,
): Effect.Effect<ReadonlyArray<string>, SqlError> =>
  Effect.gen(function* () {
    const { sql, instances } = dialect
    const missed: Array<string> = []
    const written: Array<number> = []
    for (const { id, startedAt, sequence, revision, fields } of writes) {
      const [row] = yield* sql<Row>`
        update ${instances} set fields = ${fields}
        where machine = ${machine} and id = ${id} and started_at = ${startedAt} and sequence = ${sequence} and revision = ${revision}
        returning instance`
      if (row === undefined) missed.push(id)
      else written.push(wholeOf(row, "instance"))
    }
    if (written.length > 0) yield* sql`${dialect.insertMoves(written)}`
    return missed
  })

/** Takes the write lock with the first statement, so that no other change of the labels is lost. */
export const changeLabels = (dialect: Dialect, key: InstanceKey, changes: LabelChanges): Effect.Effect<LabelOutcome, SqlError> =>
  Effect.gen(function* () {
    const { sql, instances } = dialect
    const [row] = yield* sql<Row>`
      update ${instances} set labels = labels where machine = ${key.machine} and id = ${key.id} returning instance, labels`
    if (row === undefined) return { _tag: "NoInstance" }
    const instance = wholeOf(row, "instance")
    const outcome = labelsAfter(optionalTextOf(row, "labels"), changes)
    if (outcome._tag === "TooMany") return outcome
    yield* sql`update ${instances} set labels = ${outcome.labels} where instance = ${instance}`
    yield* sql`${dialect.insertMoves([instance])}`
    return outcome
  })
