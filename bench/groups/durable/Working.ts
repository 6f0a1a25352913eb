/** The measurements of a queue of commands or jobs. */
import type { Abilities } from "../../measure/Player.ts"

export interface Worked {
  readonly millis: number
  /** CPU time of the contestant's process. */
  readonly cpuMicros: number
}

export interface Working extends Abilities {
  /** Fills its queue with this many jobs, in any way. Not measured. */
  readonly fill: (count: number) => Promise<void>
  /** Executes the backlog, until the database shows that all are done. */
  readonly work: (count: number) => Promise<Worked>
  /** Enqueues one at a time with a worker waiting; milliseconds from the call to the start of each. */
  readonly start: (count: number, pauseMillis: number) => Promise<ReadonlyArray<number>>
}

/** The operations that a contestant implements. */
export interface WorkingParts {
  readonly fill: (count: number) => Promise<void>
  /** Starts a worker that calls back for every execution; returns the function that stops it. */
  readonly begin: (mode: "throughput" | "latency", executed: () => void) => Promise<() => Promise<void>>
  readonly enqueue: () => Promise<unknown>
  /** The number of unfinished jobs in the database. */
  readonly left: () => Promise<number>
  readonly close: () => Promise<void>
}

/** After this many milliseconds the measurement fails. */
const patience = 60_000

export const workingOf = ({ fill, begin, enqueue, left, close }: WorkingParts): Working & { readonly close: () => Promise<void> } => ({
  fill,
  work: async (count) => {
    let executed = 0
    let allExecuted = () => undefined as void
    const all = new Promise<void>((resolve) => {
      allExecuted = resolve
    })
    const cpu = process.cpuUsage()
    const start = performance.now()
    const stop = await begin("throughput", () => {
      if (++executed === count) allExecuted()
    })
    await withinPatience(all)
    while ((await left()) > 0) await sleep(1)
    const millis = performance.now() - start
    const { user, system } = process.cpuUsage(cpu)
    await stop()
    if (executed !== count) throw new Error(`${count} were enqueued, ${executed} executed`)
    return { millis, cpuMicros: user + system }
  },
  start: async (count, pauseMillis) => {
    let started = () => undefined as void
    const stop = await begin("latency", () => started())
    await sleep(200)
    const latencies: Array<number> = []
    for (let index = 0; index < count; index++) {
      const begun = new Promise<void>((resolve) => {
        started = resolve
      })
      const from = performance.now()
      const enqueued = enqueue()
      await withinPatience(begun)
      latencies.push(performance.now() - from)
      await enqueued
      await sleep(pauseMillis)
    }
    await stop()
    return latencies
  },
  close,
})

const withinPatience = async (promise: Promise<void>) => {
  const isOver = await Promise.race([promise.then(() => true), sleep(patience).then(() => false)])
  if (!isOver) throw new Error(`no progress within ${patience} ms`)
}

const sleep = (millis: number) => new Promise<void>((resolve) => setTimeout(resolve, millis).unref())
