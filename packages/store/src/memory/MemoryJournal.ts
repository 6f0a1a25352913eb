/** The journal in memory. */

import { compareText } from "@detent/machine/internal"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { CommitOutcome, EventRecord, InstanceKey } from "../contract/Commit.ts"
import { checkCommits, isRaisedId } from "../contract/CommitCheck.ts"
import {
  type InstanceCursor,
  type InstanceFilter,
  type InstanceRecord,
  type JournalService,
  type KeyFilter,
  type OpenedInstance,
  takeOverInSteps,
} from "../contract/Journal.ts"
import { labelsAfter } from "../contract/Search.ts"
import {
  commandName,
  findInstance,
  isOfLife,
  isOfRevision,
  type MemoryCommand,
  type MemoryState,
  type StoredInstance,
} from "./MemoryState.ts"
import { memoryCommit, memoryFork } from "./memoryCommit.ts"
import { memorySearch, memoryWriteFields } from "./memorySearch.ts"

/** The same limit as on SQLite. */
export const maxBodyBytes = 256 * 1024 * 1024

export const memoryJournal = (state: MemoryState): JournalService => {
  const journal = operations(state)
  return { ...journal, takeOver: takeOverInSteps(journal) }
}

const operations = (state: MemoryState): Omit<JournalService, "takeOver"> => ({
  databaseId: state.databaseId,
  maxBodyBytes,
  clock: Effect.map(Clock.currentTimeMillis, Math.floor),
  commit: (commits) =>
    Effect.sync(() => {
      const refused = checkCommits(commits, maxBodyBytes)
      return commits.map((commit, index): CommitOutcome => refused.get(index) ?? memoryCommit(state, commit))
    }),
  open: (key) => Effect.sync(() => Option.map(Option.fromNullishOr(findInstance(state, key)), opened)),
  local: {
    sequence: (key, startedAt, revision = 0) => {
      const record = findInstance(state, key)?.record
      return record?.startedAt === startedAt && (record.revision ?? 0) === revision ? record.sequence : undefined
    },
    watch: (written) => {
      state.watchers.add(written)
      return () => state.watchers.delete(written)
    },
  },
  standings: (keys) =>
    Effect.sync(() =>
      keys.map((key) => {
        const record = findInstance(state, key)?.record
        if (record === undefined) return undefined
        const { sequence, status, startedAt, revision } = record
        return { sequence, status, startedAt, ...(revision === undefined ? {} : { revision }) }
      }),
    ),
  openAll: (keys) =>
    Effect.sync(() =>
      keys.flatMap((key) => {
        const instance = findInstance(state, key)
        return instance === undefined ? [] : [opened(instance)]
      }),
    ),
  events: (key, after, limit) =>
    Effect.sync(() => {
      const found = findInstance(state, key)
      if (found === undefined || !isOfLife(found, key)) return []
      return found.events.filter((event) => event.sequence > after).slice(0, limit)
    }),
  tails: (keys) =>
    Effect.sync(() =>
      keys.flatMap((key) => {
        const instance = findInstance(state, key)
        if (instance === undefined || !isOfLife(instance, key)) return []
        const after = instance.snapshot?.sequence ?? 0
        return instance.events.filter((event) => event.sequence > after).map((event) => ({ ...event, machine: key.machine, id: key.id }))
      }),
    ),
  findDuplicate: (key, dedupeId) =>
    Effect.sync(() => Option.fromNullishOr(findInstance(state, key)?.events.find((event) => event.dedupeId === dedupeId))),
  saveSnapshot: (key, snapshot) =>
    Effect.sync(() => {
      const instance = findInstance(state, key)
      if (instance === undefined || snapshot.sequence > instance.record.sequence) return false
      if (!isOfLife(instance, key) || !isOfRevision(instance, key)) return false
      if (instance.snapshot !== undefined && instance.snapshot.sequence > snapshot.sequence) return false
      instance.snapshot = snapshot
      return true
    }),
  prune: (key, through, after = 0) => Effect.sync(() => prune(findInstance(state, key), through, after)),
  list: (filter, limit, after) =>
    Effect.sync(() => {
      const found = [...state.instances.values()]
        .map((instance) => instance.record)
        .filter((record) => matches(record, filter) && (after === undefined || inOrder(filter)(record, after) > 0))
        .sort(inOrder(filter))
      const instances = found.slice(0, limit)
      const last = instances.at(-1)
      return { instances, next: found.length > limit && last !== undefined ? cursorOf(last) : undefined }
    }),
  page: (filter, limit, after) =>
    Effect.sync(() =>
      [...state.instances.values()]
        .map((instance) => instance.record)
        .filter((record) => isAmong(record, filter) && (after === undefined || compareText(record.id, after) > 0))
        .sort((left, right) => compareText(left.id, right.id))
        .slice(0, limit),
    ),
  owners: (machine) =>
    Effect.sync(() => [
      ...new Set(
        [...state.instances.values()].flatMap(({ record }) => (isAmong(record, { machine, needsOwner: true }) ? [record.owner] : [])),
      ),
    ]),
  changeOwner: (keys, from, to) =>
    Effect.sync(() =>
      keys.filter((key) => {
        const instance = findInstance(state, key)
        if (instance === undefined || !isAmong(instance.record, { machine: key.machine, owner: from ?? null })) return false
        instance.record = { ...instance.record, owner: to }
        return true
      }),
    ),
  machines: Effect.sync(() => [...new Set([...state.instances.values()].map(({ record }) => record.machine))].sort()),
  count: (machine) =>
    Effect.sync(() => {
      const counts = new Map<string, number>()
      for (const { record } of state.instances.values()) {
        if (record.machine === machine) counts.set(record.tag, (counts.get(record.tag) ?? 0) + 1)
      }
      return counts
    }),
  setStatus: (seen, status, reason) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const instance = findInstance(state, seen)
      if (instance?.record.status !== seen.status || instance.record.sequence !== seen.sequence) return false
      if (!isOfLife(instance, seen)) return false
      instance.record = { ...instance.record, owner: undefined, reason, status, updatedAt: Math.floor(now) }
      return true
    }),
  purgeEnded: (machine, endedMillis, limit) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const commandsOf = commandsByInstance(state, machine)
      const ended = endedBefore(state, commandsOf, machine, now - endedMillis)
      const removed = ended.sort(([, left], [, right]) => left.record.updatedAt - right.record.updatedAt).slice(0, limit)
      for (const [name, { record }] of removed) {
        state.instances.delete(name)
        for (const command of commandsOf.get(record.id) ?? []) state.commands.delete(commandName(command))
      }
      return removed.length
    }),
  countEnded: (machine, endedMillis) =>
    Effect.map(Clock.currentTimeMillis, (now) => endedBefore(state, commandsByInstance(state, machine), machine, now - endedMillis).length),
  search: (filter, limit, after) => Effect.sync(() => memorySearch(state, filter, limit, after)),
  indexFill: (machine) => Effect.sync(() => Option.fromNullishOr(state.indexFills.get(machine))),
  setIndexFill: (machine, seen, fill) =>
    Effect.sync(() => {
      const stored = state.indexFills.get(machine)
      const isUnchanged =
        stored?.definition === seen?.definition && stored?.through === seen?.through && stored?.isComplete === seen?.isComplete
      if (isUnchanged) state.indexFills.set(machine, fill)
      return isUnchanged
    }),
  writeFields: (machine, writes) => Effect.sync(() => memoryWriteFields(state, machine, writes)),
  label: (key, changes) =>
    Effect.sync(() => {
      const instance = findInstance(state, key)
      if (instance === undefined) return { _tag: "NoInstance" }
      const outcome = labelsAfter(instance.record.labels, changes)
      if (outcome._tag === "Labelled") instance.record = { ...instance.record, labels: outcome.labels }
      return outcome
    }),
  rewrite: (key, { sequence, tag, body }, seen) =>
    Effect.sync(() => {
      const instance = findInstance(state, key)
      if (instance === undefined || (key.sequence !== undefined && instance.record.sequence !== key.sequence)) return false
      const index = instance.events.findIndex((event) => event.sequence === sequence)
      const found = instance.events[index]
      if (found === undefined || (seen !== undefined && found.body !== seen)) return false
      instance.events[index] = { ...found, tag, body }
      instance.record = { ...instance.record, revision: (instance.record.revision ?? 0) + 1 }
      for (const written of state.watchers) written(key)
      return true
    }),
  fork: (from, through, to) =>
    Effect.sync(() => {
      const refused = checkCommits([to], maxBodyBytes).get(0)
      return refused ?? memoryFork(state, from, through, to)
    }),
})

