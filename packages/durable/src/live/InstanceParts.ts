/** The parts of one live instance, as those that decide for it and read its journal see them. */
import type { SendError } from "@detent/machine"
import type { DecidingInstance } from "../machine/acceptedEvent.ts"
import type { Pending } from "../machine/PendingEvent.ts"
import type { CommitPipeline } from "../runtime/CommitPipeline.ts"
import type { AnsweringInstance, Answers } from "./Answers.ts"
import type { Inbox } from "./Inbox.ts"
import type { InstanceEntry } from "./InstanceContext.ts"
import type { InstanceMode } from "./InstanceMode.ts"
import type { InstancePosition } from "./InstancePosition.ts"
import type { StateWork } from "./StateWork.ts"

export interface InstanceParts extends DecidingInstance, AnsweringInstance, InstanceEntry {
  readonly mode: InstanceMode
  readonly position: InstancePosition
  readonly work: StateWork
  readonly commits: CommitPipeline<Pending>
  readonly answers: Answers
  /** Created when it is first used. */
  readonly inbox: Inbox
  /** The inbox, if any event has waited yet. */
  readonly waiting: Inbox | undefined
  /** Whether decisions are not stored yet. */
  readonly isAhead: boolean
  readonly isLocked: boolean
  /** Reads the journal, because memory is behind it. */
  readAgain(error: SendError): void
}
