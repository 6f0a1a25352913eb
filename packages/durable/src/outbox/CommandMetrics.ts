/** The counters of commands. Each is updated after the store has recorded the change, once per batch, so that counters and table agree. */

import type { Verdict } from "@detent/store"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type { Ended } from "./Execution.ts"

const counter = (name: string, description: string) => Metric.counter(`detent_commands_${name}_total`, { description })

export const commandsCompleted = counter("completed", "commands executed with success")
export const commandsSkipped = counter("skipped", "commands that had been executed before")
export const commandsFailed = counter("failed", "commands that failed for good")
export const commandsHandled = counter("handled", "commands that failed as their slot declares, with an event that their instance took")
export const commandsRetried = counter("retried", "executions that failed and are tried again")
export const commandsReleased = counter("released", "claimed commands handed back")
export const commandsLost = counter("lost", "executions whose claim had been taken over: their result was not stored")
export const commandEventsRefused = counter("events_refused", "events that followed from a command and were refused by the instance")
export const commandStoreFailures = counter("store_failures", "times a worker could not reach the store")
export const commandsRunning = Metric.gauge("detent_commands_running", { description: "commands being executed by this process" })

const counters: { readonly [K in Verdict["_tag"]]: Metric.Counter<number> } = {
  Completed: commandsCompleted,
  Skipped: commandsSkipped,
  Failed: commandsFailed,
  Handled: commandsHandled,
  Retry: commandsRetried,
  Released: commandsReleased,
}

/** Counts the commands that the store has recorded. */
export const countEnded = (ended: ReadonlyArray<Ended>, refused: ReadonlyArray<number>): Effect.Effect<void> => {
  if (ended.length === 0) return Effect.void
  const lost = new Set(refused)
  const counts = new Map<Verdict["_tag"], number>()
  for (const { number, verdict } of ended) if (!lost.has(number)) counts.set(verdict._tag, (counts.get(verdict._tag) ?? 0) + 1)
  const counted = Effect.forEach(counts, ([tag, count]) => Metric.update(counters[tag], count), { discard: true })
  return lost.size === 0 ? counted : Effect.andThen(counted, Metric.update(commandsLost, lost.size))
}
