/** Events that commands send to the instance they belong to. */
import { DefinitionError, type SendError } from "@detent/machine"
import type { Tagged } from "@detent/machine/internal"
import type { ClaimedCommand, InstanceKey, Verdict } from "@detent/store"
import type { CommandFailure } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import type { EngineParts } from "../engine/EngineParts.ts"
import { InstanceNotFound } from "../errors.ts"
import { accepted } from "../live/Delivery.ts"
import { Envelope } from "../machine/Envelope.ts"
import { readEvent } from "../machine/Replay.ts"
import { instanceAttributes, isTraced, traced } from "../runtime/Telemetry.ts"
import { commandEventsRefused } from "./CommandMetrics.ts"

/**
 * `Decided`: the instance accepted the event, or refused it for a reason. `TooLarge`: the event cannot be stored, however often it is sent.
 * `Lost`: the store or a lock failed, or the instance has no room for more events, and the outcome is unknown.
 */
export type Delivered =
  | { readonly _tag: "Decided"; readonly refused?: string }
  | { readonly _tag: "TooLarge"; readonly problem: string }
  | { readonly _tag: "Lost"; readonly problem: string }

/** `failure`: set if the event reports that the command failed for good. */
export const deliver = (
  engine: EngineParts,
  key: InstanceKey,
  event: Tagged,
  id: string,
  failure: CommandFailure | undefined,
): Effect.Effect<Delivered> =>
  Effect.matchEffect(send(engine, key, event, id, failure), {
    onSuccess: () => Effect.succeed<Delivered>({ _tag: "Decided" }),
    onFailure: (error) => {
      if (error._tag === "InvalidEvent" && error.size !== undefined)
        return Effect.succeed<Delivered>({ _tag: "TooLarge", problem: error.problem })
      if (!isRefusal(error) || engine.table.isClosed) return Effect.succeed<Delivered>({ _tag: "Lost", problem: error.message })
      const logged = Effect.logWarning(`an event that follows from a command was refused: ${error.message}`)
      return Effect.as(Effect.andThen(Metric.update(commandEventsRefused, 1), logged), {
        _tag: "Decided",
        refused: error.message,
      } satisfies Delivered)
    },
  })

const send = (
  engine: EngineParts,
  key: InstanceKey,
  event: Tagged,
  id: string,
  failure?: CommandFailure,
): Effect.Effect<void, SendError | InstanceNotFound> =>
  Effect.suspend(() => {
    const { delivery, registry, table } = engine
    const registered = registry.get(key.machine)
    if (registered === undefined) return Effect.fail(new InstanceNotFound({ machine: key.machine, id: key.id }))
    const envelope = new Envelope(event, { dedupeId: id, failure })
    const delivered = Effect.suspend(() => delivery.deliver(registered, key.id, envelope, accepted, (absent) => table.open(absent)))
    return Effect.withFiber((fiber) => {
      if (!isTraced(fiber)) return delivered
      return traced("detent.send", { ...instanceAttributes(key), "detent.event": event._tag }, (trace) => {
        envelope.trace = trace
        return delivered
      })
    })
  })

/** Whether the instance has decided: another attempt would be refused too. */
export const isRefusal = ({ _tag }: SendError | InstanceNotFound): boolean =>
  _tag !== "PersistenceFailed" &&
  _tag !== "Overloaded" &&
  _tag !== "SequenceConflict" &&
  _tag !== "LockingFailed" &&
  _tag !== "EventReplayError" &&
  _tag !== "InstanceNotFound"

/**
 * The deduplication id of the event that follows from a command, one for each round: after an operator retries a failed command, the
 * instance that accepted its failure event accepts its success event too.
 */
export const eventIdOf = ({ key, round }: ClaimedCommand): string => (round === 0 ? `@command/${key}` : `@retry/${round}/${key}`)

/**
 * The verdict on a command whose event was delivered before the process that executed it was killed: it is not executed again, and instance
 * and command agree. Undefined if no event was delivered.
 */
export const deliveredBefore = (engine: EngineParts, key: InstanceKey, command: ClaimedCommand): Effect.Effect<Verdict | undefined> =>
  Effect.match(
    Effect.flatMap(engine.journal.findDuplicate(key, eventIdOf(command)), (found) => {
      const registered = engine.registry.get(key.machine)
      return Option.isNone(found) || registered === undefined ? Effect.undefined : readEvent(registered.codec, key, found.value)
    }),
    {
      // It is unknown whether the event was delivered: the worker asks the store again instead of executing the effect twice.
      onFailure: (): Verdict => ({ _tag: "Released", delayMillis: 1000 }),
      onSuccess: (event): Verdict | undefined => (event === undefined ? undefined : (event.failure ?? { _tag: "Completed" })),
    },
  )

/** The failure that is stored with the event that follows from a command; undefined where it did not fail. */
export const failureOf = (verdict: Verdict): CommandFailure | undefined =>
  verdict._tag === "Handled" || verdict._tag === "Failed" ? verdict : undefined

/**
 * The instance as the handler of a command sees it. The events that the handler sends have deduplication ids too, numbered within the
 * command; `undecided` has the ids that the instance has not decided yet.
 */
export const selfOfCommand = (engine: EngineParts, key: InstanceKey, command: ClaimedCommand, undecided: Set<string>) => {
  let sent = 0
  const sendNext = (event: Tagged) =>
    Effect.suspend(() => {
      const id = `${eventIdOf(command)}/${sent++}`
      undecided.add(id)
      return Effect.ensuring(
        send(engine, key, event, id),
        Effect.sync(() => undecided.delete(id)),
      )
    })
  return {
    id: key.id,
    send: sendNext,
    tell: (event: Tagged) =>
      Effect.catch(sendNext(event), (error) => Effect.logWarning(`an event that a command sent was not accepted: ${error.message}`)),
    spawn: () =>
      Effect.die(
        new DefinitionError({
          machine: key.machine,
          problem: "a command of a durable instance cannot spawn an actor: it may run in another process",
          nextStep: "send the instance an event, and spawn in the state it leads to",
        }),
      ),
  }
}
