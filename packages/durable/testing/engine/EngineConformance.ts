/**
 * The rules of the engine, as vitest suites that run on any store. Titles carry the numbers of the rules.
 *
 *     engineConformance("SQLite", sqliteLayer)
 */
import type { StoreLayer } from "@detent/store/testing"
import { bulk } from "./bulk.ts"
import { closing } from "./closing.ts"
import { conflicting } from "./conflicting.ts"
import { crowds } from "./crowds.ts"
import { delayed } from "./delayed.ts"
import { deploying } from "./deploying.ts"
import { failures } from "./failing.ts"
import { following } from "./following.ts"
import { grouping } from "./grouping.ts"
import { groups } from "./groups.ts"
import { keeping } from "./keeping.ts"
import { leases } from "./leases.ts"
import { lifecycle } from "./lifecycle.ts"
import { locking } from "./locking.ts"
import { outages } from "./outages.ts"
import { overtaking } from "./overtaking.ts"
import { owning } from "./owning.ts"
import { placing } from "./placing.ts"
import { pruning } from "./pruning.ts"
import { type EngineKitOptions, makeKit } from "./Rig.ts"
import { raising } from "./raising.ts"
import { recovering } from "./recovering.ts"
import { refusing } from "./refusing.ts"
import { repairing } from "./repairing.ts"
import { replaying } from "./replaying.ts"
import { sending } from "./sending.ts"
import { surviving } from "./surviving.ts"
import { sweeping } from "./sweeping.ts"
import { timeouts } from "./timeouts.ts"
import { unserved } from "./unserved.ts"
import { versions } from "./versions.ts"

const topics = [
  sending,
  lifecycle,
  closing,
  bulk,
  failures,
  outages,
  timeouts,
  delayed,
  raising,
  crowds,
  recovering,
  replaying,
  pruning,
  conflicting,
  following,
  sweeping,
  overtaking,
  leases,
  locking,
  placing,
  owning,
  surviving,
  versions,
  deploying,
  repairing,
  refusing,
  unserved,
  keeping,
  grouping,
  groups,
]

export const engineConformance = <R = never>(name: string, store: StoreLayer<R>, options: EngineKitOptions = {}): void => {
  const kit = makeKit(name, store, options)
  for (const topic of topics) topic(kit)
}
