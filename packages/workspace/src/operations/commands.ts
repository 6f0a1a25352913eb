/** What a user can do with commands, queues and dead timers. Parameters of commands are not shown: they may be secret. */
import { type CommandFilter, Commands, DeadLetters, Queues, type StoredCommand, Timers } from "@detent/durable"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { CommandNotFailed, CommandNotFound, TimerNotFound } from "../errors.ts"
import { optional, paged } from "../optional.ts"

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

/** The command after a change, or why it was not changed. */
const changed = (key: string, wasChanged: boolean) =>
  Effect.flatMap(find(key), (command) =>
    wasChanged ? Effect.succeed(commandView(command)) : Effect.fail(new CommandNotFailed({ key, status: command.status })),
  )

/**
 * Executes a failed command again. Refused, except by force, where its instance has ended or would refuse the result. As a dry run it
 * only says whether it would be.
 */
export const retry = (key: string, options: { readonly force?: boolean; readonly dryRun?: boolean } = {}) =>
  Effect.flatMap(DeadLetters.retry(key, options), (retried) => changed(key, retried))

/** Gives up a command that failed or still waits. */
export const skip = (key: string, reason: string) => Effect.flatMap(DeadLetters.skip(key, reason), (skipped) => changed(key, skipped))

export type RetryFilter = Parameters<typeof DeadLetters.retryAll>[0]

/**
 * Executes all failed commands that match again; as a dry run it only counts them. Those whose instance has ended or would refuse the
 * result are left out and counted as `refused`, except by force.
 */
export const retryAll = (filter: RetryFilter, { dryRun, force = false }: { readonly dryRun: boolean; readonly force?: boolean }) =>
  Effect.gen(function* () {
    const refused = force ? 0 : (yield* DeadLetters.check(filter)).refused.length
    const count = yield* DeadLetters.retryAll(filter, { dryRun, force })
    return { count, dryRun, ...(refused === 0 ? {} : { refused }) }
  })

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

export type DeadTimerKey = Parameters<(typeof Timers)["Service"]["revive"]>[0]

export const reviveTimer = (timer: DeadTimerKey) =>
  Effect.flatMap(
    Effect.flatMap(Timers, (timers) => timers.revive(timer)),
    (revived) => (revived ? Effect.void : Effect.fail(new TimerNotFound({ name: timer.name, id: timer.id }))),
  )
