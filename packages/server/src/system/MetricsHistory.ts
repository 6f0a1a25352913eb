/** The metrics of this process over the last hour, in steps of five seconds, for plots. They are kept in memory only. */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { forkLoop } from "@detent/durable"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"

export const stepMillis = 5000

/** One hour. */
const mostSteps = 720

/** The most series: each takes 6 kB. Further metrics are omitted. */
const mostSeries = 200

/** `rate`: per second. `mean`: of the observations in the step. `value`: the value at the end of the step. */
export type SeriesKind = "rate" | "mean" | "value"

export interface Series {
  readonly name: string
  readonly kind: SeriesKind
  readonly description: string
  /** One value per step; null without observations. */
  readonly values: ReadonlyArray<number | null>
}

export interface History {
  readonly stepMillis: number
  /** The end of each step. */
  readonly at: ReadonlyArray<number>
  readonly series: ReadonlyArray<Series>
}

/** A reading of a metric: a total, or for a mean the number of observations and their sum. */
interface Reading {
  readonly kind: SeriesKind
  readonly description: string
  readonly count: number
  readonly sum: number
}

interface Kept {
  readonly kind: SeriesKind
  readonly description: string
  last: Reading
  readonly values: Array<number | null>
}

/** Takes one reading of all metrics at each step, and keeps the differences. */
export class MetricSeries {
  readonly #at: Array<number> = []
  readonly #series = new Map<string, Kept>()

  add(at: number, readings: ReadonlyMap<string, Reading>) {
    const seconds = Math.max(1, at - (this.#at.at(-1) ?? at - stepMillis)) / 1000
    for (const [name, reading] of readings) {
      const known = this.#series.get(name)
      if (known === undefined && this.#series.size >= mostSeries) continue
      const { kind, description } = reading
      const kept = known ?? { kind, description, last: reading, values: this.#at.map(() => null) }
      kept.values.push(known === undefined && kind !== "value" ? null : valueOf(kept.last, reading, seconds))
      kept.last = reading
      this.#series.set(name, kept)
    }
    this.#at.push(at)
    for (const { values } of this.#series.values()) {
      if (values.length < this.#at.length) values.push(null)
      if (values.length > mostSteps) values.shift()
    }
    if (this.#at.length > mostSteps) this.#at.shift()
  }

  /** The steps that ended after a time. */
  since(time: number): History {
    const first = this.#at.findIndex((at) => at > time)
    const from = first < 0 ? this.#at.length : first
    const series = [...this.#series].map(([name, { kind, description, values }]) => ({
      name,
      kind,
      description,
      values: values.slice(from),
    }))
    return { stepMillis, at: this.#at.slice(from), series: series.sort((one, other) => (one.name < other.name ? -1 : 1)) }
  }
}

const valueOf = (last: Reading, { kind, count, sum }: Reading, seconds: number): number | null => {
  switch (kind) {
    case "value":
      return sum
    case "rate":
      return Math.max(0, sum - last.sum) / seconds
    case "mean":
      return count > last.count ? (sum - last.sum) / (count - last.count) : null
  }
}

/** Sums up counters with attributes. Omits gauges with attributes: they are measured at each scrape only. */
const readingsOf = (snapshots: ReadonlyArray<Metric.Metric.Snapshot>): Map<string, Reading> => {
  const readings = new Map<string, Reading>()
  const add = (name: string, kind: SeriesKind, description: string, count: number, sum: number) => {
    const known = readings.get(name)
    readings.set(name, { kind, description, count: count + (known?.count ?? 0), sum: sum + (known?.sum ?? 0) })
  }
  for (const { id, type, description = "", attributes, state } of snapshots) {
    if (!id.startsWith("detent_")) continue
    if (type === "Counter") add(id, "rate", description, 1, Number(state.count))
    else if (type === "Histogram") add(id, "mean", description, state.count, state.sum)
    else if (type === "Gauge" && Object.keys(attributes ?? {}).length === 0) add(id, "value", description, 1, Number(state.value))
  }
  return readings
}

export class MetricsHistory extends Context.Service<MetricsHistory, MetricSeries>()("@detent/server/MetricsHistory") {
  static readonly layer = Layer.effect(
    MetricsHistory,
    Effect.gen(function* () {
      const series = new MetricSeries()
      const delay = yield* Effect.acquireRelease(
        Effect.sync(() => {
          const histogram = monitorEventLoopDelay({ resolution: 20 })
          histogram.enable()
          return histogram
        }),
        (histogram) => Effect.sync(() => histogram.disable()),
      )
      const step = Effect.gen(function* () {
        const readings = readingsOf(yield* Metric.snapshot)
        const value = (description: string, sum: number): Reading => ({ kind: "value", description, count: 1, sum })
        readings.set("detent_resident_bytes", value("memory of the process", process.memoryUsage.rss()))
        readings.set(
          "detent_event_loop_delay_ms",
          value("delay of the event loop, 99th percentile, in milliseconds", delay.percentile(99) / 1e6),
        )
        delay.reset()
        series.add(yield* Clock.currentTimeMillis, readings)
      })
      yield* forkLoop("the history of metrics", Effect.andThen(step, Effect.sleep(stepMillis)))
      return series
    }),
  )
}