const opened = ({ record, origin, snapshot, timers }: StoredInstance): OpenedInstance => ({
  record,
  origin,
  snapshot,
  timers: [...timers.values()]
    .filter((timer) => timer.problem === undefined)
    .map(({ name, entry, due }) => ({ name, entry, due }))
    .sort((left, right) => left.due - right.due || compareText(left.name, right.name)),
})

const prune = (instance: StoredInstance | undefined, through: number, after: number): number => {
  const limit = Math.min(through, instance?.snapshot?.sequence ?? 0)
  if (instance === undefined || limit < 1) return 0
  const goes = ({ sequence, dedupeId }: EventRecord) =>
    sequence > after && sequence <= limit && (dedupeId === undefined || isRaisedId(dedupeId))
  const before = instance.events.length
  for (const event of instance.events) {
    if (event.dedupeId !== undefined && goes(event)) instance.dedupe.delete(event.dedupeId)
  }
  instance.events = instance.events.filter((event) => !goes(event))
  instance.origin = undefined
  return before - instance.events.length
}

const matches = (record: InstanceRecord, filter: InstanceFilter): boolean =>
  (filter.machine === undefined || record.machine === filter.machine) &&
  (filter.tag === undefined || (typeof filter.tag === "string" ? record.tag === filter.tag : filter.tag.includes(record.tag))) &&
  (filter.status === undefined || record.status === filter.status) &&
  (filter.needsOwner === undefined || record.needsOwner === filter.needsOwner) &&
  (filter.owes === undefined || record.owes === filter.owes) &&
  (filter.updatedAfter === undefined || record.updatedAt > filter.updatedAfter) &&
  (filter.updatedBefore === undefined || record.updatedAt < filter.updatedBefore)

