/** What the engine counts. Everything is counted per flush or per recovery, never per event: nobody pays for it. */
import * as Metric from "effect/Metric"

export const flushes = Metric.counter("detent_flushes_total", { description: "group commits written" })
export const commitsStored = Metric.counter("detent_commits_total", { description: "instance commits stored" })
export const eventsStored = Metric.counter("detent_events_total", { description: "events journaled" })
export const commitFailures = Metric.counter("detent_commit_failures_total", { description: "group commits the store failed at" })
export const conflicts = Metric.counter("detent_conflicts_total", { description: "commits that met a newer sequence" })
export const recoveries = Metric.counter("detent_recoveries_total", { description: "instances brought back from the journal" })
export const instancesHeld = Metric.counter("detent_instances_held_total", {
  description: "instances held because an event no longer fits",
})
export const timersFired = Metric.counter("detent_timers_fired_total", { description: "timers that became events" })
export const timersStale = Metric.counter("detent_timers_stale_total", { description: "due timers whose state had been left" })
export const timersDead = Metric.counter("detent_timers_dead_total", { description: "timers given up" })
export const instancesLive = Metric.gauge("detent_instances_live", { description: "instances held in memory" })
