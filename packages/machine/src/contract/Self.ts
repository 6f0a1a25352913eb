/** The interface of an actor for work that runs inside it. */
import type * as Effect from "effect/Effect"
import type {
  ActionFailed,
  ActorExists,
  EndlessTransition,
  InvalidState,
  InvalidTransition,
  MachineStopped,
  SendError,
} from "../error/MachineError.ts"
import type { Actor } from "./Actor.ts"
import type { Definition } from "./MachineType.ts"

/** An actor as seen by its own work. */
export interface Self<in E> {
  readonly id: string
  /**
   * Sends an event to the actor and waits until it is decided. Once the state of this work is left, its
   * events are dropped.
   */
  send(event: E): Effect.Effect<void, SendError>
  /** Sends an event without waiting for it. If the actor refuses it, the refusal is logged. */
  tell(event: E): Effect.Effect<void>
  /** Starts an actor that lives no longer than the state this work belongs to. */
  spawn<S2, E2, I2, R2>(
    id: string,
    machine: Definition<S2, E2, I2, R2>,
    ...input: InputArguments<S2, I2>
  ): Effect.Effect<Actor<S2, E2>, SpawnError, R2>
}

/** A machine whose initial state is a value may be started without input. */
export type InputArguments<S, I> = [I] extends [void] ? [state?: NoInfer<S>] : [input: NoInfer<I | S>]

/** Why an actor could not be started. */
export type SpawnError = ActorExists | ActionFailed | EndlessTransition | InvalidState | InvalidTransition | MachineStopped
