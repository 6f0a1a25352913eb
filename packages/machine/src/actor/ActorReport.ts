/** What an actor tells others about itself: errors with its name on them, log lines, inspections. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { eventLabel } from "../decide/Timeout.ts"
import type { Tagged } from "../define/Declarations.ts"
import { ActionFailed, describe, InvalidEvent, MachineStopped, type Phase, type SendError, TransitionRefused } from "../MachineError.ts"
import type { ActorEnd } from "./Actor.ts"
import type { ActorState } from "./ActorState.ts"
import type { Inspection } from "./Inspection.ts"

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

/** Tells those who inspect. Nothing is even put together when nobody does. */
export const inspect = (actor: ActorState, what: () => DistributiveOmit<Inspection, "machine" | "id" | "at">) => {
  if (actor.host.inspectors.size === 0) return
  const at = actor.environment.clock.currentTimeMillisUnsafe()
  const inspection = { machine: actor.machine, id: actor.id, at, ...what() } as Inspection
  for (const inspector of [...actor.host.inspectors]) guarded(actor, () => inspector(inspection))
}

/** Calls someone who listens. Should that throw, the log is told and the actor goes on. */
export const guarded = (actor: ActorState, tell: () => void) => {
  try {
    tell()
  } catch (cause) {
    actor.environment.run(Effect.logError(`a listener of ${actor.machine} ${actor.id} threw`, cause))
  }
}

/** Tells the log of a failure that no sender hears of. */
export const report = (actor: ActorState, error: SendError) => {
  if (error._tag === "ActionFailed") inspect(actor, () => ({ _tag: "ActionFailed", error }))
  actor.environment.run(Effect.logError(error.message))
}

/** Refuses an event. */
export const refusal = (actor: ActorState, event: unknown, error: SendError): SendError => {
  inspect(actor, () => ({ _tag: "Refused", event: describe((event as Tagged | undefined | null)?._tag), error }))
  return error
}

export const actionFailed = (
  actor: ActorState,
  phase: Phase,
  cause: unknown,
  event: Tagged | undefined,
  committed = true,
): ActionFailed => {
  const on = event === undefined ? {} : { event: eventLabel(event) }
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

export const stopped = (actor: ActorState, ending: ActorEnd<Tagged> | undefined): MachineStopped =>
  new MachineStopped({
    machine: actor.machine,
    id: actor.id,
    state: actor.currentState._tag,
    reason: ending === undefined ? "it takes no more events" : endingReason(ending),
  })

/** For an event whose sender belonged to a state that has been left since. */
export const stale = (actor: ActorState, event: string): TransitionRefused =>
  new TransitionRefused({
    machine: actor.machine,
    id: actor.id,
    state: actor.currentState._tag,
    event,
    reason: "the state its sender worked for was left",
  })

export const endingReason = (ending: ActorEnd<Tagged>): string => {
  switch (ending._tag) {
    case "Final":
      return `${ending.state._tag} is a final state`
    case "Stopped":
      return ending.reason
    case "Failed":
      return ending.error.message
  }
}

export const describeCause = (cause: Cause.Cause<unknown>): string => describe(Cause.squash(cause))
