/** Creates many live orders of one contestant, named by its file, and prints what they take. Runs with --expose-gc. */
import { setImmediate } from "node:timers/promises"
import { median } from "../../../measure/Statistics.ts"
import { load, type SendingEntry } from "../Entry.ts"
import type { Order } from "../order/workload.ts"

interface Contestant {
  readonly sending: SendingEntry<Order>
  /** For a library whose users would create many in one go. */
  readonly createMany?: (count: number) => ReadonlyArray<unknown>
}

const population = 10_000

const { sending, createMany }: Contestant = await load(`./order/${process.argv[2]}`)

const create = (count: number) => createMany?.(count) ?? Array.from({ length: count }, () => sending.create())

/** In several turns of the event loop: what the last one still held on to is only free in the next. */
const collect = async () => {
  for (let time = 0; time < 3; time++) {
    await setImmediate()
    globalThis.gc?.()
  }
  return process.memoryUsage()
}

// Before any other population: a runtime may hold on to the one it made last, which would then be missing here. The few
// of the first load what is made once.
create(10)
const before = await collect()
const kept = create(population)
const after = await collect()

/** Nanoseconds of CPU time for one of a population, which is let go of again. */
const timeCreation = () => {
  globalThis.gc?.()
  const start = process.cpuUsage()
  const all = create(population)
  const { user, system } = process.cpuUsage(start)
  return ((user + system) * 1000) / all.length
}

const warmUp = 5
const creations = Array.from({ length: warmUp + 5 }, timeCreation).slice(warmUp)

console.log(
  JSON.stringify({
    heapBytes: (after.heapUsed - before.heapUsed) / kept.length,
    externalBytes: (after.external - before.external) / kept.length,
    createNanoseconds: median(creations),
  }),
)
