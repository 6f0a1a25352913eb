/** Enqueues a batch of commands in SQL: one statement if all keys are new, and a second that finds the existing ones. */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import type { EnqueueOutcome, NewCommand } from "../contract/Commands.ts"
import { newCommandRow } from "./CommandRows.ts"
import type { Row } from "./Row.ts"
import { textOf, wholeOf } from "./Row.ts"
import { anyMachine, failingTyped, isContentProblem, isUndone, persistenceFailed, RowProblem } from "./StoreFailure.ts"

/** Both return rows `(number, key, queue)`. */
export interface EnqueueStatements {
  /** Rows as JSON: stores those whose key is free and whose instance exists. */
  readonly insert: (rows: string) => Effect.Effect<ReadonlyArray<Row>, SqlError>
  /** Rows `(key, queue)` as JSON. */
  readonly find: (keys: string) => Effect.Effect<ReadonlyArray<Row>, SqlError>
}

/** How often a batch is tried that the database rolled back, or whose keys were freed between the two statements. */
const attemptLimit = 5

/** The statements of one batch, all or nothing. */
export const writeCommands = (
  statements: EnqueueStatements,
  commands: ReadonlyArray<NewCommand>,
  attempts = 1,
): Effect.Effect<ReadonlyArray<EnqueueOutcome>, SqlError> =>
  Effect.flatMap(
    Effect.suspend(() => statements.insert(jsonOf(commands))),
    (rows) => {
      const inserted = numbersOf(rows)
      const missing = commands.filter((command) => !inserted.has(nameOf(command)))
      if (missing.length === 0) return Effect.succeed(outcomes(commands, inserted, new Map()))
      return Effect.flatMap(statements.find(JSON.stringify(missing.map(({ key, queue }) => [key, queue]))), (found) => {
        const existing = numbersOf(found)
        const isGone = missing.some((command) => !existing.has(nameOf(command)) && command.instance === undefined)
        // The command that had the key was removed in between, so that the key is free.
        if (isGone && attempts < attemptLimit) return writeCommands(statements, commands, attempts + 1)
        return Effect.succeed(outcomes(commands, inserted, existing))
      })
    },
  )

/** Many large commands together may exceed the longest possible string: then each is written alone. */
const jsonOf = (commands: ReadonlyArray<NewCommand>): string => {
  try {
    return JSON.stringify([...firstOfKeys(commands).values()].map(newCommandRow))
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause)
    throw new RowProblem(`it cannot be written as JSON: ${problem}`, { cause, isUnwritable: true })
  }
}

/** A command whose content the database refuses does not fail the others. */
export const enqueueBatch = (
  statements: EnqueueStatements,
  commands: ReadonlyArray<NewCommand>,
  attempts = 1,
): Effect.Effect<ReadonlyArray<EnqueueOutcome>, PersistenceFailed> =>
  Effect.catch(failingTyped(writeCommands(statements, commands)), (error) => {
    const failure = persistenceFailed("enqueue", anyMachine, error)
    if (isUndone(error) && attempts < attemptLimit) return enqueueBatch(statements, commands, attempts + 1)
    if (!isContentProblem(error)) return Effect.fail(failure)
    if (commands.length === 1) return Effect.succeed([failure])
    return Effect.map(
      Effect.forEach(commands, (command) => enqueueBatch(statements, [command])),
      (each) => each.flat(),
    )
  })

/** Keys are unique within their queue. */
export const nameOf = ({ queue, key }: { readonly queue: string; readonly key: string }): string => `${queue}\u0000${key}`

const firstOfKeys = (commands: ReadonlyArray<NewCommand>): ReadonlyMap<string, NewCommand> => {
  const first = new Map<string, NewCommand>()
  for (const command of commands) if (!first.has(nameOf(command))) first.set(nameOf(command), command)
  return first
}

const numbersOf = (rows: ReadonlyArray<Row>): Map<string, number> =>
  new Map(rows.map((row) => [nameOf({ queue: textOf(row, "queue"), key: textOf(row, "key") }), wholeOf(row, "number")]))

const outcomes = (
  commands: ReadonlyArray<NewCommand>,
  inserted: ReadonlyMap<string, number>,
  existing: ReadonlyMap<string, number>,
): ReadonlyArray<EnqueueOutcome> => {
  const seen = new Set<string>()
  return commands.map((command): EnqueueOutcome => {
    const name = nameOf(command)
    const number = inserted.get(name)
    const isFirst = !seen.has(name)
    seen.add(name)
    if (number !== undefined) return { _tag: isFirst ? "Enqueued" : "Existing", number }
    const known = existing.get(name)
    return known === undefined ? { _tag: "NoInstance" } : { _tag: "Existing", number: known }
  })
}
