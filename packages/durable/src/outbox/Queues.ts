/** Pauses and limits of queues. They are kept in the store, and all workers of all processes obey them. */
import { DefinitionError, type PersistenceFailed } from "@detent/machine"
import { Commands, type QueueRecord, type QueueSettings } from "@detent/store"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { millisOf } from "./WorkerConfig.ts"

export interface QueueLimits {
  /** How many commands all workers together execute concurrently; undefined: no limit. */
  readonly concurrency?: number | undefined
  /** How many commands begin within any interval of this length, on all workers together; undefined: no limit. */
  readonly rate?: { readonly limit: number; readonly interval: Duration.Input } | undefined
}

type Changed = Effect.Effect<void, PersistenceFailed, Commands>

/** No worker claims another command of the queue until it is resumed. Commands that are being executed continue. */
export const pause = (queue: string): Changed => change(queue, { paused: true })

export const resume = (queue: string): Changed => change(queue, { paused: false })

/** Sets the given limits, and leaves the others as they are. */
export const limit = (queue: string, limits: QueueLimits): Changed =>
  Effect.suspend(() => {
    const { concurrency, rate } = limits
    if (concurrency !== undefined) checkCount("a concurrency", concurrency)
    if (rate !== undefined) checkCount("a rate", rate.limit)
    const intervalMillis = rate === undefined ? 1 : millisOf(rate.interval)
    if (!(intervalMillis >= 1 && Number.isFinite(intervalMillis))) refuse(`a rate per ${intervalMillis} ms`, "use a millisecond or more")
    return change(queue, {
      ...("concurrency" in limits ? { concurrency } : {}),
      ...("rate" in limits ? { rate: rate === undefined ? undefined : { limit: rate.limit, intervalMillis } } : {}),
    })
  })

/** Queues that were paused or limited at some time, with their settings. */
export const list: Effect.Effect<ReadonlyArray<QueueRecord>, PersistenceFailed, Commands> = Effect.flatMap(
  Commands,
  (commands) => commands.queues,
)

const change = (queue: string, settings: Partial<QueueSettings>): Changed =>
  Effect.flatMap(Commands, (commands) =>
    Effect.tap(commands.configure(queue, settings), () => Effect.sync(() => commands.signal.announce(new Set([queue])))),
  )

const checkCount = (what: string, count: number) => {
  if (!Number.isSafeInteger(count) || count < 1) refuse(`${what} of ${count}`, "use a whole number from 1 on, or pause the queue")
}

const refuse = (problem: string, nextStep: string): never => {
  throw new DefinitionError({ problem: `a queue with ${problem}`, nextStep })
}
