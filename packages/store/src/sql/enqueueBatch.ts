/** Enqueues a batch of commands in SQL: one statement if all keys are new, and a second that finds the existing ones. */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import type { EnqueueOutcome, NewCommand } from "../contract/Commands.ts"
import { newCommandRow } from "./CommandRows.ts"
import type { Row } from "./Row.ts"
import { textOf, wholeOf } from "./Row.ts"
import { anyMachine, failingTyped, isContentProblem, isUndone, persistenceFailed, RowProblem } from "./StoreFailure.ts"

export interface EnqueueStatements {
  /** Rows as JSON: stores those whose key and pending key are free and whose instance exists. Returns rows `(number, key, queue)`. */
  readonly insert: (rows: string) => Effect.Effect<ReadonlyArray<Row>, SqlError>
  /** Rows `(key, queue, pending key)` as JSON. Returns rows `(number, key, queue, stored_key)`. */
  readonly find: (keys: string) => Effect.Effect<ReadonlyArray<Row>, SqlError>
  /** Rows `(queue, pending key, parameters, time, delay)` as JSON. Returns rows `(number, queue, pending_key, stored_key)`. */
  readonly replace: (rows: string) => Effect.Effect<ReadonlyArray<Row>, SqlError>
}

/** How often a batch is tried that the database rolled back, or whose keys were freed between the two statements. */
const attemptLimit = 5

/** The statements of one batch, all or nothing. */
export const writeCommands = (
  statements: EnqueueStatements,
  commands: ReadonlyArray<NewCommand>,
  attempts = 1,
): Effect.Effect<ReadonlyArray<EnqueueOutcome>, SqlError> =>
  Effect.gen(function* () {
    const inserted = numbersOf(yield* Effect.suspend(() => statements.insert(jsonOf(commands))))
    const missing = commands.filter((command) => !inserted.has(nameOf(command)))
    if (missing.length === 0) return outcomes(commands, inserted, new Map())
    const existing = yield* existingOf(statements, missing)
    // The command that had the key was removed or claimed in between, so that the key is free.
    const isGone = (command: NewCommand) =>
      !existing.has(nameOf(command)) && (command.instance === undefined || command.pendingKey !== undefined)
    const freed = missing.filter(isGone)
    const given = outcomes(commands, inserted, existing)
    if (freed.length === 0 || attempts === attemptLimit) return given
    const later = (yield* writeCommands(statements, freed, attempts + 1)).values()
    return commands.map((command, index): EnqueueOutcome => {
      const outcome = inserted.has(nameOf(command)) || !isGone(command) ? given[index] : later.next().value
      return outcome ?? { _tag: "NoInstance" }
    })
  })

/** The stored commands in place of which these were not stored. */
const existingOf = (statements: EnqueueStatements, missing: ReadonlyArray<NewCommand>): Effect.Effect<Existing, SqlError> =>
  Effect.gen(function* () {
    const replacing = missing.filter(({ replaces, pendingKey }) => replaces === true && pendingKey !== undefined)
    const others = missing.filter((command) => !replacing.includes(command))
    const found = new Map<string, ExistingCommand>()
    if (others.length > 0) {
      const keys = others.map(({ key, queue, pendingKey }) => [key, queue, pendingKey ?? null])
      for (const row of yield* statements.find(JSON.stringify(keys)))
        found.set(nameOf({ queue: textOf(row, "queue"), key: textOf(row, "key") }), existingIn(row))
    }
    if (replacing.length > 0) {
      // The last one of a pending key replaces the others.
      const last = new Map(replacing.map((command) => [pendingName(command), command]))
      const rows = [...last.values()].map(({ queue, pendingKey, parameters, runAt, delayMillis }) => [
        queue,
        pendingKey,
        parameters,
        runAt === undefined ? null : Math.ceil(runAt),
        Math.ceil(delayMillis),
      ])
      const replaced = new Map(
        (yield* statements.replace(JSON.stringify(rows))).map((row) => [
          pendingName({ queue: textOf(row, "queue"), pendingKey: textOf(row, "pending_key") }),
          existingIn(row),
        ]),
      )
      for (const command of replacing) {
        const stored = replaced.get(pendingName(command))
        if (stored !== undefined) found.set(nameOf(command), stored)
      }
    }
    return found
  })

interface ExistingCommand {
  readonly number: number
  readonly key: string
}

/** By the queue and key that were given. */
type Existing = ReadonlyMap<string, ExistingCommand>

const existingIn = (row: Row): ExistingCommand => ({ number: wholeOf(row, "number"), key: textOf(row, "stored_key") })

const pendingName = ({ queue, pendingKey = "" }: { readonly queue: string; readonly pendingKey?: string | undefined }): string =>
  `${queue}\u0000${pendingKey}`

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
  existing: Existing,
): ReadonlyArray<EnqueueOutcome> => {
  const seen = new Set<string>()
  return commands.map((command): EnqueueOutcome => {
    const name = nameOf(command)
    const number = inserted.get(name)
    const isFirst = !seen.has(name)
    seen.add(name)
    if (number !== undefined) return { _tag: isFirst ? "Enqueued" : "Existing", number }
    const known = existing.get(name)
    if (known === undefined) return { _tag: "NoInstance" }
    return { _tag: "Existing", number: known.number, ...(known.key === command.key ? {} : { key: known.key }) }
  })
}
