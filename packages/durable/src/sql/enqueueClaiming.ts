/** Enqueues a batch of commands and claims for a worker that waits, in one statement. */
import { PersistenceFailed } from "@detent/machine"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { isSqlError, type SqlError } from "effect/unstable/sql/SqlError"
import type { Exchange, NewCommand } from "../Commands.ts"
import type { ClaimOffer } from "../command/ClaimOffer.ts"
import type { Stored } from "../command/Enqueuer.ts"
import { anyMachine, isContentProblem, isUndone } from "../StoreFailure.ts"
import { type EnqueueStatements, enqueueBatch } from "./enqueueBatch.ts"
import type { Row } from "./Row.ts"

/** Rows as JSON. */
export type ClaimingInsert = (rows: string, offer: ClaimOffer) => Effect.Effect<Claiming, SqlError>

/** What was inserted, in rows as of `insert`, and what was claimed with it. */
export interface Claiming {
  readonly inserted: ReadonlyArray<Row>
  readonly exchange: Exchange
}

export const enqueueClaiming = (
  statements: EnqueueStatements,
  claimingInsert: ClaimingInsert,
  offer: ClaimOffer,
  commands: ReadonlyArray<NewCommand>,
): Effect.Effect<Stored, PersistenceFailed> => {
  const claimed = new Set<number>()
  let isOpen = true
  // What is tried again, or one by one, is left to be claimed as usual.
  const insert = (rows: string) => {
    if (!isOpen) return statements.insert(rows)
    isOpen = false
    return claimingInsert(rows, offer).pipe(
      Effect.onExit((exit) => Effect.sync(() => answer(offer, exit))),
      Effect.map(({ inserted, exchange }) => {
        for (const { number } of exchange.claimed) claimed.add(number)
        return inserted
      }),
    )
  }
  return Effect.map(enqueueBatch({ ...statements, insert }, commands), (outcomes) => ({ outcomes, claimed }))
}

/** A worker that is not told would wait for ever. */
const answer = (offer: ClaimOffer, exit: Exit.Exit<Claiming, SqlError>) => {
  if (Exit.isSuccess(exit)) return offer.taken(exit.value.exchange)
  const error = Cause.squash(exit.cause)
  // What the database refused or undid was not claimed either.
  if (isSqlError(error) && (isContentProblem(error) || isUndone(error))) return offer.declined()
  offer.unanswered(new PersistenceFailed({ machine: anyMachine.machine, operation: "exchange commands", cause: error }))
}
