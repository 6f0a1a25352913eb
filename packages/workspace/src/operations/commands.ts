/** Operations on commands, queues and dead timers. Sensitive parameters are hidden. */
import {
  type CommandCount,
  Commands,
  DeadLetters,
  type GroupLimits,
  type GroupRecord,
  Journal,
  type QueueSettings,
  Queues,
  type StoredCommand,
  Timers,
} from "@detent/durable"
import type { Rate } from "@detent/store"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { CommandNotFailed, CommandNotFound, TimerNotFound } from "../errors.ts"
import { Machines } from "../Machines.ts"
import { optional } from "../optional.ts"
import { CurrentAttempt, changeOnce } from "../RequestKeys.ts"
import { type CommandQuery, eachMatching, fingerprintOf, groups as groupsOf, isCompared } from "./commandGroups.ts"

export const commandView = ({ instance, worker, problem, finishedAt, ...command }: StoredCommand) => ({
  number: command.number,
  key: command.key,
  queue: command.queue,
  slot: command.slot,
  ...(instance === undefined ? {} : { machine: instance.machine, id: instance.id }),
  sequence: command.sequence,
  status: command.status,
  priority: command.priority,
  ...optional({ group: command.group }),
  attempts: command.attempts,
  ...(command.round === 0 ? {} : { round: command.round }),
  runAt: command.runAt,
  ...optional({ worker, problem }),
  ...(command.errors.length === 0 ? {} : { errors: command.errors }),
  enqueuedAt: command.enqueuedAt,
  ...optional({ finishedAt, fingerprint: fingerprintOf({ ...command, problem }) }),
})

const parametersJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Json))

/** Adds the parameters of commands whose machine is known: its schemas mark the sensitive ones. */
export const withParameters = Effect.fn("commands.withParameters")(function* (commands: ReadonlyArray<StoredCommand>) {
  const machines = yield* Machines
  const names = new Set(commands.flatMap(({ instance }) => (instance === undefined ? [] : [instance.machine])))
  const entries = yield* Effect.forEach([...names], (name) => Effect.map(machines.find(name), Option.getOrUndefined))
  const known = new Map(
    entries.flatMap((entry) => (entry?._tag === "Machine" ? [[entry.name, machines.json(entry.machine)] as const] : [])),
  )
  return commands.map((command) => {
    const json = command.instance === undefined ? undefined : known.get(command.instance.machine)
    const stored = json === undefined ? undefined : Option.getOrUndefined(parametersJson(command.parameters))
    const parameters = stored === undefined ? undefined : json?.parameters(command.slot, stored)
    return { ...commandView(command), ...optional({ parameters }) }
  })
})

const viewOf = (command: StoredCommand) => Effect.map(withParameters([command]), ([view]) => view ?? commandView(command))

const find = (key: string) =>
  Effect.flatMap(DeadLetters.get(key), Option.match({ onNone: () => Effect.fail(new CommandNotFound({ key })), onSome: Effect.succeed }))

/** Commands in the order they were enqueued. `scanned`: the page ended early, after examining this many commands. */
export const list = Effect.fn("commands.list")(function* (query: CommandQuery, limit: number, after: number | undefined) {
  const most = Math.min(1000, Math.max(1, limit))
  if (!isCompared(query)) {
    const { fingerprint: _, number: __, ...filter } = query
    const page = yield* Effect.flatMap(Commands, (commands) => commands.list(filter, most, after))
    return { commands: yield* withParameters(page.commands), ...optional({ next: page.next }) }
  }
  const found: Array<StoredCommand> = []
  const end = yield* eachMatching(query, after, (command) => found.push(command) >= most)
  return { commands: yield* withParameters(found), ...optional(end) }
})

/** Commands with a status, grouped by cause. Default status: `failed`. */
export const groups = ({ status = "failed", ...filter }: CommandQuery) => groupsOf({ ...filter, status })

export const get = (key: string) => Effect.flatMap(find(key), viewOf)

/**
 * Executes a failed command again. Without force, it is refused where the instance has ended or would refuse the result. A dry run
 * only makes this check. A repeated request does not execute the command twice: its round shows whether it was retried.
 */
export const retry = Effect.fn("commands.retry")(function* (
  key: string,
  options: { readonly force?: boolean; readonly dryRun?: boolean } = {},
) {
  const { before, isRepeated } = yield* CurrentAttempt
  const command = yield* find(key)
  const round = yield* before(Effect.succeed(command.round))
  if (command.round > round) return yield* viewOf(command)
  const isRetried = yield* DeadLetters.retry(key, options)
  const after = yield* find(key)
  // Another process may have retried it for the same request.
  if (isRetried || (isRepeated && after.round > round)) return yield* viewOf(after)
  return yield* new CommandNotFailed({ key, status: after.status })
})

export interface RetryOnce {
  readonly command: string
  readonly force?: boolean
  readonly dryRun?: boolean
  /** The idempotency key, which all surfaces share. */
  readonly key: string | undefined
}

