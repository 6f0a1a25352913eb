/** What the engine counts: per flush, recovery, timer or refusal, never per event that is taken, so that no event pays for it. */
import type { Environment } from "@detent/machine/internal"
import type * as Context from "effect/Context"
import * as Metric from "effect/Metric"

/** Without a fiber: 0.25 µs, wherever it is. */
export const record = <Input>(metric: Metric.Metric<Input, unknown>, input: Input, environment: Environment) =>
  metric.updateUnsafe(input, environment.context as Context.Context<never>)

export const flushes = Metric.counter("detent_flushes_total", { description: "group commits written" })
export const commitsStored = Metric.counter("detent_commits_total", { description: "instance commits stored" })
export const eventsStored = Metric.counter("detent_events_total", { description: "events journaled" })
export const commitFailures = Metric.counter("detent_commit_failures_total", { description: "group commits the store failed at" })
export const flushMillis = Metric.histogram("detent_flush_milliseconds", {
  description: "how long the store took for a group commit",
  // Without an infinite one: what is above the last is in `+Inf` anyway, and two of those are no valid exposition.
  boundaries: Array.from({ length: 13 }, (_, power) => 2 ** power),
})
export const eventsRefused = Metric.counter("detent_events_refused_total", { description: "events that were refused" })
export const eventsRepeated = Metric.counter("detent_events_repeated_total", {
  description: "events sent again under their id, and answered from the journal",
})
export const instancesGivenUp = Metric.counter("detent_instances_given_up_total", {
  description: "instances that left memory because their position in the journal was unknown",
})
export const conflicts = Metric.counter("detent_conflicts_total", { description: "commits that met a newer sequence" })
export const recoveries = Metric.counter("detent_recoveries_total", { description: "instances brought back from the journal" })
export const instancesHeld = Metric.counter("detent_instances_held_total", {
  description: "instances held because an event no longer fits",
})
export const timersFired = Metric.counter("detent_timers_fired_total", { description: "timers that became events" })
export const timersStale = Metric.counter("detent_timers_stale_total", { description: "due timers whose state had been left" })
export const timersDead = Metric.counter("detent_timers_dead_total", { description: "timers given up" })
export const instancesLive = Metric.gauge("detent_instances_live", { description: "instances held in memory" })
