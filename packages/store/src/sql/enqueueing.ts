/** Enqueues commands in SQL: inside the caller's transaction if there is one, otherwise together with the commands of other callers. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type { SqlClient } from "effect/sql/SqlClient"

import type { CommandSignal } from "../contract/CommandSignal.ts"
import type { CommandsService, NewCommand } from "../contract/Commands.ts"
import { commandsEnqueued, enqueuingTogether } from "../contract/Enqueuer.ts"
import { type EnqueueStatements, enqueueBatch, writeCommands } from "./enqueueBatch.ts"
import { enqueueForWorker, type InsertForWorker } from "./enqueueForWorker.ts"
import { anyMachine, persisting } from "./StoreFailure.ts"

export interface Enqueueing {
  readonly sql: SqlClient
  readonly statements: EnqueueStatements
  /** Set if one statement can store and claim commands. */
  readonly insertForWorker?: InsertForWorker
  readonly signal: CommandSignal
  /** Notifies workers of the commands of the caller's transaction, once that is committed. */
  readonly tellOnCommit: (queues: ReadonlySet<string>) => Effect.Effect<unknown, unknown>
}

export const enqueueing = ({
  sql,
  statements,
  insertForWorker,
  signal,
  tellOnCommit,
}: Enqueueing): Effect.Effect<CommandsService["enqueue"]> =>
  Effect.contextWith((context: Context.Context<never>) => {
    // A flush serves many callers: it must not run in the transaction of the caller that happens to start it.
    const outside = Context.omit(sql.transactionService)(context as Context.Context<unknown>) as Context.Context<never>
    const enqueue = enqueuingTogether({
      write: (commands) => {
        const offer = insertForWorker === undefined ? undefined : offerFor(signal, commands)
        if (insertForWorker === undefined || offer === undefined)
          return Effect.map(enqueueBatch(statements, commands), (outcomes) => ({ outcomes, claimed: new Set() }))
        return enqueueForWorker(statements, insertForWorker, offer, commands)
      },
      run: Effect.runForkWith(outside),
      signal,
    })
    const within = (commands: ReadonlyArray<NewCommand>) =>
      Effect.tap(persisting("enqueue", anyMachine)(writeCommands(statements, commands)), (outcomes) => {
        const stored = commands.filter((_, index) => outcomes[index]?._tag === "Enqueued")
        if (stored.length === 0) return Effect.void
        return Effect.andThen(
          Effect.ignore(tellOnCommit(new Set(stored.map(({ queue }) => queue)))),
          Metric.update(commandsEnqueued, stored.length),
        )
      })
    return Effect.succeed((commands) =>
      Effect.contextWith((current: Context.Context<never>) =>
        Context.getOption(current as Context.Context<unknown>, sql.transactionService)._tag === "None"
          ? enqueue(commands)
          : within(commands),
      ),
    )
  })

/** A worker for commands of one queue. Commands of several queues are announced as usual. */
const offerFor = (signal: CommandSignal, commands: ReadonlyArray<NewCommand>) => {
  const queue = commands[0]?.queue
  return queue === undefined || commands.some((command) => command.queue !== queue) ? undefined : signal.offerFor(queue, commands.length)
}
