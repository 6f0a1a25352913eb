/** The data of the memory store: the same as the tables of the other stores. */

import type { GroupLimits, QueueSettings } from "../contract/Commands.ts"
import type { EventRecord, Fence, InstanceKey, Json, SnapshotRecord, TimerRecord } from "../contract/Commit.ts"
import { instanceName } from "../contract/CommitCheck.ts"
import type { DatabaseId } from "../contract/DatabaseId.ts"
import type { InstanceRecord } from "../contract/Journal.ts"
import type { Lease } from "../contract/Leases.ts"
import { type Start, unlimited } from "../contract/QueueLimits.ts"
import type { IndexFill } from "../contract/Search.ts"
import type { StoredCommand } from "../contract/StoredCommand.ts"

export interface StoredTimer extends TimerRecord {
  readonly owner: string | undefined
  readonly until: number
  /** The lease of the node that claimed it. */
  readonly fence: Fence | undefined
  readonly attempts: number
  /** Why it was given up, if it was. */
  readonly problem: string | undefined
}

export interface StoredInstance {
  record: InstanceRecord
  origin: Json | undefined
  events: Array<EventRecord>
  snapshot: SnapshotRecord | undefined
  readonly timers: Map<string, StoredTimer>
  /** The sequence each dedupe id was journaled at. */
  readonly dedupe: Map<string, number>
}

type Mutable<A> = { -readonly [K in keyof A]: A[K] }

/** `machine` and `id` identify the instance that it belongs to. */
export interface MemoryCommand extends Mutable<Omit<StoredCommand, "instance">> {
  readonly machine: string | undefined
  readonly id: string | undefined
  /** It is not due yet: it was enqueued with a delay, or waits for its next attempt. */
  waits: boolean
  /** How often it was claimed. */
  claims: number
  /** Until it is claimed. */
  pendingKey: string | undefined
}

export interface MemoryGroup {
  own: GroupLimits | undefined
  starts: ReadonlyArray<Start>
}

export interface MemoryQueue {
  settings: QueueSettings
  starts: ReadonlyArray<Start>
  /** The last group that had a turn. */
  turn: string
  /** Those with limits of their own, or with starts that a rate counts. */
  readonly groups: Map<string, MemoryGroup>
}

export interface MemoryState {
  readonly databaseId: DatabaseId
  readonly instances: Map<string, StoredInstance>
  /** By queue and key, as {@link commandName} joins them; in the order they were stored. */
  readonly commands: Map<string, MemoryCommand>
  /** Those that are pending or processing, by number. */
  readonly openCommands: Map<number, MemoryCommand>
  readonly queues: Map<string, MemoryQueue>
  readonly numbers: { lastCommand: number }
  /** Kept after they have ended: their tokens must keep growing. */
  readonly leases: Map<string, Lease>
  /** By machine. */
  readonly indexFills: Map<string, IndexFill>
  /** Called for every instance that is written to. */
  readonly watchers: Set<(key: InstanceKey) => void>
}

export const emptyState = (databaseId: DatabaseId): MemoryState => ({
  databaseId,
  instances: new Map(),
  commands: new Map(),
  openCommands: new Map(),
  queues: new Map(),
  numbers: { lastCommand: 0 },
  leases: new Map(),
  indexFills: new Map(),
  watchers: new Set(),
})

export const findInstance = (state: MemoryState, key: InstanceKey): StoredInstance | undefined => state.instances.get(instanceName(key))

/** Whether the instance was started at the `startedAt` of the key. True where the key has none. */
export const isOfLife = (instance: StoredInstance | undefined, { startedAt }: { readonly startedAt?: number | undefined }): boolean =>
  startedAt === undefined || instance?.record.startedAt === startedAt

/** Whether the journal has the `revision` of the key. True where the key has no `startedAt`. */
export const isOfRevision = (
  { record }: StoredInstance,
  { startedAt, revision = 0 }: { readonly startedAt?: number | undefined; readonly revision?: number | undefined },
): boolean => startedAt === undefined || (record.revision ?? 0) === revision

/** Keys are unique within their queue. */
export const commandName = ({ queue, key }: { readonly queue: string; readonly key: string }): string => `${queue}\u0000${key}`

/** The queue; one without limits where it had no settings. */
export const queueIn = (state: MemoryState, queue: string): MemoryQueue => {
  const known = state.queues.get(queue) ?? { settings: unlimited, starts: [], turn: "", groups: new Map() }
  state.queues.set(queue, known)
  return known
}
