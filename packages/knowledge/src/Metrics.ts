/** The counters and histograms of this process about batches, and how a duration is measured. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"

export const counter = (name: string, description: string) => Metric.counter(`detent_${name}_total`, { description, incremental: true })

/** From 16 milliseconds to four and a half hours, each twice the one before. */
const boundaries = Array.from({ length: 21 }, (_, power) => 16 * 2 ** power)

export const histogram = (name: string, description: string) => Metric.histogram(`detent_${name}_milliseconds`, { description, boundaries })

type Attributes = Readonly<Record<string, string>>

export const add = (metric: Metric.Metric<number, unknown>, attributes: Attributes, amount: number): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(metric, attributes), amount)

type Outcome = "success" | "failure" | "interrupt"

export const timed = <A, E, R>(
  work: Effect.Effect<A, E, R>,
  record: (outcome: Outcome, millis: number) => Effect.Effect<void>,
): Effect.Effect<A, E, R> =>
  Effect.flatMap(Clock.currentTimeMillis, (startedAt) =>
    Effect.onExit(work, (exit) =>
      Effect.flatMap(Clock.currentTimeMillis, (endedAt) => record(outcomeOf(exit), Math.max(0, endedAt - startedAt))),
    ),
  )

const outcomeOf = (exit: Exit.Exit<unknown, unknown>): Outcome => {
  if (Exit.isSuccess(exit)) return "success"
  return Exit.hasInterrupts(exit) ? "interrupt" : "failure"
}