/** Retries once per idempotency key. A dry run changes nothing and does not use the key. */
export const retryOnce = ({ command, force = false, dryRun = false, key }: RetryOnce) => {
  const retried = retry(command, { force, dryRun })
  const change = { operation: force ? "commands.forceRetry" : "commands.retry", params: { key: command }, content: undefined, key }
  return dryRun ? retried : changeOnce(change, retried)
}

/** Skips a command that failed or is pending. */
export const skip = Effect.fn("commands.skip")(function* (key: string, reason: string) {
  const { isRepeated } = yield* CurrentAttempt
  const isSkipped = yield* DeadLetters.skip(key, reason)
  const command = yield* find(key)
  const { status, problem } = command
  if (isSkipped || (isRepeated && status === "skipped" && problem === reason)) return yield* viewOf(command)
  return yield* new CommandNotFailed({ key, status })
})

export type RetryFilter = Omit<CommandQuery, "status">

export interface RetryAllOptions {
  readonly dryRun: boolean
  readonly force?: boolean
}

/**
 * Executes all failed commands that match again; a dry run only counts them. Without force, commands whose instance has ended or would
 * refuse the result are skipped and counted as `refused`.
 */
export const retryAll = Effect.fn("commands.retryAll")(function* (filter: RetryFilter, { dryRun, force = false }: RetryAllOptions) {
  const { before, eventId, isRepeated } = yield* CurrentAttempt
  const { fingerprint: _, number: __, ...stored } = filter
  const plan = yield* retryPlan(filter)
  const refused = force ? 0 : plan.refused.length
  const answer = (count: number) => ({ count, dryRun, ...(refused === 0 ? {} : { refused }) })
  const chosen = force ? [...plan.accepted, ...plan.refused.map(({ command }) => command)] : plan.accepted
  if (dryRun) return answer(chosen.length)
  const isOneStatement = !isCompared(filter) && !isRepeated
  if (isOneStatement && eventId === undefined) return answer(yield* DeadLetters.retryAll(stored, { dryRun, force }))
  const first = yield* before(
    Effect.gen(function* () {
      return { count: chosen.length, at: yield* (yield* Journal).clock }
    }),
  )
  if (isOneStatement) return answer(yield* DeadLetters.retryAll(stored, { dryRun, force }))
  // Commands that an earlier attempt at the request has retried are no longer failed, or failed again later.
  for (const { key, queue, finishedAt = 0 } of chosen) {
    if (finishedAt <= first.at) yield* DeadLetters.retry(key, { queue, force: true })
  }
  return answer(first.count)
})

/** The failed commands that match: those that can be retried, and those whose instance would refuse the result. */
const retryPlan = ({ fingerprint, number, ...filter }: RetryFilter) =>
  Effect.map(DeadLetters.check(filter), ({ accepted, refused }) => {
    const numbers = number === undefined ? undefined : new Set(typeof number === "number" ? [number] : number)
    const isMeant = (command: StoredCommand) =>
      numbers?.has(command.number) !== false && (fingerprint === undefined || fingerprintOf(command) === fingerprint)
    return { accepted: accepted.filter(isMeant), refused: refused.filter(({ command }) => isMeant(command)) }
  })

export interface SkipAllRequest {
  /** Default status: `failed`. Only failed and pending commands are skipped. */
  readonly filter: CommandQuery
  readonly reason: string
  /** Only counts the commands. */
  readonly dryRun?: boolean | undefined
}

/** Skips all failed or pending commands that match. A repeated request skips the remaining ones, and returns the number of all. */
export const skipAll = Effect.fn("commands.skipAll")(function* ({ filter, reason, dryRun = false }: SkipAllRequest) {
  const { before } = yield* CurrentAttempt
  const chosen: Array<{ readonly key: string; readonly queue: string }> = []
  const { status = "failed" } = filter
  if (status === "failed" || status === "pending") {
    for (let after: number | undefined; ; ) {
      const end = yield* eachMatching({ ...filter, status }, after, ({ key, queue }) => {
        chosen.push({ key, queue })
        return false
      })
      if (end.next === undefined) break
      after = end.next
    }
  }
  if (dryRun) return { count: chosen.length, dryRun }
  const count = yield* before(Effect.succeed(chosen.length))
  for (const { key, queue } of chosen) yield* DeadLetters.skip(key, reason, { queue })
  return { count, dryRun }
})

/** Every queue that has settings or commands: its limits, its waiting and running commands, and its workers. */
export const queues = Effect.gen(function* () {
  const commands = yield* Commands
  const settings = new Map((yield* commands.queues).map((one) => [one.queue, one]))
  const counts = Map.groupBy(yield* commands.counts, ({ queue }) => queue)
  const names = [...new Set([...settings.keys(), ...counts.keys()])].sort()
  return yield* Effect.forEach(names, (queue) => queueView(queue, settings.get(queue), counts.get(queue) ?? []), { concurrency: 4 })
})

