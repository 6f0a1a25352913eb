/** A worker with tasks that misbehave in all the ways a pool has to cope with. They count in files, which processes share. */
import { appendFileSync, readFileSync } from "node:fs"
import { type TaskHandlers, UnsoundWorker } from "../src/Protocol.ts"
import { serve } from "../src/Serving.ts"

interface Counted {
  readonly file: string
}

const busyFor = (millis: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, millis)

const count = ({ file }: Counted, mark = "x") => {
  appendFileSync(file, mark)
  return readFileSync(file, "utf8").length
}

const seen = new WeakSet<object>()
let prepared: string | undefined

if (process.send !== undefined) {
  const tasks: TaskHandlers = {
    double: (number: number) => number * 2,
    worker: () => process.pid,
    environment: () => Object.keys(process.env),
    /** Marks when it begins and when it ends. */
    together: (counted: Counted) => {
      count(counted, "(")
      busyFor(30)
      count(counted, ")")
    },
    /** Waits until so many tasks have begun. */
    meet: (counted: Counted & { readonly others: number }) => {
      count(counted)
      while (readFileSync(counted.file, "utf8").length < counted.others) busyFor(2)
    },
    fail: (counted: Counted) => {
      count(counted)
      throw new Error("no such luck")
    },
    unsound: () => {
      throw new UnsoundWorker("its memory is a mess")
    },
    /** Ends the process the first so many times. */
    end: (counted: Counted & { readonly times: number }) => {
      if (count(counted) <= counted.times) process.exit(7)
      return "done"
    },
    forever: (counted: Counted) => {
      for (;;) {
        count(counted)
        busyFor(1)
      }
    },
    spin: () => {
      for (;;) Math.random()
    },
    /** Takes time without a processor. */
    rest: (millis: number) => {
      busyFor(millis)
      return "rested"
    },
    /** Memory that the heap of the engine knows nothing of. */
    buffers: (counted: Counted) => {
      count(counted)
      const held: Array<Buffer> = []
      for (;;) held.push(Buffer.alloc(1_000_000, 1))
    },
    heap: (counted: Counted) => {
      count(counted)
      const held: Array<ReadonlyArray<number>> = []
      for (;;) held.push(Array.from({ length: 1000 }, (_, at) => at + held.length))
    },
    /** Whether this worker has been given this very object before. */
    shared: (_: undefined, __: unknown, value: object) => {
      const before = seen.has(value)
      seen.add(value)
      return { value, before }
    },
    /** Prepares something that takes long, unless it is there. */
    prepare: async (name: string, channel) => {
      const before = prepared === name
      if (!before) for await (const _pieces of channel.source("large")) prepared = name
      return before
    },
    /** Reads numbers twice, and gives each with the sum of all. */
    sums: async (_: undefined, channel) => {
      let sum = 0
      for await (const pieces of channel.source("numbers")) for (const number of pieces) sum += Number(number)
      for await (const pieces of channel.source("numbers")) await channel.emit(pieces.map((number) => [number, sum]))
      return sum
    },
  }
  serve((name) => tasks[name])
}
