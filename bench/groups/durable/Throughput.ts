/** The writes per second of a contestant, with a number of concurrent writers, each of which awaits a write before its next. */
import type { Abilities } from "../../measure/Player.ts"

export interface Played {
  readonly done: number
  readonly millis: number
  /** CPU time of the contestant's process. */
  readonly cpuMicros: number
}

export interface Throughput extends Abilities {
  readonly play: (millis: number) => Promise<Played>
  /** Fails unless all counted writes, of all turns, are in the database. */
  readonly verify: () => Promise<void>
}

export interface ThroughputOptions {
  /** The address of a database of its own, or the path of a file. */
  readonly database: string
  readonly concurrency: number
}

/** The operations that a contestant implements. */
export interface Storing {
  /** Writes until `isOver`; returns the number of acknowledged writes. */
  readonly store: (isOver: () => boolean) => Promise<number>
  /** The number of writes in the database. */
  readonly count: () => Promise<number>
  readonly close: () => Promise<void>
}

export const throughputOf = ({ store, count, close }: Storing): Throughput & { readonly close: () => Promise<void> } => {
  let total = 0
  return {
    play: async (millis) => {
      const cpu = process.cpuUsage()
      const start = performance.now()
      const done = await store(() => performance.now() - start >= millis)
      const elapsed = performance.now() - start
      const { user, system } = process.cpuUsage(cpu)
      total += done
      return { done, millis: elapsed, cpuMicros: user + system }
    },
    verify: async () => {
      const stored = await count()
      if (stored !== total) throw new Error(`${total} were counted, ${stored} are stored`)
    },
    close,
  }
}

/** Runs concurrent loops and returns the sum of their results. */
export const sideBySide = async (count: number, loop: (index: number) => Promise<number>): Promise<number> =>
  (await Promise.all(Array.from({ length: count }, (_, index) => loop(index)))).reduce((sum, done) => sum + done, 0)
