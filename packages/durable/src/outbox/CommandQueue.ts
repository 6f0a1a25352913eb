/**
 * A queue of commands that application code enqueues, with a schema for their payload.
 *
 * ```ts
 * const Mails = CommandQueue.make("mails", { payload: Schema.Struct({ to: Schema.String }) })
 *
 * yield* Mails.enqueue({ to: "a@b.example" }, { key: "welcome-7" }) // the same key again returns the first command
 *
 * CommandWorker.layer([Mails.handler(({ to }, { key }) => mailer.send(to, { idempotencyKey: key }))])
 * ```
 */
import type { PersistenceFailed } from "@detent/machine"
import { describe, schemaProblem } from "@detent/machine/internal"
import type { InstanceKey } from "@detent/store"
import { Commands, type EnqueueOutcome, type NewCommand } from "@detent/store"
import { groupProblem, lossCheck } from "@detent/store/internal"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import { InstanceNotFound } from "../errors.ts"
import type { FindExecution } from "./Execution.ts"
import { type QueueContext, type QueueOptions, queueExecution } from "./QueueExecution.ts"
import type { WorkerConfig } from "./WorkerConfig.ts"

export type { QueueContext, QueueOptions } from "./QueueExecution.ts"

/** The command does not fit its queue. Nothing was stored. */
export class InvalidCommand extends Schema.TaggedError<InvalidCommand>()("InvalidCommand", {
  queue: Schema.String,
  key: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `queue ${this.queue}: ${this.key} cannot be enqueued: ${this.problem}`
  }
}

export interface EnqueueOptions {
  /** The idempotency key, unique within the queue: the same key again returns the first command. Default: a random one. */
  readonly key?: string
  /** The command is not executed before this time has passed. */
  readonly delay?: Duration.Input
  /** The command is not executed before this time, in milliseconds since 1970. */
  readonly runAt?: number
  /** Commands of higher priority are executed first. Default: 0. */
  readonly priority?: number
  /** The instance it belongs to. */
  readonly instance?: InstanceKey
  /** The command waits until all earlier ordered commands of its instance have ended. Default: false. */
  readonly ordered?: boolean
  /**
   * The tenant or customer that it is for, in at most 500 bytes. The groups of a queue take turns, however many commands each has; `priority`
   * orders the commands of one group. `Queues.limit` and `Queues.limitGroup` limit them. Default: no group.
   */
  readonly group?: string
  /**
   * Until when the key is taken. `"always"`: for as long as the command is kept. `"while pending"`: until a worker takes the command; from
   * then on the key makes a new one. Default: `"always"`.
   */
  readonly unique?: "always" | "while pending"
  /**
   * Waits until no command with this key was enqueued for this long, then executes the last one: while one waits, it gets the new payload and
   * begins to wait again.
   */
  readonly debounce?: Duration.Input
  /** Stores only the first command of this key in each interval of this length; the intervals are counted from 1970. */
  readonly throttle?: Duration.Input
}

export interface Enqueued {
  /** The key of the stored command. With `unique: "while pending"`, `debounce` or `throttle` it is made of the given one. */
  readonly key: string
  readonly number: number
  /** Whether this call stored it. */
  readonly isNew: boolean
}

export type EnqueueError = InvalidCommand | InstanceNotFound | PersistenceFailed

/** Executes the commands of a queue; made by {@link CommandQueue.handler}. */
export interface QueueHandler<out R> {
  readonly queue: string
  readonly "~services": (_: never) => R
  readonly finder: (config: WorkerConfig, context: Context.Context<never>) => FindExecution
}

export interface CommandQueue<in out A> {
  readonly name: string
  /** Stores a command. Inside a SQL transaction the command is part of the transaction, and is rolled back with it. */
  enqueue(payload: A, options?: EnqueueOptions): Effect.Effect<Enqueued, EnqueueError, Commands>
  /** Stores many commands in one transaction: all of them, or none if the store fails. */
  enqueueAll(
    commands: ReadonlyArray<{ readonly payload: A } & EnqueueOptions>,
  ): Effect.Effect<ReadonlyArray<Enqueued>, EnqueueError, Commands>
  /** Returns the handler of its commands, for a `CommandWorker`. */
  handler<X, E = never, R = never>(handle: (payload: A, context: QueueContext) => Effect.Effect<X, E, R> | PromiseLike<X>): QueueHandler<R>
}

