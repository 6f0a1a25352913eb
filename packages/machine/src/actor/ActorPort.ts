/** The interface of an actor, in memory or durable, for its state work, hooks and commands. */
import type { Tagged } from "../define/Declarations.ts"
import type { ActorState } from "./ActorState.ts"
import type { Message, Result } from "./Mailbox.ts"
import type { StateScope } from "./StateScope.ts"

export interface ActorPort {
  readonly record: ActorState
  /** Delivers an event: it is handled now, or kept as a message. Internal events come from the actor's own work. */
  offer(event: Tagged, internal: boolean): Result | Message
  /** Sends an event of the actor's own work that no caller waits for: a refusal is logged. */
  sendInternal(event: Tagged, scope: StateScope | undefined, timer: string | undefined): void
}
