/** Kills workers one after the other under load, and proves from the tables that nothing went wrong. */
import { setTimeout as sleep } from "node:timers/promises"
import { Chance } from "../simulation/Chance.ts"
import { machinesAt } from "../simulation/Machines.ts"
import { type Evidence, type Proof, prove, quiescence } from "./Invariants.ts"
import { Load } from "./Load.ts"
import type { StoreAddress } from "./Protocol.ts"
import { pace } from "./Run.ts"
import { WorkerProcess } from "./WorkerProcess.ts"

export interface Killed extends Proof {
  readonly kills: number
  readonly accepted: number
}

/** How many events each process has accepted before it is killed, however slow the machine is. */
export const eventsPerLife = 5

export const killRepeatedly = async (store: StoreAddress, kills: number, seed: number): Promise<Killed> => {
  const chance = new Chance(seed)
  const machines = machinesAt(pace)
  let worker: WorkerProcess | undefined
  const load = new Load({
    machines,
    clients: 16,
    withoutId: 0.2,
    chance,
    worker: () => (worker?.isOpen ? worker : undefined),
  })
  const open = (process: WorkerProcess, name: string) => process.open({ store, node: name, pace })
  // The next one has loaded its modules by the time it is needed: most of a restart is that.
  let next = new WorkerProcess()
  load.begin()
  for (let kill = 0; kill < kills; kill++) {
    worker = await open(next, `worker-${kill}`)
    next = new WorkerProcess()
    await load.progress(eventsPerLife)
    await sleep(chance.between(5, 150))
    await worker.kill()
  }
  const last = await open(next, "last")
  worker = last
  await load.progress()
  await load.end()
  const evidence: Evidence = { store, machines, sent: load.sent }
  await quiescence(evidence)
  const fresh = await open(new WorkerProcess(), "fresh")
  const proof = await prove(evidence, last, fresh)
  await last.stop()
  await fresh.stop()
  return { ...proof, kills, accepted: load.accepted }
}
