/** Commands that failed for good: to be inspected, and then retried or skipped. */
import type { PersistenceFailed } from "@detent/machine"
import { compiledOf, type Tagged } from "@detent/machine/internal"
import { type CommandFilter, type CommandPage, Commands, Journal, type StoredCommand } from "@detent/store"
import { storedKey } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Engine, type KnownMachine } from "./Engine.ts"

type DeadFilter = Omit<CommandFilter, "status">
type Answer<A> = Effect.Effect<A, PersistenceFailed, Commands>

/** Returns a page of dead letters in the order they were enqueued; `after` is `next` of the previous page. */
export const list = (filter: DeadFilter = {}, limit = 100, after?: number): Answer<CommandPage> =>
  Effect.flatMap(Commands, (commands) => commands.list({ ...filter, status: "failed" }, limit, after))

/**
 * Keys are unique within their queue. The idempotency key that a handler got, with the id of the database, names the command too. Without a queue, the
 * operation applies to all commands with the key.
 */
export interface KeyScope {
  readonly queue?: string
}

/** A command by its key, in any status; without a queue, the first that was enqueued. */
export const get = (key: string, { queue }: KeyScope = {}): Answer<Option.Option<StoredCommand>> =>
  Effect.flatMap(Commands, (commands) => commands.get(storedKey(commands.databaseId, key), queue))

/** Also retries commands that {@link check} refuses. */
export interface Force {
  readonly force?: boolean
}

/**
 * Retries one dead letter, with all its attempts. Returns false if the command has not failed. Fails if {@link check} refuses it, except
 * with `force`. With `dryRun` it only returns whether it would retry.
 */
export const retry = (
  key: string,
  { force = false, dryRun = false, ...scope }: KeyScope & Force & { readonly dryRun?: boolean } = {},
): Effect.Effect<boolean, PersistenceFailed | RetryRefused, Commands> =>
  Effect.gen(function* () {
    const found = force && !dryRun ? Option.none() : yield* get(key, scope)
    const isFailed = Option.isSome(found) && found.value.status === "failed"
    if (isFailed && !force) {
      const reason = yield* (yield* retryCheck)(found.value)
      if (reason !== undefined) return yield* new RetryRefused({ key, reason })
    }
    return dryRun ? isFailed : (yield* retrying({ ...scope, key })) > 0
  })

/** Retries all matching dead letters that {@link check} does not refuse. Returns their number; with `dryRun` it only counts them. */
export const retryAll = (
  filter: DeadFilter,
  { dryRun = false, force = false }: Force & { readonly dryRun?: boolean } = {},
): Answer<number> =>
  Effect.gen(function* () {
    if (force) return yield* dryRun ? Effect.flatMap(Commands, (commands) => commands.countRetries(filter)) : retrying(filter)
    const { accepted, refused } = yield* check(filter)
    if (dryRun) return accepted.length
    if (refused.length === 0) return yield* retrying(filter)
    const counts = yield* Effect.forEach(accepted, ({ key, queue }) => retrying({ key, queue }))
    return counts.reduce((sum, count) => sum + count, 0)
  })

export interface RetryPlan {
  readonly accepted: ReadonlyArray<StoredCommand>
  /** Commands of instances that have ended or would refuse the event that follows, each with the reason. */
  readonly refused: ReadonlyArray<{ readonly command: StoredCommand; readonly reason: string }>
}

/**
 * Distinguishes dead letters that can be retried from those whose result no instance would accept. It needs the `Journal` to find ended
 * instances, and the `Engine` to find the events that a state accepts; without these services it refuses fewer.
 */
export const check = (filter: DeadFilter = {}): Answer<RetryPlan> =>
  Effect.gen(function* () {
    const refusalOf = yield* retryCheck
    const accepted: Array<StoredCommand> = []
    const refused: Array<RetryPlan["refused"][number]> = []
    let after: number | undefined
    do {
      const page = yield* list(filter, 500, after)
      for (const command of page.commands) {
        const reason = yield* refusalOf(command)
        if (reason === undefined) accepted.push(command)
        else refused.push({ command, reason })
      }
      after = page.next
    } while (after !== undefined)
    return { accepted, refused }
  })

