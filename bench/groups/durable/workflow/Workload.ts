/** Workflows of ten steps that do nothing: this measures the cost of making each step durable. */
import type { Abilities } from "../../../measure/Player.ts"
import type { Played } from "../Throughput.ts"

export const stepCount = 10

export interface Workflows extends Abilities {
  /** Concurrent callers, each of which runs one workflow after the other until the time is over. */
  readonly play: (concurrency: number, millis: number) => Promise<Played>
  /** Fails unless the steps of all counted workflows are in the database. */
  readonly verify: () => Promise<void>
}

/** The operations that a contestant implements. */
export interface Running {
  /** Runs a workflow of that id to its end. */
  readonly run: (id: string) => Promise<unknown>
  /** How many steps the database has. */
  readonly count: () => Promise<number>
  readonly close: () => Promise<void>
}

export const workflowsOf = ({ run, count, close }: Running): Workflows & { readonly close: () => Promise<void> } => {
  let started = 0
  return {
    play: async (concurrency, millis) => {
      const before = started
      const cpu = process.cpuUsage()
      const start = performance.now()
      const loop = async () => {
        do await run(`workflow-${started++}`)
        while (performance.now() - start < millis)
      }
      await Promise.all(Array.from({ length: concurrency }, loop))
      const elapsed = performance.now() - start
      const { user, system } = process.cpuUsage(cpu)
      return { done: started - before, millis: elapsed, cpuMicros: user + system }
    },
    verify: async () => {
      const stored = await count()
      if (stored !== started * stepCount) throw new Error(`${started * stepCount} steps were counted, ${stored} are stored`)
    },
    close,
  }
}
