/** Durable deadlines in memory. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { InstanceKey, TimerRecord } from "../store/Commit.ts"
import type { ClaimedTimer, DeadTimer, MachineVersions, TimersService } from "../store/Timers.ts"
import type { MemoryState, StoredTimer } from "./MemoryState.ts"
import { compareText, findInstance } from "./MemoryState.ts"

/** `position` is that of the instance among all, oldest first. */
type Located = InstanceKey & { readonly version: number; readonly position: number; readonly timer: StoredTimer }

export const memoryTimers = (state: MemoryState): TimersService => ({
  claim: ({ machines, versions, now, limit, owner, until }) =>
    Effect.sync(() =>
      claimable(state, machines, now, versions)
        .filter(({ timer }) => timer.due <= now)
        .sort(byDue)
        .slice(0, limit)
        .map(({ machine, id, timer }): ClaimedTimer => {
          const attempts = timer.attempts + 1
          replace(state, { machine, id }, { ...timer, owner, until, attempts })
          return { machine, id, name: timer.name, entry: timer.entry, due: timer.due, attempts }
        }),
    ),
  nextDue: (machines, now, versions) =>
    Effect.sync(() => Option.map(Option.fromNullishOr(claimable(state, machines, now, versions).sort(byDue)[0]), ({ timer }) => timer.due)),
  unserved: (machines, before) =>
    Effect.sync(() => [
      ...new Set(
        located(state)
          .filter(({ machine, timer }) => !machines.includes(machine) && timer.problem === undefined && timer.due <= before)
          .map(({ machine }) => machine),
      ),
    ]),
  complete: (timer) => change(state, timer, () => undefined),
  release: (timer, owner) => change(state, timer, (found) => (found.owner === owner ? { ...found, owner: undefined, until: 0 } : found)),
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
  revive: (timer) => change(state, timer, (found) => (found.problem === undefined ? found : { ...found, attempts: 0, problem: undefined })),
})

const located = (state: MemoryState): Array<Located> =>
  [...state.instances.values()].flatMap(({ record: { machine, id, version }, timers }, position) =>
    [...timers.values()].map((timer) => ({ machine, id, version, position, timer })),
  )

const claimable = (state: MemoryState, machines: ReadonlyArray<string>, now: number, versions: MachineVersions = {}): Array<Located> =>
  located(state).filter(
    ({ machine, version, timer }) =>
      machines.includes(machine) && version <= (versions[machine] ?? version) && timer.problem === undefined && timer.until <= now,
  )

const byDue = (left: Located, right: Located): number =>
  left.timer.due - right.timer.due || left.position - right.position || compareText(left.timer.name, right.timer.name)

const replace = (state: MemoryState, key: InstanceKey, timer: StoredTimer): void => {
  findInstance(state, key)?.timers.set(timer.name, timer)
}

/** Changes the timer of that very entry; whether anything changed. */
const change = (state: MemoryState, key: InstanceKey & TimerRecord, changed: (found: StoredTimer) => StoredTimer | undefined) =>
  Effect.sync(() => {
    const timers = findInstance(state, key)?.timers
    const found = timers?.get(key.name)
    if (timers === undefined || found === undefined || found.entry !== key.entry) return false
    const next = changed(found)
    if (next === found) return false
    if (next === undefined) timers.delete(key.name)
    else timers.set(key.name, next)
    return true
  })
