/** A thread with tasks that misbehave in all the ways a pool has to cope with. Counters are in memory that threads share. */
import { parentPort, threadId } from "node:worker_threads"
import { serve } from "../../src/threads/Serving.ts"

interface Counted {
  readonly counters: Int32Array
}

const busyFor = (millis: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, millis)

const seen = new WeakSet<object>()

if (parentPort !== null) {
  serve(parentPort, {
    double: (number: number) => number * 2,
    thread: () => threadId,
    /** Counts how many run at once, and the most that ever did. */
    together: ({ counters }: Counted) => {
      const now = Atomics.add(counters, 0, 1) + 1
      for (let most = Atomics.load(counters, 1); most < now; most = Atomics.load(counters, 1))
        Atomics.compareExchange(counters, 1, most, now)
      busyFor(30)
      Atomics.sub(counters, 0, 1)
    },
    fail: ({ counters }: Counted) => {
      Atomics.add(counters, 0, 1)
      throw new Error("no such luck")
    },
    /** Ends the thread the first so many times. */
    end: ({ counters, times }: Counted & { readonly times: number }) => {
      if (Atomics.add(counters, 0, 1) < times) process.exit(7)
      return "done"
    },
    forever: ({ counters }: Counted) => {
      for (;;) {
        Atomics.add(counters, 0, 1)
        busyFor(1)
      }
    },
    /** Whether this thread has been given this very object before. */
    shared: (_: undefined, value: object) => {
      const before = seen.has(value)
      seen.add(value)
      return { value, before }
    },
  })
}
