/** A queue of jobs: callers enqueue them one at a time while workers of the same process execute them. */
import type { Abilities } from "../../measure/Player.ts"

export interface Queue extends Abilities {
  /** Enqueues this many jobs; milliseconds until the last is enqueued, and until the database has all of them as done. */
  readonly jobs: (count: number, callers: number) => Promise<Worked>
}

export interface Worked {
  readonly enqueuedMillis: number
  readonly doneMillis: number
  /** CPU time of the process. */
  readonly cpuMicros: number
  readonly repeated: number
}

/** The operations that a queue implements. `executed` is the user code of a job. */
export interface Queueing {
  readonly enqueue: (number: number, payload: string) => Promise<unknown>
  /** How many jobs its database has that are not done. */
  readonly unfinished: () => Promise<number>
  readonly close: () => Promise<void>
}

const payload = "x".repeat(180)

/** After this many milliseconds without an end, the measurement fails. */
const patience = 120_000

export const queueOf = async (
  make: (executed: (number: number) => void) => Promise<Queueing>,
): Promise<Queue & { readonly close: () => Promise<void> }> => {
  let left = new Set<number>()
  let repeated = 0
  let numbers = 0
  const queueing = await make((number) => {
    if (!left.delete(number)) repeated++
  })
  return {
    jobs: async (count, callers) => {
      const mine = Array.from({ length: count }, () => numbers++)
      left = new Set(mine)
      repeated = 0
      const cpu = process.cpuUsage()
      const start = performance.now()
      let next = 0
      const call = async () => {
        for (let number = mine[next++]; number !== undefined; number = mine[next++]) await queueing.enqueue(number, payload)
      }
      await Promise.all(Array.from({ length: callers }, call))
      const enqueuedMillis = performance.now() - start
      while (left.size > 0 || (await queueing.unfinished()) > 0) {
        if (performance.now() - start > patience) throw new Error(`${left.size} of ${count} jobs were not executed within ${patience} ms`)
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
      const { user, system } = process.cpuUsage(cpu)
      return { enqueuedMillis, doneMillis: performance.now() - start, cpuMicros: user + system, repeated }
    },
    close: queueing.close,
  }
}
