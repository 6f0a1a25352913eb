/** Load on workers while something happens to them or to their store, and the proof from the tables afterwards. */
import type { ForkOptions } from "node:child_process"
import { Chance } from "../simulation/Chance.ts"
import { machinesAt } from "../simulation/Machines.ts"
import { type Evidence, type Proof, prove, quiescence } from "./Invariants.ts"
import { Load } from "./Load.ts"
import type { Opening, StoreAddress } from "./Protocol.ts"
import { WorkerProcess } from "./WorkerProcess.ts"

/** Deadlines of a few hundred milliseconds. */
export const pace = 0.1

export interface RunOptions {
  readonly store: StoreAddress
  /** How the workers reach the store, where they do so another way. */
  readonly through?: StoreAddress
  readonly workers?: number
  readonly worker?: Partial<Omit<Opening, "_tag" | "store">>
  /** What is special about one of the workers, by its number. */
  readonly each?: (index: number) => Partial<Omit<Opening, "_tag" | "store">> & { readonly store?: StoreAddress }
  /** Where each worker runs. */
  readonly process?: (index: number) => ForkOptions
  readonly seed?: number
  /** The process that reads all instances in the end. */
  readonly fresh?: Partial<Omit<Opening, "_tag" | "store" | "node">>
  readonly clients?: number
  readonly clocksJump?: boolean
}

export interface Running {
  readonly load: Load
  readonly workers: ReadonlyArray<WorkerProcess>
  /** Starts a worker in the place of another that has ended. */
  readonly replace: (index: number) => Promise<WorkerProcess>
  /** The workers that take new requests. Default: all. */
  readonly ask: (workers: ReadonlyArray<WorkerProcess>) => void
}

export interface Ran extends Proof {
  readonly accepted: number
  readonly failures: ReadonlyArray<string>
}

export const underLoad = async (options: RunOptions, happens: (running: Running) => Promise<void>): Promise<Ran> => {
  const machines = machinesAt(pace)
  const chance = new Chance(options.seed ?? 1)
  const opening = { store: options.through ?? options.store, pace, ...options.worker }
  const launch = (index: number) => new WorkerProcess(options.process?.(index))
  const started = Array.from({ length: options.workers ?? 1 }, (_, index) => launch(index))
  const open = (worker: WorkerProcess, index: number) => worker.open({ node: `worker-${index}`, ...opening, ...options.each?.(index) })
  const workers = await Promise.all(started.map(open))
  let asked: ReadonlyArray<WorkerProcess> = workers
  const load = new Load({
    machines,
    clients: options.clients ?? 12,
    withoutId: 0.3,
    chance,
    worker: () => {
      const up = asked.filter((worker) => worker.isOpen)
      return up.length === 0 ? undefined : chance.pick(up)
    },
  })
  load.begin()
  try {
    await load.progress()
    await happens({
      load,
      workers,
      replace: async (index) => {
        workers[index] = launch(index)
        return open(workers[index], index)
      },
      ask: (some) => {
        asked = some
      },
    })
    await load.progress()
    await load.end()
    const clocksJump = options.clocksJump ?? false
    const evidence: Evidence = { store: options.store, machines, sent: load.sent, clocksJump }
    await quiescence(evidence)
    const fresh = await new WorkerProcess().open({ store: options.store, pace, ...options.fresh, node: "fresh" })
    // Of several that share a store none need know what the others wrote last.
    const proof = await prove(evidence, workers.length === 1 ? workers[0] : undefined, fresh)
    await fresh.stop()
    return { ...proof, accepted: load.accepted, failures: load.failures }
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()))
  }
}
