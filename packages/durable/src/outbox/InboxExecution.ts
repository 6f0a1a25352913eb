/**
 * Carries out what clients of the database have sent by its SQL functions, `detent.send` and `detent.start`: commands in the inbox of a
 * machine, ordered per instance. An event has the key of its sender as its deduplication id, or an id of its command, so that the instance
 * accepts it once, whichever processes are killed. A start of an instance that exists changes nothing.
 *
 * An event that the instance postpones must not hold up the event that it waits for: a command without an order takes its place.
 */
import { RetryPolicy, type SendError } from "@detent/machine"
import { describe, failedBecause, firstTag, type Tagged } from "@detent/machine/internal"
import type { CommandsService, NewCommand, Verdict } from "@detent/store"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { EngineParts } from "../engine/EngineParts.ts"
import type { InstanceNotFound } from "../errors.ts"
import { accepted } from "../live/Delivery.ts"
import { storedActor } from "../machine/Actor.ts"
import { Envelope } from "../machine/Envelope.ts"
import type { RegisteredMachine } from "../machine/MachineRegistry.ts"
import { eventIdOf, isRefusal } from "./CommandEvents.ts"
import { cut, type Failure, type FindExecution, type Held, traced, verdictOn } from "./Execution.ts"
import type { WorkerConfig } from "./WorkerConfig.ts"

const Sent = Schema.Struct({
  id: Schema.String,
  /** The event, or the fields of the first state. */
  body: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)),
  /** The key of the sender, or the deduplication id of the command that this one takes the place of. */
  key: Schema.NullOr(Schema.String),
  /** The role of the database that called the function. */
  by: Schema.String,
})

type Sent = typeof Sent.Type

const SentJson = Schema.fromJsonString(Sent)
const decode = Schema.decodeUnknownSync(SentJson)
const encode = Schema.encodeSync(SentJson)

/** How often an event that is not answered is looked for among the postponed ones. */
const lookMillis = 100

/** An event to an instance on another node, which does not say what it postpones, is taken for postponed after this. */
const remoteMillis = 30_000

export const inboxExecution =
  (engine: EngineParts, registered: RegisteredMachine, config: WorkerConfig, commands: CommandsService): FindExecution =>
  (command) => {
    const judge = (failure: Failure) => verdictOn(failure, {}, undefined, config.retry, command.attempts)
    const sent = readSent(command)
    const carryOut = Effect.suspend((): Effect.Effect<Verdict> => {
      if (typeof sent === "string") return Effect.succeed(failed(sent))
      const done: Effect.Effect<void, string | SendError | InstanceNotFound> =
        command.slot === "start" ? start(engine, registered, sent) : send(engine, registered, commands, command, sent)
      return Effect.matchEffect(done, {
        onSuccess: () => Effect.succeed<Verdict>({ _tag: "Completed" }),
        onFailure: (error): Effect.Effect<Verdict> => {
          if (engine.table.isClosed) return Effect.succeed({ _tag: "Released", delayMillis: 0 })
          if (typeof error === "string") return Effect.succeed(failed(error))
          if (error._tag === "InstanceNotFound")
            return Effect.succeed(failed(`${error.message}; start it, for example with detent.start, then retry the command`))
          return isRefusal(error) ? Effect.succeed(failed(error.message)) : judge(failedBecause(error.message, true, error))
        },
      })
    })
    return {
      timeoutMillis: config.timeoutMillis,
      maxAttempts: RetryPolicy.maxAttempts(config.retry),
      run: (effect) => registered.environment.run(effect),
      isPostponed: () => typeof sent !== "string" && isPostponed(engine, registered, sent.id, sent.key ?? eventIdOf(command)),
      execute: traced(registered.environment.context, command, carryOut),
      conclude: judge,
    }
  }

const failed = (problem: string): Verdict => ({ _tag: "Failed", problem: cut(problem) })

/** Returns the problem where the parameters cannot be read. */
const readSent = ({ parameters }: Held): Sent | string => {
  try {
    return decode(parameters)
  } catch (cause) {
    return `its parameters cannot be read: ${describe(cause)}`
  }
}

const isPostponed = ({ table }: EngineParts, { name }: RegisteredMachine, id: string, dedupeId: string): boolean =>
  table.find({ machine: name, id })?.isPostponed(dedupeId) === true

const send = (engine: EngineParts, registered: RegisteredMachine, commands: CommandsService, command: Held, sent: Sent) =>
  Effect.suspend((): Effect.Effect<void, string | SendError | InstanceNotFound> => {
    const { id, body } = sent
    const dedupeId = sent.key ?? eventIdOf(command)
    let event: Tagged
    try {
      event = registered.codec.decodeEvents([body], registered.version)[0] as Tagged
    } catch (cause) {
      return Effect.fail(`its event does not fit: ${describe(cause)}`)
    }
    const { delivery, remote, table } = engine
    const sending = delivery.deliver(
      registered,
      id,
      new Envelope(event, { dedupeId, by: storedActor({ kind: "user", name: `of the database ${sent.by}` }) }),
      accepted,
      (key) => table.open(key),
    )
    if (!command.ordered) return sending
    const isRemote = remote.routeTo({ machine: registered.name, id }) !== undefined
    const postponed = isRemote ? Effect.sleep(remoteMillis) : untilPostponed(engine, registered, id, dedupeId)
    const replacement: NewCommand = {
      ...command,
      key: `${command.key} postponed`,
      parameters: encode({ ...sent, key: dedupeId }),
      instance: undefined,
      ordered: false,
      runAt: undefined,
      delayMillis: 0,
    }
    return Effect.raceFirst(sending, Effect.andThen(postponed, Effect.asVoid(commands.enqueue([replacement]))))
  })

const untilPostponed = (engine: EngineParts, registered: RegisteredMachine, id: string, dedupeId: string): Effect.Effect<void> =>
  Effect.flatMap(Effect.sleep(lookMillis), () =>
    isPostponed(engine, registered, id, dedupeId) ? Effect.void : untilPostponed(engine, registered, id, dedupeId),
  )

/** The input is a whole state, or the fields of the first state, as for a start over HTTP. */
const start = (engine: EngineParts, registered: RegisteredMachine, { id, body }: Sent) =>
  Effect.suspend((): Effect.Effect<void, string | SendError> => {
    let state: Tagged | undefined
    try {
      const given = body === null ? undefined : { _tag: firstTag(registered.definition as Parameters<typeof firstTag>[0]), ...body }
      state = given === undefined ? undefined : registered.codec.stateOf(given, registered.version)
    } catch (cause) {
      return Effect.fail(`its input does not fit: ${describe(cause)}`)
    }
    return engine.begin(registered, id, state).pipe(
      Effect.asVoid,
      Effect.catchTag("ActorExists", () => Effect.void),
      Effect.catchTag(["InvalidState", "InvalidTransition", "TransitionRefused"], ({ message }) => Effect.fail(message)),
    )
  })