/** A command was not retried: no instance would accept its result. */
export class RetryRefused extends Schema.TaggedError<RetryRefused>()("RetryRefused", { key: Schema.String, reason: Schema.String }) {
  override get message() {
    return `command ${this.key} is not executed again: ${this.reason}; force it, or skip it with a reason`
  }
}

/** Skips a failed or pending command, for a reason that is kept with it. Returns false if it is being executed or has ended. */
export const skip = (key: string, reason: string, { queue }: KeyScope = {}): Answer<boolean> =>
  Effect.flatMap(Commands, (commands) =>
    Effect.tap(commands.skip(storedKey(commands.databaseId, key), reason, queue), (isSkipped) =>
      Effect.sync(() => {
        // An ordered command may have waited for this one.
        if (isSkipped) commands.signal.announce(undefined)
      }),
    ),
  )

const retrying = ({ key, ...filter }: DeadFilter & { readonly key?: string }): Answer<number> =>
  Effect.flatMap(Commands, (commands) =>
    Effect.tap(commands.retry(key === undefined ? filter : { ...filter, key: storedKey(commands.databaseId, key) }), (count) =>
      Effect.sync(() => {
        if (count > 0) commands.signal.announce(filter.queue === undefined ? undefined : new Set([filter.queue]))
      }),
    ),
  )

/** Returns why a command should not be executed again; undefined if it can be. */
type RetryCheck = (command: StoredCommand) => Effect.Effect<string | undefined>

/**
 * Whether it makes sense to execute a dead letter again, with the available services: its instance must be able to accept the event that
 * follows. If the instance has ended, or its state has no transition for that event, the result of the effect is lost, for example of a
 * payment. Without a journal the check refuses nothing, without an engine it does not check events.
 */
const retryCheck: Effect.Effect<RetryCheck> = Effect.gen(function* () {
  const journal = Option.getOrUndefined(yield* Effect.serviceOption(Journal))
  const engine = Option.getOrUndefined(yield* Effect.serviceOption(Engine))
  return (command) => {
    const { instance } = command
    if (journal === undefined || instance === undefined) return Effect.undefined
    return Effect.map(Effect.option(journal.open(instance)), (found) => {
      const record = Option.getOrUndefined(Option.flatten(found))?.record
      if (record === undefined) return undefined
      const name = `${instance.machine} ${instance.id}`
      if (record.status === "final" || record.status === "stopped") return `${name} has ended in ${record.tag}`
      const machine = Option.getOrUndefined(engine?.machine(instance.machine) ?? Option.none())
      const event = machine === undefined ? undefined : followingTag(machine, command)
      return event === undefined || machine === undefined || accepts(machine, record.tag, event)
        ? undefined
        : `${name} is in ${record.tag}, which has no transition for ${event}`
    })
  }
})

/** The tag of the event that `onSuccess` makes. There is no result yet, so the function gets a stand-in. */
const followingTag = (machine: KnownMachine, { slot, key, instance }: StoredCommand): string | undefined => {
  const onSuccess = compiledOf(machine).declarations.commands?.[slot]?.onSuccess
  if (onSuccess === undefined) return undefined
  try {
    return (onSuccess(standIn, { id: instance?.id ?? "", key, parameters: standIn as object }) as Tagged | undefined)?._tag
  } catch {
    // It computes with the result, so its event cannot be predicted.
    return undefined
  }
}

/** Has every property, which again is a stand-in. */
const standIn: unknown = new Proxy(() => undefined, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => "" : standIn),
  apply: () => standIn,
})

const accepts = (machine: KnownMachine, state: string, event: string): boolean => {
  const node = compiledOf(machine).nodes.get(state)
  return node === undefined || node.on.has(event) || node.postponed.has(event)
}
