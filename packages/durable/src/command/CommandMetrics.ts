/** What is counted of commands. Each is counted when the table has it, so that counters and table agree; per batch, not per command. */
import * as Metric from "effect/Metric"

const counter = (name: string, description: string) => Metric.counter(`detent_commands_${name}_total`, { description })

export const commandsEnqueued = counter("enqueued", "commands stored")
export const commandsCompleted = counter("completed", "commands executed with success")
export const commandsSkipped = counter("skipped", "commands that had been executed before")
export const commandsFailed = counter("failed", "commands that failed for good")
export const commandsRetried = counter("retried", "executions that failed and are tried again")
export const commandsReleased = counter("released", "claimed commands handed back")
export const commandsLost = counter("lost", "executions whose claim had been taken over: what became of them was not stored")
export const commandEventsRefused = counter("events_refused", "events that followed from a command and were refused by the instance")
export const commandStoreFailures = counter("store_failures", "times a worker could not reach the store")
export const commandsRunning = Metric.gauge("detent_commands_running", { description: "commands being executed by this process" })