const queueView = Effect.fnUntraced(function* (queue: string, settings: QueueSettings | undefined, counts: ReadonlyArray<CommandCount>) {
  const commands = yield* Commands
  const byStatus = Object.fromEntries(counts.map(({ status, count }) => [status, count]))
  const { pending = 0, processing: running = 0 } = byStatus
  const oldestPendingAt = pending === 0 ? undefined : yield* commands.oldestPending(queue)
  const claims = running === 0 ? new Map<string, ReadonlyArray<unknown>>() : yield* commands.claims(queue)
  return {
    queue,
    paused: settings?.paused ?? false,
    ...optional({ concurrency: settings?.concurrency, rate: settings?.rate, oldestPendingAt }),
    ...optional({ perGroup: settings?.perGroup === undefined ? undefined : optional<GroupLimits>(settings.perGroup) }),
    counts: byStatus,
    running,
    workers: [...claims]
      .map(([worker, held]) => ({ worker, running: held.length }))
      .sort((one, other) => (one.worker < other.worker ? -1 : 1)),
  }
})

/** Null: no limit. */
export interface GroupLimitChange {
  readonly concurrency?: number | null | undefined
  readonly rate?: Rate | null | undefined
}

export interface QueueLimitChange extends GroupLimitChange {
  /** Replaces the limits of each group that has none of its own. */
  readonly perGroup?: GroupLimitChange | null | undefined
}

/** Sets the given limits and keeps the others. */
export const limitQueue = Effect.fn("commands.limitQueue")(function* (queue: string, { concurrency, rate, perGroup }: QueueLimitChange) {
  yield* Queues.limit(queue, {
    ...(concurrency === undefined ? {} : { concurrency: concurrency ?? undefined }),
    ...(rate === undefined ? {} : { rate: rateOf(rate) }),
    ...(perGroup === undefined ? {} : { perGroup: perGroup === null ? undefined : groupLimitsOf(perGroup) }),
  })
  const found = (yield* queues).find((one) => one.queue === queue)
  // `queues` lists every queue with settings; the default satisfies the type.
  return found ?? { queue, paused: false, counts: {}, running: 0, workers: [] }
})

const rateOf = (rate: Rate | null | undefined) =>
  rate === null || rate === undefined ? undefined : { limit: rate.limit, interval: rate.intervalMillis }

const groupLimitsOf = ({ concurrency, rate }: GroupLimitChange): Queues.GroupLimits => ({
  concurrency: concurrency ?? undefined,
  rate: rateOf(rate),
})

/** A page of the groups of a queue that have commands to execute or limits of their own, by name. */
export const queueGroups = Effect.fn("commands.queueGroups")(function* (queue: string, limit: number, after?: string) {
  const found = yield* Queues.groups(queue, { limit: limit + 1, ...optional({ after }) })
  return {
    groups: found.slice(0, limit).map(groupView),
    ...optional({ next: found.length > limit ? found[limit - 1]?.group : undefined }),
  }
})

const groupView = ({ group, pending, running, own }: GroupRecord) => ({
  group,
  pending,
  running,
  ...optional({ own: own === undefined ? undefined : optional<GroupLimits>(own) }),
})

/** Replaces the limits of one group. Without any, those of all groups apply. */
export const limitGroup = Effect.fn("commands.limitGroup")(function* (queue: string, group: string, change: GroupLimitChange) {
  const { concurrency, rate } = change
  yield* Queues.limitGroup(queue, group, groupLimitsOf(change))
  return { queue, group, ...optional({ concurrency: concurrency ?? undefined, rate: rate ?? undefined }) }
})

export const pauseQueue = (queue: string) => Queues.pause(queue)

export const resumeQueue = (queue: string) => Queues.resume(queue)

/** Timers that the engine gave up after it could not fire them. */
export const deadTimers = (limit: number) => Effect.flatMap(Timers, (timers) => timers.dead(limit))

export interface DeadTimerQuery {
  readonly machine: string
  readonly id: string
  readonly name: string
  /** Selects one of several timers of the name. Default: any. */
  readonly entry?: number
  readonly due?: number
}

/** The most dead timers that one request searches. */
const mostTimers = 1000

/** Revives a dead timer, so that it fires. */
export const reviveTimer = Effect.fn("commands.reviveTimer")(function* ({ machine, id, name, entry, due }: DeadTimerQuery) {
  const { before, isRepeated } = yield* CurrentAttempt
  const timers = yield* Timers
  const dead = Effect.map(timers.dead(mostTimers), (all) => {
    const found = all.find(
      (one) =>
        one.machine === machine &&
        one.id === id &&
        one.name === name &&
        (entry === undefined || one.entry === entry) &&
        (due === undefined || one.due === due),
    )
    return found === undefined ? null : { entry: found.entry, due: found.due }
  })
  const found = yield* before(dead)
  const timer = entry === undefined || due === undefined ? found : { entry, due }
  const isRevived = timer !== null && (yield* timers.revive({ machine, id, name, ...timer }))
  // A repeated request finds the timer already revived.
  if (!isRevived && !(isRepeated && found !== null)) return yield* new TimerNotFound({ name, id })
})
