/**
 * Group commit for commands that are enqueued by hand: while one statement is on its way, everybody else who has something
 * gathers for the next. Sixteen callers who each await theirs share a sync of the disk instead of paying for sixteen.
 */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import type { EnqueueOutcome, NewCommand } from "../store/Commands.ts"
import { commandsEnqueued } from "./CommandMetrics.ts"
import type { CommandSignal } from "./CommandSignal.ts"

/** More than this in one statement gains no throughput and costs latency. */
const flushLimit = 500

type Outcomes = ReadonlyArray<EnqueueOutcome>

/** What became of a flush. */
export interface Stored {
  readonly outcomes: Outcomes
  /** Numbers of those that a worker of this process has already: nobody need be told of them. */
  readonly claimed: ReadonlySet<number>
}

const nothing: ReadonlySet<number> = new Set()

interface Waiting {
  readonly commands: ReadonlyArray<NewCommand>
  readonly told: (exit: Exit.Exit<Outcomes, PersistenceFailed>) => void
}

export class Enqueuer {
  readonly #write: (commands: ReadonlyArray<NewCommand>) => Effect.Effect<Stored, PersistenceFailed>
  readonly #run: (effect: Effect.Effect<void>) => void
  readonly #signal: CommandSignal
  #waiting: Array<Waiting> = []
  #flushing = false

  constructor(options: {
    readonly write: (commands: ReadonlyArray<NewCommand>) => Effect.Effect<Stored, PersistenceFailed>
    readonly run: (effect: Effect.Effect<void>) => void
    readonly signal: CommandSignal
  }) {
    this.#write = options.write
    this.#run = options.run
    this.#signal = options.signal
  }

  /** Whoever waits may go away: what was handed over is stored all the same. */
  enqueue(commands: ReadonlyArray<NewCommand>): Effect.Effect<Outcomes, PersistenceFailed> {
    if (commands.length === 0) return Effect.succeed([])
    return Effect.callback((resume) => {
      this.#waiting.push({ commands, told: resume })
      if (this.#flushing) return
      this.#flushing = true
      this.#run(this.#flushAll)
    })
  }

  /** The first turn is given to others, so that all who are ready in it share the flush. */
  readonly #flushAll: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    while (this.#waiting.length > 0) {
      yield* Effect.yieldNow
      const taken = this.#take()
      if (taken.length > 0) yield* this.#flush(taken)
    }
    this.#flushing = false
  })

  #take(): ReadonlyArray<Waiting> {
    let count = 0
    for (let size = 0; count < this.#waiting.length && size < flushLimit; count++) size += this.#waiting[count]?.commands.length ?? 0
    return this.#waiting.splice(0, count)
  }

  #flush(taken: ReadonlyArray<Waiting>): Effect.Effect<void> {
    const commands = taken.flatMap((waiting) => waiting.commands)
    return Effect.flatMap(Effect.exit(Effect.suspend(() => this.#write(commands))), (exit) => {
      let from = 0
      for (const { commands: own, told } of taken) {
        const until = from + own.length
        told(Exit.isSuccess(exit) ? Exit.succeed(exit.value.outcomes.slice(from, until)) : Exit.failCause(exit.cause))
        from = until
      }
      return Exit.isSuccess(exit) ? announceStored(this.#signal, commands, exit.value.outcomes, exit.value.claimed) : Effect.void
    })
  }
}

/** Tells workers of what is new, and counts it. */
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
