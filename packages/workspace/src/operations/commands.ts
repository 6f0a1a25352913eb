/** What a user can do with commands, queues and dead timers. Parameters of commands are not shown: they may be secret. */
import { type CommandFilter, type CommandStatus, Commands, DeadLetters, Journal, Queues, type StoredCommand, Timers } from "@detent/durable"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { CommandNotFailed, CommandNotFound, TimerNotFound } from "../errors.ts"
import { optional, paged } from "../optional.ts"
import { CurrentAttempt, changeOnce } from "../RequestKeys.ts"

export const commandStatuses = [
  "pending",
  "processing",
  "completed",
  "failed",
  "handled",
  "skipped",
] as const satisfies ReadonlyArray<CommandStatus>

export const commandView = ({ instance, worker, problem, finishedAt, ...command }: StoredCommand) => ({
  number: command.number,
  key: command.key,
  queue: command.queue,
  slot: command.slot,
  ...(instance === undefined ? {} : { machine: instance.machine, id: instance.id }),
  sequence: command.sequence,
  status: command.status,
  priority: command.priority,
  attempts: command.attempts,
  ...(command.round === 0 ? {} : { round: command.round }),
  runAt: command.runAt,
  ...optional({ worker, problem }),
  ...(command.errors.length === 0 ? {} : { errors: command.errors }),
  enqueuedAt: command.enqueuedAt,
  ...optional({ finishedAt }),
})

const find = (key: string) =>
  Effect.flatMap(DeadLetters.get(key), Option.match({ onNone: () => Effect.fail(new CommandNotFound({ key })), onSome: Effect.succeed }))

/** Commands in the order they were enqueued. */
export const list = (filter: CommandFilter, limit: number, after: number | undefined) =>
  Effect.gen(function* () {
    const commands = yield* Commands
    const page = yield* commands.list(filter, Math.min(1000, Math.max(1, limit)), after)
    return paged({ commands: page.commands.map(commandView) }, page.next)
  })

export const get = (key: string) => Effect.map(find(key), commandView)

/**
 * Executes a failed command again. Refused, except by force, where its instance has ended or would refuse the result. As a dry run it
 * only says whether it would be. A repeated request does not execute it once more: how often it was retried tells whether it was.
 */
export const retry = (key: string, options: { readonly force?: boolean; readonly dryRun?: boolean } = {}) =>
  Effect.gen(function* () {
    const { before, isRepeated } = yield* CurrentAttempt
    const command = yield* find(key)
    const round = yield* before(Effect.succeed(command.round))
    if (command.round > round) return commandView(command)
    const isRetried = yield* DeadLetters.retry(key, options)
    const after = yield* find(key)
    // Another process may run the same request.
    if (isRetried || (isRepeated && after.round > round)) return commandView(after)
    return yield* new CommandNotFailed({ key, status: after.status })
  })

export interface RetryOnce {
  readonly command: string
  readonly force?: boolean
  readonly dryRun?: boolean
  /** The idempotency key. It belongs to this retry on every surface. */
  readonly key: string | undefined
}

/** The same, once for an idempotency key. A dry run changes nothing, and leaves the key free. */
export const retryOnce = ({ command, force = false, dryRun = false, key }: RetryOnce) => {
  const retried = retry(command, { force, dryRun })
  const change = { operation: force ? "commands.forceRetry" : "commands.retry", params: { key: command }, content: undefined, key }
  return dryRun ? retried : changeOnce(change, retried)
}

/** Gives up a command that failed or still waits. */
export const skip = (key: string, reason: string) =>
  Effect.gen(function* () {
    const { isRepeated } = yield* CurrentAttempt
    const isSkipped = yield* DeadLetters.skip(key, reason)
    const command = yield* find(key)
    const { status, problem } = command
    if (isSkipped || (isRepeated && status === "skipped" && problem === reason)) return commandView(command)
    return yield* new CommandNotFailed({ key, status })
  })

export type RetryFilter = Parameters<typeof DeadLetters.retryAll>[0]

export interface RetryAllOptions {
  readonly dryRun: boolean
  readonly force?: boolean
}

/**
 * Executes all failed commands that match again; as a dry run it only counts them. Those whose instance has ended or would refuse the
 * result are left out and counted as `refused`, except by force.
 */
export const retryAll = (filter: RetryFilter, { dryRun, force = false }: RetryAllOptions) =>
  Effect.gen(function* () {
    const { before, eventId, isRepeated } = yield* CurrentAttempt
    const refused = force ? 0 : (yield* DeadLetters.check(filter)).refused.length
    const answer = (count: number) => ({ count, dryRun, ...(refused === 0 ? {} : { refused }) })
    if (dryRun || eventId === undefined) return answer(yield* DeadLetters.retryAll(filter, { dryRun, force }))
    const counted = DeadLetters.retryAll(filter, { dryRun: true, force })
    const first = yield* before(
      Effect.gen(function* () {
        return { count: yield* counted, at: yield* (yield* Journal).clock }
      }),
    )
    if (!isRepeated) return answer(yield* DeadLetters.retryAll(filter, { dryRun, force }))
    // Those that an earlier attempt at the request has retried are not failed any more, or failed after it.
    const dead = yield* deadLetters(filter, force)
    for (const { key, queue, finishedAt = 0 } of dead) {
      if (finishedAt <= first.at) yield* DeadLetters.retry(key, { queue, force: true })
    }
    return answer(first.count)
  })

/** The failed commands that match and would be retried. */
const deadLetters = (filter: RetryFilter, force: boolean) =>
  Effect.map(DeadLetters.check(filter), ({ accepted, refused }) =>
    force ? [...accepted, ...refused.map(({ command }) => command)] : accepted,
  )

/** Every queue that has settings or commands, with how many commands it has of each status. */
export const queues = Effect.gen(function* () {
  const commands = yield* Commands
  const settings = new Map((yield* commands.queues).map((one) => [one.queue, one]))
  const counts = Map.groupBy(yield* commands.counts, ({ queue }) => queue)
  const names = [...new Set([...settings.keys(), ...counts.keys()])].sort()
  return names.map((queue) => ({
    queue,
    paused: settings.get(queue)?.paused ?? false,
    ...optional({ concurrency: settings.get(queue)?.concurrency }),
    counts: Object.fromEntries((counts.get(queue) ?? []).map(({ status, count }) => [status, count])),
  }))
})

export const pauseQueue = (queue: string) => Queues.pause(queue)

export const resumeQueue = (queue: string) => Queues.resume(queue)

/** Timers that were given up because they could not be fired. */
export const deadTimers = (limit: number) => Effect.flatMap(Timers, (timers) => timers.dead(limit))

export interface DeadTimerQuery {
  readonly machine: string
  readonly id: string
  readonly name: string
  /** Which of several timers of the name; default: any. */
  readonly entry?: number
  readonly due?: number
}

/** More than this of one workspace are no case for one timer at a time. */
const mostTimers = 1000

/** Fires a timer that was given up. */
export const reviveTimer = ({ machine, id, name, entry, due }: DeadTimerQuery) =>
  Effect.gen(function* () {
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
    // A repeated request finds it revived.
    if (!isRevived && !(isRepeated && found !== null)) return yield* new TimerNotFound({ name, id })
  })
