/** Pauses and limits of queues and of their groups. They are kept in the store, and all workers of all processes obey them. */
import { DefinitionError, type PersistenceFailed } from "@detent/machine"
import { Commands, type GroupRecord, type GroupLimits as OwnLimits, type QueueRecord, type QueueSettings } from "@detent/store"
import { groupProblem } from "@detent/store/internal"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { millisOf } from "./WorkerConfig.ts"

export interface Rate {
  readonly limit: number
  readonly interval: Duration.Input
}

/** The limits of one group of commands, on all workers together. */
export interface GroupLimits {
  /** How many commands of a group are executed concurrently; undefined: no limit. */
  readonly concurrency?: number | undefined
  /** How many commands of a group begin within any interval of this length; undefined: no limit. */
  readonly rate?: Rate | undefined
}

export interface QueueLimits {
  /** How many commands all workers together execute concurrently; undefined: no limit. */
  readonly concurrency?: number | undefined
  /** How many commands begin within any interval of this length, on all workers together; undefined: no limit. */
  readonly rate?: Rate | undefined
  /** What applies to each group that has no limits of its own; undefined: no limit. */
  readonly perGroup?: GroupLimits | undefined
}

type Changed = Effect.Effect<void, PersistenceFailed, Commands>

/** No worker claims another command of the queue until it is resumed. Commands that are being executed continue. */
export const pause = (queue: string): Changed => change(queue, { paused: true })

export const resume = (queue: string): Changed => change(queue, { paused: false })

/** Sets the given limits, and leaves the others as they are. */
export const limit = (queue: string, limits: QueueLimits): Changed => Effect.suspend(() => change(queue, settingsOf(limits)))

/** Sets the limits of a queue that has none and is not paused. Returns whether it did. */
export const limitFirst = (queue: string, limits: QueueLimits): Effect.Effect<boolean, PersistenceFailed, Commands> =>
  Effect.flatMap(list, (queues) => {
    const known = queues.find((one) => one.queue === queue)
    const isFirst = known === undefined || isUnlimited(known)
    return Effect.as(isFirst ? limit(queue, limits) : Effect.void, isFirst)
  })

const isUnlimited = ({ paused, concurrency, rate, perGroup }: QueueSettings): boolean =>
  !paused && concurrency === undefined && rate === undefined && perGroup === undefined

/** The settings that stand for these limits. Throws a `DefinitionError` for a limit with which no command could begin. */
export const settingsOf = (limits: QueueLimits): Partial<QueueSettings> => {
  const own = checked("a queue", limits)
  return {
    ...("concurrency" in limits ? { concurrency: own.concurrency } : {}),
    ...("rate" in limits ? { rate: own.rate } : {}),
    ...("perGroup" in limits ? { perGroup: limits.perGroup === undefined ? undefined : checked("a group", limits.perGroup) } : {}),
  }
}

/**
 * Gives one group limits of its own: they replace those of `perGroup`, and what they leave out stays as there. Undefined: it has none of its
 * own any more.
 */
export const limitGroup = (queue: string, group: string, limits: GroupLimits | undefined): Changed =>
  Effect.suspend(() => {
    const problem = groupProblem(group)
    if (problem !== undefined) refuse(`a limit for a group: ${problem}`, "name a group as commands are enqueued with it")
    const own = limits === undefined ? undefined : checked("a group", limits)
    const isEmpty = own?.concurrency === undefined && own?.rate === undefined
    return announced(queue, (commands) => commands.configureGroup(queue, group, isEmpty ? undefined : own))
  })

/** Queues that were paused or limited at some time, with their settings. */
export const list: Effect.Effect<ReadonlyArray<QueueRecord>, PersistenceFailed, Commands> = Effect.flatMap(
  Commands,
  (commands) => commands.queues,
)

/** Groups of a queue that have commands to execute or limits of their own, by name, after a name. Default limit: 100. */
export const groups = (
  queue: string,
  { limit = 100, after }: { readonly limit?: number; readonly after?: string } = {},
): Effect.Effect<ReadonlyArray<GroupRecord>, PersistenceFailed, Commands> =>
  Effect.flatMap(Commands, (commands) => commands.groups(queue, limit, after))

const change = (queue: string, settings: Partial<QueueSettings>): Changed =>
  announced(queue, (commands) => commands.configure(queue, settings))

/** Wakes workers after a change: it may allow them to claim more. */
const announced = (queue: string, act: (commands: Commands["Service"]) => Effect.Effect<void, PersistenceFailed>): Changed =>
  Effect.flatMap(Commands, (commands) => Effect.tap(act(commands), () => Effect.sync(() => commands.signal.announce(new Set([queue])))))

const checked = (what: string, { concurrency, rate }: GroupLimits): OwnLimits => {
  if (concurrency !== undefined) checkCount(what, "a concurrency", concurrency)
  if (rate === undefined) return { concurrency, rate }
  checkCount(what, "a rate", rate.limit)
  const intervalMillis = millisOf(rate.interval)
  if (!(intervalMillis >= 1 && Number.isFinite(intervalMillis)))
    refuse(`${what} with a rate per ${intervalMillis} ms`, "use a millisecond or more")
  return { concurrency, rate: { limit: rate.limit, intervalMillis } }
}

/** The largest limit that every store can keep. */
const largestCount = 2_147_483_647

const checkCount = (what: string, of: string, count: number) => {
  if (!Number.isSafeInteger(count) || count < 1 || count > largestCount)
    refuse(`${what} with ${of} of ${count}`, `use a whole number from 1 to ${largestCount}, or pause the queue`)
}

const refuse = (problem: string, nextStep: string): never => {
  throw new DefinitionError({ problem, nextStep })
}
