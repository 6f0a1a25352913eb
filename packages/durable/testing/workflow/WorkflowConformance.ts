/**
 * The rules of Effect workflows on the journal, as vitest suites that run on any store.
 *
 *     workflowConformance("SQLite", sqliteLayer)
 */
import type { StoreLayer } from "@detent/store/testing"
import { children } from "./children.ts"
import { closing } from "./closing.ts"
import { compensating } from "./compensating.ts"
import { completing } from "./completing.ts"
import { damage } from "./damage.ts"
import { failures } from "./failing.ts"
import { grouping } from "./grouping.ts"
import { interrupting } from "./interrupting.ts"
import { keeping } from "./keeping.ts"
import { nodes } from "./nodes.ts"
import { queueing } from "./queueing.ts"
import { makeKit, type WorkflowKitOptions } from "./Rig.ts"
import { restarting } from "./restarting.ts"
import { retrying } from "./retrying.ts"
import { running } from "./running.ts"
import { sleeping } from "./sleeping.ts"
import { suspending } from "./suspending.ts"

const topics = [
  running,
  retrying,
  sleeping,
  completing,
  children,
  interrupting,
  compensating,
  suspending,
  restarting,
  nodes,
  failures,
  damage,
  closing,
  grouping,
  keeping,
  queueing,
]

export const workflowConformance = <R = never>(name: string, store: StoreLayer<R>, options: WorkflowKitOptions = {}): void => {
  const kit = makeKit(name, store, options)
  for (const topic of topics) topic(kit)
}
