/**
 * Group commit for commands that application code enqueues: callers whose commands are ready while a statement is in flight share the next
 * one. Sixteen concurrent callers share one sync of the disk.
 */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import { Batcher } from "../runtime/Batcher.ts"
import type { CommandSignal } from "./CommandSignal.ts"
import type { EnqueueOutcome, NewCommand } from "./Commands.ts"

export const commandsEnqueued = Metric.counter("detent_commands_enqueued_total", { description: "commands stored" })

/** More than this in one statement gains no throughput and costs latency. */
const flushLimit = 500

type Outcomes = ReadonlyArray<EnqueueOutcome>

/** The result of one statement. */
export interface Stored {
  readonly outcomes: Outcomes
  /** Numbers of the commands that a worker of this process has claimed already: no worker needs to be notified of them. */
  readonly claimed: ReadonlySet<number>
}

const nothing: ReadonlySet<number> = new Set()

/** Returns the function that enqueues commands. If its caller is interrupted, the submitted commands are stored anyway. */
export const enqueuingTogether = ({
  write,
  run,
  signal,
}: {
  readonly write: (commands: ReadonlyArray<NewCommand>) => Effect.Effect<Stored, PersistenceFailed>
  readonly run: (effect: Effect.Effect<void>) => void
  readonly signal: CommandSignal
}): ((commands: ReadonlyArray<NewCommand>) => Effect.Effect<Outcomes, PersistenceFailed>) => {
  const batcher = new Batcher<ReadonlyArray<NewCommand>, Outcomes, PersistenceFailed>({
    run,
    limit: flushLimit,
    sizeOf: ({ length }) => length,
    prepare: (commands) => commands,
    perform: (callers) => {
      const commands = callers.flat()
      return Effect.flatMap(write(commands), ({ outcomes, claimed }) => {
        let from = 0
        const exits = callers.map(({ length }) => {
          from += length
          return Exit.succeed(outcomes.slice(from - length, from))
        })
        return Effect.as(announceStored(signal, commands, outcomes, claimed), exits)
      })
    },
  })
  return (commands) => (commands.length === 0 ? Effect.succeed([]) : batcher.submit(commands))
}

/** Notifies workers of new commands, and counts them. */
export const announceStored = (
  signal: CommandSignal,
  commands: ReadonlyArray<NewCommand>,
  outcomes: Outcomes,
  claimed = nothing,
): Effect.Effect<void> => {
  const queues = new Set<string>()
  let stored = 0
  for (const [index, { queue }] of commands.entries()) {
    const outcome = outcomes[index]
    if (outcome?._tag !== "Enqueued") continue
    stored++
    if (!claimed.has(outcome.number)) queues.add(queue)
  }
  if (queues.size > 0) signal.announce(queues)
  return stored === 0 ? Effect.void : Metric.update(commandsEnqueued, stored)
}
