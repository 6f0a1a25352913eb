/** Errors, log lines and inspections of an actor, with its machine and id on them. */
import * as Effect from "effect/Effect"
import { eventLabel } from "../decision/Timeout.ts"
import type { Tagged } from "../define/Declarations.ts"
import { ActionFailed, InvalidEvent, Overloaded, type Phase, type SendError, TransitionRefused, tagOf } from "../error/MachineError.ts"
import { type ActorState, guarded } from "./ActorState.ts"
import type { Inspection } from "./Inspection.ts"

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

/** Notifies the inspectors. The inspection is built only if there are any. */
export const inspect = (actor: ActorState, what: () => DistributiveOmit<Inspection, "machine" | "id" | "at">) => {
  if (actor.host.inspectors.size === 0) return
  const at = actor.environment.clock.currentTimeMillisUnsafe()
  const inspection = { machine: actor.machine, id: actor.id, at, ...what() } as Inspection
  for (const inspector of [...actor.host.inspectors]) guarded(actor, () => inspector(inspection))
}

/** Logs a failure that no sender receives. */
export const report = (actor: ActorState, error: SendError) => {
  if (error._tag === "ActionFailed") inspect(actor, () => ({ _tag: "ActionFailed", error }))
  actor.environment.run(Effect.logError(error.message))
}

/** Logs the refusal of an event that no caller waits for, unless it is the usual end of a state or an instance. */
export const reportRefusal = (actor: ActorState, result: unknown) => {
  if (!(result instanceof Error)) return
  const error = result as SendError
  if (error._tag !== "MachineStopped" && error._tag !== "TransitionRefused") report(actor, error)
}

/** Refuses an event. */
export const refusal = (actor: ActorState, event: unknown, error: SendError): SendError => {
  inspect(actor, () => ({ _tag: "Refused", event: tagOf(event) ?? "a value without _tag", error }))
  return error
}

export const actionFailed = (
  actor: ActorState,
  phase: Phase,
  cause: unknown,
  event: Tagged | undefined,
  committed = true,
): ActionFailed => {
  // Reading the event may have thrown.
  const on = tagOf(event) === undefined ? {} : { event: eventLabel(event as Tagged) }
  return new ActionFailed({ machine: actor.machine, id: actor.id, phase, state: actor.currentState._tag, committed, cause, ...on })
}

/** Only an event made with `Event.reply` has an answer. */
export const notAQuestion = (actor: ActorState, event: Tagged): InvalidEvent =>
  new InvalidEvent({
    machine: actor.machine,
    id: actor.id,
    event: event._tag,
    problem: "it has no answer; declare it with Event.reply, or use send",
  })

/** For an event whose sender belonged to a state that has been left since. */
export const stale = (actor: ActorState, event: string): TransitionRefused =>
  new TransitionRefused({
    machine: actor.machine,
    id: actor.id,
    state: actor.currentState._tag,
    event,
    reason: "the state that its sender belonged to was left",
  })

/** For an event sent to a full mailbox. */
export const overloaded = (actor: ActorState, waiting: number): Overloaded =>
  new Overloaded({ machine: actor.machine, id: actor.id, state: actor.currentState._tag, waiting })

/** For an actor that would wait for itself: its own hook or decision sends it an event and waits for the outcome. */
export const waitsForItself = (actor: ActorState, event: Tagged): ActionFailed =>
  actionFailed(
    actor,
    "decide",
    new Error("its own enter, exit or decision sends it an event and waits for it; use self.send, which does not wait"),
    event,
    false,
  )
