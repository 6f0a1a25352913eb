/** What work, hooks and timers need of the actor they belong to, however it is kept. */

import type { Tagged } from "../define/Declarations.ts"
import type { ActorState } from "./ActorState.ts"
import type { Message, Result } from "./Mailbox.ts"
import type { StateScope } from "./StateScope.ts"

export interface ActorPort extends ActorState {
  /** Hands over an event: it is handled now, or kept as a message. Internal ones come from the actor's own doing. */
  offer(event: Tagged, internal: boolean): Result | Message
  /** Sends an event of the actor's own that nobody waits for: a refusal is reported, not lost. */
  sendInternal(event: Tagged, residence: StateScope | undefined, timer: string | undefined): void
}
