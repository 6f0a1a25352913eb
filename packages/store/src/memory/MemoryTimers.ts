/** Durable deadlines in memory. */

import { compareText } from "@detent/machine/internal"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { InstanceKey, TimerRecord } from "../contract/Commit.ts"
import type { InstanceLife } from "../contract/Journal.ts"
import type { ClaimedTimer, DeadTimer, MachineVersions, TimersService } from "../contract/Timers.ts"
import type { MemoryState, StoredTimer } from "./MemoryState.ts"
import { findInstance, isOfLife } from "./MemoryState.ts"

/** `position` is the position of the instance among all instances, oldest first. */
type Located = InstanceKey & { readonly version: number; readonly position: number; readonly timer: StoredTimer }

export const memoryTimers = (state: MemoryState): TimersService => ({
  claim: ({ machines, versions, graceMillis = 0, limit, owner, claimMillis, fence }) =>
    atNow((now) =>
      claimable(state, machines, now, versions)
        .filter(({ timer }) => timer.due <= now - graceMillis)
        .slice(0, limit)
        .map(({ machine, id, timer }): ClaimedTimer => {
          const attempts = timer.attempts + 1
          replace(state, { machine, id }, { ...timer, owner, until: Math.ceil(now + claimMillis), fence, attempts })
          return { machine, id, name: timer.name, entry: timer.entry, due: timer.due, attempts }
        }),
    ),
  nextDue: (machines, versions) =>
    atNow((now) => Option.map(Option.fromNullishOr(claimable(state, machines, now, versions)[0]), ({ timer }) => timer.due - now)),
  unserved: (machines, overdueMillis) =>
    atNow((now) => [
      ...new Set(
        located(state)
          .filter(({ machine, timer }) => !machines.includes(machine) && timer.problem === undefined && timer.due <= now - overdueMillis)
          .map(({ machine }) => machine),
      ),
    ]),
  complete: (timer) => change(state, timer, () => undefined),
  release: (timer, owner, delayMillis) =>
    Effect.flatMap(
      atNow((now) => (delayMillis === 0 ? 0 : now + Math.ceil(delayMillis))),
      (until) => change(state, timer, (found) => (found.owner === owner ? { ...found, owner: undefined, fence: undefined, until } : found)),
    ),
  bury: (timer, problem) =>
    change(state, timer, (found) => (found.problem === undefined ? { ...found, owner: undefined, until: 0, problem } : found)),
  dead: (limit) =>
    Effect.sync(() =>
      located(state)
        .filter(({ timer }) => timer.problem !== undefined)
        .sort(byDue)
        .slice(0, limit)
        .map(
          ({ machine, id, timer: { name, entry, due, attempts, problem = "" } }): DeadTimer => ({
            machine,
            id,
            name,
            entry,
            due,
            attempts,
            problem,
          }),
        ),
    ),
  fireNow: (timer) =>
    Effect.flatMap(
      atNow((now) => now),
      (now) => change(state, timer, (found) => (found.problem === undefined ? hastened(found, now) : found)),
    ),
  revive: (timer) => change(state, timer, (found) => (found.problem === undefined ? found : { ...found, attempts: 0, problem: undefined })),
})

/** A claim stays; a delay after a failed attempt ends. */
const hastened = (timer: StoredTimer, now: number): StoredTimer => ({
  ...timer,
  due: Math.min(timer.due, now),
  until: timer.owner === undefined ? 0 : timer.until,
})

const atNow = <A>(act: (now: number) => A): Effect.Effect<A> => Effect.map(Clock.currentTimeMillis, (now) => act(Math.floor(now)))

const located = (state: MemoryState): Array<Located> =>
  [...state.instances.values()].flatMap(({ record: { machine, id, version }, timers }, position) =>
    [...timers.values()].map((timer) => ({ machine, id, version, position, timer })),
  )

/** Timers that can be claimed, oldest first. A claimed timer blocks the later timers of its instance. */
const claimable = (state: MemoryState, machines: ReadonlyArray<string>, now: number, versions: MachineVersions = {}): Array<Located> => {
  const blocked = new Set<number>()
  return located(state)
    .filter(({ timer }) => timer.problem === undefined)
    .sort(byDue)
    .filter(({ machine, version, position, timer }) => {
      if (!isFree(state, timer, now)) blocked.add(position)
      return machines.includes(machine) && version <= (versions[machine] ?? version) && !blocked.has(position)
    })
}

/** Whether the claim on the timer has ended: its time has passed, or the lease of the claiming node has ended. */
const isFree = ({ leases }: MemoryState, { until, fence }: StoredTimer, now: number): boolean => {
  if (until <= now || fence === undefined) return until <= now
  const lease = leases.get(fence.lease)
  return lease?.token !== fence.token || lease.expiresAt <= now
}

const byDue = (left: Located, right: Located): number =>
  left.timer.due - right.timer.due || left.position - right.position || compareText(left.timer.name, right.timer.name)

const replace = (state: MemoryState, key: InstanceKey, timer: StoredTimer): void => {
  findInstance(state, key)?.timers.set(timer.name, timer)
}

/** Changes the timer of this entry; returns whether anything changed. */
const change = (state: MemoryState, key: InstanceLife & TimerRecord, changed: (found: StoredTimer) => StoredTimer | undefined) =>
  Effect.sync(() => {
    const instance = findInstance(state, key)
    const timers = isOfLife(instance, key) ? instance?.timers : undefined
    const found = timers?.get(key.name)
    if (timers === undefined || found === undefined || found.entry !== key.entry) return false
    const next = changed(found)
    if (next === found) return false
    if (next === undefined) timers.delete(key.name)
    else timers.set(key.name, next)
    return true
  })
