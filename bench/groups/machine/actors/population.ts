/** Creates many live orders of one contestant, given by its file, and prints their memory and time. Runs with --expose-gc. */
import { setImmediate } from "node:timers/promises"
import { median } from "../../../measure/Statistics.ts"
import { load, type SendingEntry } from "../Entry.ts"
import type { Order } from "../order/workload.ts"

interface Contestant {
  readonly sending: SendingEntry<Order>
  /** For a library whose users would create many at once. */
  readonly createMany?: (count: number) => ReadonlyArray<unknown>
}

const population = 10_000

const { sending, createMany }: Contestant = await load(`./order/${process.argv[2]}`)

const create = (count: number) => createMany?.(count) ?? Array.from({ length: count }, () => sending.create())

/** Collects garbage in several turns of the event loop: objects held by one turn are only free in the next. */
const collect = async () => {
  for (let time = 0; time < 3; time++) {
    await setImmediate()
    globalThis.gc?.()
  }
  return process.memoryUsage()
}

// Measured before any other population: a runtime may keep the one it created last, which would falsify the difference. The
// first ten create everything that is created once.
create(10)
const before = await collect()
const kept = create(population)
const after = await collect()

/** Nanoseconds of CPU time per actor of a population, which is then released. */
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