export const make = <A>(name: string, options: QueueOptions<A>): CommandQueue<A> => {
  const codec = Schema.toCodecJson(options.payload)
  const encode = Schema.encodeUnknownResult(codec)
  const decode = Schema.decodeUnknownSync(codec)
  const checkLoss = lossCheck(options.payload as Schema.Codec<unknown, unknown>)

  const prepare = (payload: A, given: EnqueueOptions, context: Context.Context<never>): NewCommand | InvalidCommand => {
    const problem = keyProblem(given.key) ?? timeProblem(given) ?? repetitionProblem(given) ?? ownGroupProblem(given.group)
    if (problem !== undefined) return new InvalidCommand({ queue: name, key: describe(given.key ?? name).slice(0, 200), problem })
    const { key, pendingKey, replaces, delayMillis } = placeOf(name, given, context)
    const invalid = (problem: string) => new InvalidCommand({ queue: name, key: describe(key), problem })
    let encoded: ReturnType<typeof encode>
    let parameters: string
    try {
      encoded = encode(payload)
      if (encoded._tag === "Failure")
        return invalid(`its payload does not fit the schema: ${schemaProblem(options.payload, encoded.failure)}`)
      checkLoss?.(encoded.success)
      parameters = JSON.stringify(encoded.success ?? null)
    } catch (cause) {
      return invalid(`its payload cannot be written as JSON: ${describe(cause)}`)
    }
    return {
      key,
      queue: name,
      slot: kindOf(encoded.success) ?? name,
      parameters,
      instance: given.instance,
      priority: given.priority ?? 0,
      ordered: given.ordered ?? false,
      runAt: given.runAt,
      delayMillis,
      group: given.group,
      pendingKey,
      replaces,
    }
  }

  return {
    name,
    enqueue: (payload, given = {}) =>
      Effect.contextWith((context: Context.Context<Commands>) => {
        const command = prepare(payload, given, context)
        if (command instanceof InvalidCommand) return Effect.fail(command)
        return Effect.flatMap(Context.get(context, Commands).enqueue([command]), ([outcome]) => enqueued(command, outcome))
      }),
    enqueueAll: (given) =>
      Effect.contextWith((context: Context.Context<Commands>) => {
        const prepared = given.map(({ payload, ...each }) => prepare(payload, each, context))
        const invalid = prepared.find((one) => one instanceof InvalidCommand)
        if (invalid !== undefined) return Effect.fail(invalid)
        const commands = prepared.filter((one): one is NewCommand => !(one instanceof InvalidCommand))
        return Effect.flatMap(Context.get(context, Commands).enqueue(commands), (outcomes) =>
          Effect.forEach(commands, (command, index) => enqueued(command, outcomes[index])),
        )
      }),
    handler: (handle) => ({
      queue: name,
      "~services": () => undefined as never,
      finder: (config, context) => queueExecution(options, config, context, (json) => decode(JSON.parse(json)), handle),
    }),
  }
}

/** Keys made in sequence lie next to each other in the index: 31 µs for a claim and its end, against 36 with random ones. */
const freshKey = (context: Context.Context<never>): string => {
  const random = Context.get(context, Random.Random)
  const at = Math.floor(Context.get(context, Clock.Clock).currentTimeMillisUnsafe()).toString(36).padStart(9, "0")
  return `${at}-${Math.abs(random.nextIntUnsafe()).toString(36)}${Math.abs(random.nextIntUnsafe()).toString(36)}`
}

