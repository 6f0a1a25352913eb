/**
 * What every engine of the group does, each in a process of its own: workflows of ten steps, signals to waiting workflows, sleeping
 * workflows that are due at once. All user code runs in steps of the workflow, because that is where it runs in all of them.
 */
import type { Abilities } from "../../measure/Player.ts"

export const stepCount = 10

export interface Peer extends Abilities {
  /** Concurrent callers, each of which runs one workflow of ten steps after the other and waits for its result. */
  readonly steps: (concurrency: number, millis: number) => Promise<Ran>
  /** With this many workflows that wait, signals one after the other; milliseconds from the signal to the step after the wait. */
  readonly signals: (waiting: number) => Promise<ReadonlyArray<number>>
  /** Lets this many workflows sleep until the same time, when all have started; milliseconds from it to the step after the sleep. */
  readonly sleepers: (count: number) => Promise<Slept>
  /** Fails unless every workflow has completed, and its steps have run exactly as often as the workflow has steps. */
  readonly verify: () => Promise<Verified>
}

export interface Ran {
  readonly done: number
  readonly millis: number
  /** CPU time of the process that runs the workflows. */
  readonly cpuMicros: number
  /** CPU time of a server of the engine's own. */
  readonly serverMicros: number
}

export interface Slept {
  readonly median: number
  readonly p99: number
  readonly last: number
  readonly early: number
}

export interface Verified {
  readonly completed: number
  /** Steps that ran more than once: an engine may repeat a step whose result was not stored. */
  readonly repeatedSteps: number
}

/** The user code of the workflows. `step` is called by every step, with the id of its workflow. */
export interface UserCode {
  readonly step: (id: string, index: number) => void
}

/** The operations that an engine implements. */
export interface Running {
  /** Runs a workflow of ten steps, `step(id, 0)` to `step(id, 9)`, and waits for its result. */
  readonly run: (id: string) => Promise<unknown>
  /** Starts a workflow that waits for a signal and then runs `step(id, 0)`. Returns when it can be signalled. */
  readonly wait: (id: string) => Promise<unknown>
  readonly signal: (id: string) => Promise<unknown>
  /** Starts a workflow that sleeps until a time and then runs `step(id, 0)`. Returns when it is stored. */
  readonly sleep: (id: string, due: number) => Promise<unknown>
  /** How many workflows its database has as completed. */
  readonly completed: () => Promise<number>
  readonly serverMicros?: () => number
  readonly close: () => Promise<void>
}

/** After this many milliseconds without an end, a measurement fails. */
const patience = 120_000

/** How often workflows are put to sleep until all of them are started before they are due. */
const attempts = 4

export const peerOf = async (make: (code: UserCode) => Promise<Running>): Promise<Peer & { readonly close: () => Promise<void> }> => {
  const runs = new Map<string, Uint8Array>()
  const awaited = new Map<string, () => void>()
  const running = await make({
    step: (id, index) => {
      const counts = runs.get(id) ?? new Uint8Array(stepCount)
      counts[index] = (counts[index] ?? 0) + 1
      runs.set(id, counts)
      awaited.get(id)?.()
      awaited.delete(id)
    },
  })
  const expected = new Map<string, number>()
  let numbers = 0
  // How long it took to start a sleeping workflow, the last time.
  let startMillis = 10
  const newId = (kind: string, steps: number) => {
    const id = `${kind}-${numbers++}`
    expected.set(id, steps)
    return id
  }
  const serverMicros = running.serverMicros ?? (() => 0)
  return {
    steps: async (concurrency, millis) => {
      let done = 0
      const cpu = process.cpuUsage()
      const server = serverMicros()
      const start = performance.now()
      const loop = async () => {
        do {
          await running.run(newId("steps", stepCount))
          done++
        } while (performance.now() - start < millis)
      }
      await Promise.all(Array.from({ length: concurrency }, loop))
      const elapsed = performance.now() - start
      const { user, system } = process.cpuUsage(cpu)
      return { done, millis: elapsed, cpuMicros: user + system, serverMicros: serverMicros() - server }
    },
    signals: async (waiting) => {
      const ids = Array.from({ length: waiting }, () => newId("signal", 1))
      await inParallel(ids, 50, running.wait)
      // Most have begun to wait by then. An engine keeps a signal that comes earlier.
      await pause(1000)
      const latencies: Array<number> = []
      for (const id of ids) {
        const continued = new Promise<void>((resolve) => awaited.set(id, resolve))
        const start = performance.now()
        const after = withinPatience(continued, `${id} did not continue`).then(() => latencies.push(performance.now() - start))
        await Promise.all([running.signal(id), after])
      }
      return latencies
    },
    sleepers: async (count) => {
      for (let attempt = 1; ; attempt++) {
        const due = Date.now() + 1500 + 1.5 * count * startMillis
        const ids = Array.from({ length: count }, () => newId("sleep", 1))
        const late: Array<number> = []
        const all = Promise.all(
          ids.map((id) => new Promise<void>((resolve) => awaited.set(id, resolve)).then(() => late.push(Date.now() - due))),
        )
        const start = performance.now()
        await inParallel(ids, 50, (id) => running.sleep(id, due))
        startMillis = (performance.now() - start) / count
        const isStartedInTime = Date.now() < due
        await withinPatience(all, "a workflow did not wake")
        if (!isStartedInTime && attempt < attempts) continue
        if (!isStartedInTime) throw new Error(`starting ${count} workflows took longer than the time until they were due`)
        late.sort((a, b) => a - b)
        const at = (share: number) => late[Math.ceil(late.length * share) - 1] ?? Number.NaN
        return { median: at(0.5), p99: at(0.99), last: at(1), early: late.filter((millis) => millis < 0).length }
      }
    },
    verify: async () => {
      let repeatedSteps = 0
      for (const [id, steps] of expected) {
        const counts = runs.get(id)?.subarray(0, steps) ?? new Uint8Array(0)
        if (counts.length !== steps || counts.some((count) => count === 0)) throw new Error(`${id} has steps that never ran`)
        repeatedSteps += counts.reduce((sum, count) => sum + count - 1, 0)
      }
      // The last workflows end a moment after their last step.
      const until = Date.now() + 10_000
      let completed = await running.completed()
      while (completed !== expected.size && Date.now() < until) {
        await pause(100)
        completed = await running.completed()
      }
      if (completed !== expected.size) throw new Error(`${expected.size} workflows were started, ${completed} have completed`)
      return { completed, repeatedSteps }
    },
    close: running.close,
  }
}

const inParallel = async (ids: ReadonlyArray<string>, width: number, start: (id: string) => Promise<unknown>): Promise<void> => {
  let next = 0
  const loop = async () => {
    for (let id = ids[next++]; id !== undefined; id = ids[next++]) await start(id)
  }
  await Promise.all(Array.from({ length: width }, loop))
}

const pause = (millis: number) => new Promise<void>((resolve) => setTimeout(resolve, millis))

const withinPatience = async (promise: Promise<unknown>, problem: string): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${problem} within ${patience} ms`)), patience)
  })
  try {
    await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
