/** A queue in which small groups wait beside a large one. */
import type { Abilities } from "../../measure/Player.ts"

export interface Fairness extends Abilities {
  /** Enqueues this many commands of one group, which wait and are executed from now on. */
  readonly large: (count: number) => Promise<void>
  /** Enqueues ten commands of each of 100 groups, and waits until all have started, or for so long. */
  readonly small: (patienceMillis: number) => Promise<Waits>
}

export interface Waits {
  /** From the call that enqueues to the start of the execution. */
  readonly p99Millis: number
  /** Commands that have not started. */
  readonly missing: number
}

export interface Small {
  readonly group: string
  readonly number: number
}

export const concurrency = 16

/** What a command does: nothing, for a while. */
export const work = () => new Promise<void>((resolve) => setTimeout(resolve, 5))

/** The operations that a queue implements. */
export interface Queueing {
  readonly fillLarge: (count: number) => Promise<unknown>
  readonly enqueueSmall: (all: ReadonlyArray<Small>) => Promise<unknown>
  readonly close: () => Promise<void>
}

/** `make` gets the function that a command of a small group calls when it starts. */
export const fairnessOf = async (
  make: (started: (number: number) => void) => Promise<Queueing>,
): Promise<Fairness & { readonly close: () => Promise<void> }> => {
  const starts = new Map<number, number>()
  let numbers = 0
  const queueing = await make((number) => {
    if (!starts.has(number)) starts.set(number, performance.now())
  })
  return {
    large: async (count) => {
      await queueing.fillLarge(count)
      await new Promise((resolve) => setTimeout(resolve, 1000))
    },
    small: async (patienceMillis) => {
      const all = Array.from({ length: 1000 }, (_, index): Small => ({ group: `small-${index % 100}`, number: numbers++ }))
      const began = performance.now()
      await queueing.enqueueSmall(all)
      const isMissing = ({ number }: Small) => !starts.has(number)
      while (all.some(isMissing) && performance.now() - began < patienceMillis) await new Promise((resolve) => setTimeout(resolve, 5))
      const waits = all.map(({ number }) => (starts.get(number) ?? performance.now()) - began).sort((a, b) => a - b)
      return { p99Millis: waits[Math.ceil(waits.length * 0.99) - 1] ?? Number.NaN, missing: all.filter(isMissing).length }
    },
    close: queueing.close,
  }
}
