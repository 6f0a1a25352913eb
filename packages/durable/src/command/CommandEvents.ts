/** Events that commands send to the instance they belong to. */
import { DefinitionError, type SendError } from "@detent/machine"
import type { Tagged } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import type { EngineCore } from "../engine/EngineCore.ts"
import type { InstanceNotFound } from "../InstanceNotFound.ts"
import { awaitEnvelope, Envelope } from "../instance/Envelope.ts"
import { readEvent } from "../instance/Replay.ts"
import type { ClaimedCommand, Verdict } from "../store/Commands.ts"
import type { InstanceKey } from "../store/Commit.ts"
import { commandEventsRefused } from "./CommandMetrics.ts"

/** `Heard`: it was decided on, by being taken or refused. `Lost`: the store or a lock stood in the way. */
export type Delivered = { readonly _tag: "Heard" } | { readonly _tag: "Lost"; readonly problem: string }

/** `failure`: where the event tells that the command failed for good, with what. */
export const deliver = (
  core: EngineCore,
  key: InstanceKey,
  event: Tagged,
  id: string,
  failure: string | undefined,
): Effect.Effect<Delivered> =>
  Effect.matchEffect(send(core, key, event, id, failure), {
    onSuccess: () => Effect.succeed<Delivered>({ _tag: "Heard" }),
    onFailure: (error) => {
      if (!isRefusal(error) || core.isClosed) return Effect.succeed<Delivered>({ _tag: "Lost", problem: error.message })
      const told = Effect.logWarning(`what followed from a command was refused: ${error.message}`)
      return Effect.as(Effect.andThen(Metric.update(commandEventsRefused, 1), told), { _tag: "Heard" } satisfies Delivered)
    },
  })

const send = (
  core: EngineCore,
  key: InstanceKey,
  event: Tagged,
  id: string,
  failure?: string,
): Effect.Effect<void, SendError | InstanceNotFound> =>
  Effect.flatMap(core.open(key), (cell) => Effect.asVoid(awaitEnvelope(cell.deliver(new Envelope(event, { dedupeId: id, failure })))))

const isRefusal = ({ _tag }: SendError | InstanceNotFound): boolean =>
  _tag !== "PersistenceFailed" &&
  _tag !== "SequenceConflict" &&
  _tag !== "LockingFailed" &&
  _tag !== "EventReplayError" &&
  _tag !== "InstanceNotFound"

/**
 * The id of the event that follows from a command: one for each round. Whoever retries a command by hand after the instance was
 * told of its failure wants the instance to be told of its success too.
 */
export const eventIdOf = ({ key, round }: ClaimedCommand): string => (round === 0 ? `@command/${key}` : `@retry/${round}/${key}`)

/**
 * How a command ended of which the instance was told before whoever executed it was killed: then it is not executed again, and
 * the instance and the command say the same. Undefined where nothing was told.
 */
export const toldBefore = (core: EngineCore, key: InstanceKey, command: ClaimedCommand): Effect.Effect<Verdict | undefined> =>
  Effect.match(
    Effect.flatMap(core.journal.findDuplicate(key, eventIdOf(command)), (found) => {
      const registered = core.registered(key.machine)
      return Option.isNone(found) || registered === undefined ? Effect.undefined : readEvent(registered.codec, key, found.value)
    }),
    {
      // It is not known whether it was told: the store is asked again, rather than the effect executed twice.
      onFailure: (): Verdict => ({ _tag: "Released", delayMillis: 1000 }),
      onSuccess: (told): Verdict | undefined => {
        if (told === undefined) return undefined
        return told.failure === undefined ? { _tag: "Completed" } : { _tag: "Failed", problem: told.failure }
      },
    },
  )

/** The instance as the handler of a command sees it. What it sends has ids too: the first, the second, of this command. */
export const selfOfCommand = (core: EngineCore, key: InstanceKey, command: ClaimedCommand) => {
  let sent = 0
  const next = () => `${eventIdOf(command)}/${sent++}`
  return {
    id: key.id,
    send: (event: Tagged) => Effect.suspend(() => send(core, key, event, next())),
    tell: (event: Tagged) =>
      Effect.suspend(() =>
        Effect.catch(send(core, key, event, next()), (error) => Effect.logWarning(`what a command sent was not taken: ${error.message}`)),
      ),
    spawn: () =>
      Effect.die(
        new DefinitionError({
          machine: key.machine,
          problem: "a command of a durable instance cannot spawn an actor: it may run in another process",
          nextStep: "send the instance an event, and spawn in the state that leads to",
        }),
      ),
  }
}
