/**
 * How the actor logic that a chart invokes or spawns is run: a promise is a command, a machine is an instance of its own, and logic
 * that sends events as long as it runs (callbacks, observables) is work of the instance's owner.
 */
import { type AnyActorLogic, type AnyStateMachine, createActor } from "xstate"

export type ActorKind = "promise" | "machine" | "live"

export type NamedActor =
  | { readonly kind: "promise"; readonly logic: AnyActorLogic }
  | { readonly kind: "machine"; readonly logic: AnyStateMachine }
  | { readonly kind: "live"; readonly logic: AnyActorLogic }

/** Logic that does nothing: it stands for actors that live elsewhere. */
export const inertLogic: AnyActorLogic = {
  transition: (snapshot: unknown) => snapshot,
  getInitialSnapshot: () => ({ status: "active", output: undefined, error: undefined }),
  getPersistedSnapshot: (snapshot: unknown) => snapshot,
} as AnyActorLogic

/** The kind of some logic. Undefined if its state exists only in memory, as with `fromTransition`. */
export const namedActor = (logic: AnyActorLogic): NamedActor | undefined => {
  if (isMachine(logic)) return { kind: "machine", logic }
  if (logic.start === undefined) return undefined
  return { kind: isPromise(logic) ? "promise" : "live", logic }
}

/** By its shape: a program may have two copies of XState. */
export const isMachine = (logic: AnyActorLogic): logic is AnyStateMachine => "root" in logic && "implementations" in logic

/** Of all logic with a `start`, only promises end when they receive the event that resolves them. */
const isPromise = (logic: AnyActorLogic): boolean => {
  const { _actorScope: scope } = createActor(inertLogic) as unknown as { readonly _actorScope: never }
  try {
    const resolved = logic.transition(
      logic.getInitialSnapshot(scope, undefined),
      { type: "xstate.promise.resolve", data: undefined },
      scope,
    )
    return resolved.status === "done"
  } catch {
    // A callback that was not started receives nothing.
    return false
  }
}
