/** Enqueues a batch of commands for a worker that waits for them, in one statement. */
import { PersistenceFailed } from "@detent/machine"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import type { DirectHandoff } from "../contract/CommandSignal.ts"
import type { ClaimedCommand, NewCommand } from "../contract/Commands.ts"
import type { Stored } from "../contract/Enqueuer.ts"
import { inTurns } from "../contract/GroupTurns.ts"
import { type EnqueueStatements, enqueueBatch } from "./enqueueBatch.ts"
import type { Row } from "./Row.ts"
import { textOf, wholeOf } from "./Row.ts"
import { anyMachine, isContentProblem, isUndone } from "./StoreFailure.ts"

/** Takes rows as JSON. Returns the rows of `insert`, each with `claims` and `enqueued_at`. */
export type InsertForWorker = (rows: string, offer: DirectHandoff) => Effect.Effect<ReadonlyArray<Row>, SqlError>

export const enqueueForWorker = (
  statements: EnqueueStatements,
  insertForWorker: InsertForWorker,
  offer: DirectHandoff,
  commands: ReadonlyArray<NewCommand>,
): Effect.Effect<Stored, PersistenceFailed> => {
  const claimed = new Set<number>()
  let isOpen = true
  // Retried commands, and those stored one by one, are claimed as usual.
  const insert = (rows: string) => {
    if (!isOpen) return statements.insert(rows)
    isOpen = false
    const inserting = Effect.map(insertForWorker(rows, offer), (inserted) => ({ inserted, taken: claimedOf(commands, inserted) }))
    return inserting.pipe(
      Effect.onExit((exit) => Effect.sync(() => answer(offer, exit))),
      Effect.map(({ inserted, taken }) => {
        for (const { number } of taken) claimed.add(number)
        return inserted
      }),
    )
  }
  return enqueueBatch({ ...statements, insert }, commands).pipe(
    // Nothing was stored, so there is nothing to hand to the worker.
    Effect.onExit(() => Effect.sync(() => (isOpen ? offer.taken([]) : undefined))),
    Effect.map((outcomes) => ({ outcomes, claimed })),
  )
}

const claimedOf = (commands: ReadonlyArray<NewCommand>, rows: ReadonlyArray<Row>): ReadonlyArray<ClaimedCommand> => {
  const taken = new Map(rows.filter((row) => wholeOf(row, "claims") === 1).map((row) => [textOf(row, "key"), row]))
  const claimed: Array<ClaimedCommand> = []
  for (const { key, queue, slot, parameters, instance, priority, ordered, group } of commands) {
    const row = taken.get(key)
    if (row === undefined) continue
    // If a key occurs twice in the batch, the first command counts.
    taken.delete(key)
    const enqueuedAt = wholeOf(row, "enqueued_at")
    const number = wholeOf(row, "number")
    const placed = { number, claim: 1, key, queue, slot, parameters, instance, sequence: -1, priority, ordered, group }
    claimed.push({ ...placed, attempts: 1, round: 0, enqueuedAt })
  }
  return inTurns(claimed)
}

/** A worker that is not notified would wait forever. */
const answer = (offer: DirectHandoff, exit: Exit.Exit<{ readonly taken: ReadonlyArray<ClaimedCommand> }, SqlError>) => {
  if (Exit.isSuccess(exit)) return offer.taken(exit.value.taken)
  const error = Cause.squash(exit.cause)
  // Commands that the database refused or rolled back were not claimed either.
  if (isSqlError(error) && (isContentProblem(error) || isUndone(error))) return offer.taken([])
  offer.unanswered(new PersistenceFailed({ machine: anyMachine.machine, operation: "enqueue for a worker", cause: error }))
}
