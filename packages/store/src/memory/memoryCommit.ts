/** Checks and applies one commit in memory. Nothing is changed before every check has passed. */
import type { Commit, CommitOutcome, InstanceKey } from "../contract/Commit.ts"
import { instanceName } from "../contract/CommitCheck.ts"
import type { InstanceRecord } from "../contract/Journal.ts"
import { addRequested } from "./MemoryCommand.ts"
import type { MemoryState, StoredInstance } from "./MemoryState.ts"
import { findInstance, isOfLife, isOfRevision } from "./MemoryState.ts"

export const memoryCommit = (state: MemoryState, commit: Commit): CommitOutcome => {
  const stored = findInstance(state, commit)
  const refusal = refusalOf(state, stored, commit)
  if (refusal !== undefined) return refusal
  const instance = stored ?? create(state, commit)
  if (stored !== undefined) stored.record = changedBy(commit, stored.record)
  for (const event of commit.events) {
    const { isFirst: _, ...journaled } = event
    instance.events.push(journaled)
    if (event.dedupeId !== undefined) instance.dedupe.set(event.dedupeId, event.sequence)
  }
  if (commit.snapshot !== undefined && commit.snapshot.sequence >= (instance.snapshot?.sequence ?? -1)) instance.snapshot = commit.snapshot
  changeTimers(instance, commit)
  for (const command of commit.commands) addRequested(state, commit, command)
  for (const written of state.watchers) written(commit)
  return { _tag: "Stored" }
}

/** Copies the journal up to a sequence number to a new instance. */
export const memoryFork = (state: MemoryState, from: InstanceKey, through: number, to: Commit): CommitOutcome => {
  const source = findInstance(state, from)
  if (source === undefined) return { _tag: "Conflict", actual: -1 }
  const copied = source.events.filter((event) => event.sequence <= through)
  const journaled = new Map(copied.flatMap((event) => (event.dedupeId === undefined ? [] : [[event.dedupeId, event.sequence] as const])))
  for (const { dedupeId } of to.events) {
    const sequence = dedupeId === undefined ? undefined : journaled.get(dedupeId)
    if (dedupeId !== undefined && sequence !== undefined) return { _tag: "Duplicate", dedupeId, sequence }
  }
  const snapshot = source.snapshot !== undefined && source.snapshot.sequence <= through ? source.snapshot : undefined
  const outcome = memoryCommit(state, { ...to, origin: to.origin ?? source.origin, snapshot: to.snapshot ?? snapshot })
  const target = findInstance(state, to)
  if (outcome._tag !== "Stored" || target === undefined) return outcome
  target.events.unshift(...copied)
  for (const [dedupeId, sequence] of journaled) target.dedupe.set(dedupeId, sequence)
  return outcome
}

const refusalOf = (state: MemoryState, stored: StoredInstance | undefined, commit: Commit): CommitOutcome | undefined => {
  if (commit.fence !== undefined) {
    const newest = state.leases.get(commit.fence.lease)?.token ?? 0
    if (newest === 0 || newest !== commit.fence.token) return { _tag: "Fenced", newest }
  }
  for (const { dedupeId } of commit.events) {
    const sequence = dedupeId === undefined ? undefined : stored?.dedupe.get(dedupeId)
    if (dedupeId !== undefined && sequence !== undefined) return { _tag: "Duplicate", dedupeId, sequence }
  }
  // The first commit of an instance conflicts with any existing instance of the id.
  const isMet = stored !== undefined && (commit.expected === -1 || isOfLife(stored, commit))
  const actual = isMet ? stored.record.sequence : -1
  const isRewritten = stored !== undefined && !isOfRevision(stored, commit)
  return actual === commit.expected && !isRewritten ? undefined : { _tag: "Conflict", actual }
}

const changedBy = (commit: Commit, { startedAt, owner, revision, fields, labels }: InstanceRecord): InstanceRecord => {
  const record = recordOf(commit, startedAt, owner)
  const indexed = commit.fields ?? fields
  if (revision === undefined && indexed === undefined && labels === undefined) return record
  return {
    ...record,
    ...(revision === undefined ? {} : { revision }),
    ...(indexed === undefined ? {} : { fields: indexed }),
    ...(labels === undefined ? {} : { labels }),
  }
}

/** Written out field by field, so that all records have one shape. */
const recordOf = ({ machine, id, summary, sequence, at }: Commit, startedAt: number, ownerBefore?: string): InstanceRecord => {
  const { tag, status, reason, version, needsOwner, owes } = summary
  const owner = needsOwner ? (summary.owner ?? ownerBefore) : undefined
  return { machine, id, tag, status, reason, version, needsOwner, owner, owes, sequence, startedAt, updatedAt: at }
}

const create = (state: MemoryState, commit: Commit): StoredInstance => {
  const instance: StoredInstance = {
    record: commit.fields === undefined ? recordOf(commit, commit.at) : { ...recordOf(commit, commit.at), fields: commit.fields },
    origin: commit.origin,
    events: [],
    snapshot: undefined,
    timers: new Map(),
    dedupe: new Map(),
  }
  state.instances.set(instanceName(commit), instance)
  return instance
}

const changeTimers = (instance: StoredInstance, { clearTimers, setTimers }: Commit): void => {
  for (const name of clearTimers === "all" ? [...instance.timers.keys()] : clearTimers) instance.timers.delete(name)
  for (const { name, entry, due } of setTimers) {
    instance.timers.set(name, {
      name,
      entry,
      due: Math.ceil(due),
      owner: undefined,
      until: 0,
      fence: undefined,
      attempts: 0,
      problem: undefined,
    })
  }
}