/** Under which keys the command is stored, and how long it is delayed. */
const placeOf = (name: string, { key, unique, debounce, throttle, delay }: EnqueueOptions, context: Context.Context<never>) => {
  const delayMillis = Duration.toMillis(Duration.fromInputUnsafe(debounce ?? delay ?? 0))
  if (key === undefined) return { key: `${name}:${freshKey(context)}`, pendingKey: undefined, replaces: false, delayMillis }
  if (throttle !== undefined) {
    const interval = Duration.toMillis(Duration.fromInputUnsafe(throttle))
    const now = Context.get(context, Clock.Clock).currentTimeMillisUnsafe()
    return { key: `${key}@${Math.floor(now / interval) * interval}`, pendingKey: undefined, replaces: false, delayMillis }
  }
  if (debounce !== undefined || unique === "while pending")
    return { key: `${key}@${freshKey(context)}`, pendingKey: key, replaces: debounce !== undefined, delayMillis }
  return { key, pendingKey: undefined, replaces: false, delayMillis }
}

/** Keys of requested effects end in the number of an event and a position. */
const keyProblem = (key: unknown): string | undefined => {
  if (key === undefined) return undefined
  if (typeof key !== "string") return `its key is of type ${typeof key}; give it a string`
  if (key === "") return "its key is empty"
  return /^[^/]+\/.+\/\d+\/\d+$/.test(key)
    ? "keys of the form a/b/1/2 are reserved for effects that instances request; end the key differently"
    : undefined
}

/** Stores would order such commands differently, or never execute them. */
const timeProblem = ({ priority = 0, runAt = 0, delay = 0 }: EnqueueOptions): string | undefined => {
  if (!Number.isSafeInteger(priority)) return `its priority is ${priority}; give it a whole number`
  if (!Number.isFinite(runAt)) return `its runAt is ${runAt}; give it milliseconds since 1970`
  return Number.isNaN(delay) ? "its delay is NaN; give it a duration" : undefined
}

/** The ways to treat commands of the same key exclude each other, and each needs a key. */
const repetitionProblem = ({ key, unique, debounce, throttle, delay, runAt }: EnqueueOptions): string | undefined => {
  const ways = [
    ...(unique === undefined ? [] : [`unique ${describe(unique)}`]),
    ...(debounce === undefined ? [] : ["debounce"]),
    ...(throttle === undefined ? [] : ["throttle"]),
  ]
  const [way] = ways
  if (way === undefined) return undefined
  if (ways.length > 1) return `it has ${ways.join(" and ")}; give one of them`
  if (unique !== undefined && unique !== "always" && unique !== "while pending") return `it is ${way}; use "always" or "while pending"`
  if (key === undefined && unique !== "always") return `it has ${way} and no key; give the key that such commands share`
  if (debounce !== undefined && (delay !== undefined || runAt !== undefined)) return "it has debounce and a time; give one of them"
  const millis = debounce ?? throttle
  if (millis === undefined) return undefined
  const length = Option.getOrElse(Option.map(Duration.fromInput(millis), Duration.toMillis), () => Number.NaN)
  return length >= 1 && Number.isFinite(length)
    ? undefined
    : `its ${way} is ${describe(millis)}; give it a duration of a millisecond or more`
}

const ownGroupProblem = (group: unknown): string | undefined => {
  if (group === undefined) return undefined
  return typeof group === "string" ? groupProblem(group) : `its group is of type ${typeof group}; give it a string`
}

/** Lists and reports show a tagged payload by its tag. */
const kindOf = (encoded: unknown): string | undefined => {
  const tag = (encoded as { readonly _tag?: unknown } | null | undefined)?._tag
  return typeof tag === "string" ? tag : undefined
}

const enqueued = (command: NewCommand, outcome: EnqueueOutcome | undefined): Effect.Effect<Enqueued, EnqueueError> => {
  const { key, queue, instance } = command
  switch (outcome?._tag) {
    case "Enqueued":
    case "Existing":
      return Effect.succeed({
        key: outcome._tag === "Existing" ? (outcome.key ?? key) : key,
        number: outcome.number,
        isNew: outcome._tag === "Enqueued",
      })
    case "PersistenceFailed":
      return Effect.fail(outcome)
    default:
      return Effect.fail(
        instance === undefined ? new InvalidCommand({ queue, key, problem: "the store gave no outcome" }) : new InstanceNotFound(instance),
      )
  }
}
