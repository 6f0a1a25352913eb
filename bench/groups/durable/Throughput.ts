/** How much a contestant gets stored per second, with a number of things under way at once, each awaited before its next. */
import type { Abilities } from "../../measure/Player.ts"

export interface Played {
  readonly done: number
  readonly millis: number
  /** Of the contestant's own process. */
  readonly cpuMicros: number
}

export interface Throughput extends Abilities {
  readonly play: (millis: number) => Promise<Played>
  /** Fails unless all that was counted, in all turns, is in the database. */
  readonly verify: () => Promise<void>
}

export interface ThroughputOptions {
  /** Of a database of its own, or the path of a file. */
  readonly database: string
  readonly concurrency: number
}

/** What a contestant brings. */
export interface Storing {
  /** Continues until it is over; returns how much is stored for certain. */
  readonly store: (isOver: () => boolean) => Promise<number>
  /** How much the database has. */
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

/** So many loops side by side; the sum of what they return. */
export const sideBySide = async (count: number, loop: (index: number) => Promise<number>): Promise<number> =>
  (await Promise.all(Array.from({ length: count }, (_, index) => loop(index)))).reduce((sum, done) => sum + done, 0)