const isAmong = (record: InstanceRecord, filter: KeyFilter): boolean => {
  const { machine, status, idPrefix = "", needsOwner, owner, newestVersion = record.version, owes } = filter
  if (record.machine !== machine || record.version > newestVersion || (status !== undefined && record.status !== status)) return false
  if (!record.id.startsWith(idPrefix)) return false
  if (owes) return record.owes
  if (needsOwner === undefined && owner === undefined) return true
  return record.needsOwner && record.status === "running" && (owner === undefined || (record.owner ?? null) === owner)
}

const inOrder =
  ({ order }: InstanceFilter) =>
  (left: InstanceCursor, right: InstanceCursor): number =>
    order === "newest" ? compareChange(right, left) : compareChange(left, right)

const cursorOf = ({ updatedAt, machine, id }: InstanceRecord): InstanceCursor => ({ updatedAt, machine, id })

const compareChange = (left: InstanceKey & { updatedAt: number }, right: InstanceKey & { updatedAt: number }): number =>
  left.updatedAt - right.updatedAt || compareText(left.machine, right.machine) || compareText(left.id, right.id)

type CommandsByInstance = ReadonlyMap<string | undefined, ReadonlyArray<MemoryCommand>>

/** The commands of a machine, by the id of the instance that requested them. */
const commandsByInstance = (state: MemoryState, machine: string): CommandsByInstance =>
  Map.groupBy(
    [...state.commands.values()].filter((command) => command.machine === machine),
    ({ id }) => id,
  )

/** Instances that ended before a time and have no command that is unfinished or a dead letter. */
const endedBefore = (state: MemoryState, commandsOf: CommandsByInstance, machine: string, time: number) => {
  const hasOpenCommand = ({ id }: InstanceRecord) =>
    commandsOf.get(id)?.some(({ status }) => status === "pending" || status === "processing" || status === "failed") === true
  return [...state.instances.entries()].filter(
    ([, { record }]) =>
      record.machine === machine &&
      (record.status === "final" || record.status === "stopped") &&
      !record.owes &&
      record.updatedAt <= time &&
      !hasOpenCommand(record),
  )
}
