/**
 * One family of errors for everything a machine, an actor or a store can refuse or fail at. Each says what
 * happened, carries the data to act on, and never contains the content of a state or an event, which may be secret.
 */
import * as Schema from "effect/Schema"

const instance = { machine: Schema.String, id: Schema.optionalKey(Schema.String) }

const where = (error: { readonly machine: string; readonly id?: string }) =>
  error.id === undefined || error.id === error.machine ? error.machine : `${error.machine} ${error.id}`

/** A machine was declared wrongly. Thrown while the definition is built, since no program can go on with it. */
export class DefinitionError extends Schema.TaggedError<DefinitionError>()("DefinitionError", {
  machine: Schema.optionalKey(Schema.String),
  problem: Schema.String,
  nextStep: Schema.String,
}) {
  override get message() {
    return `${this.machine === undefined ? "" : `machine ${this.machine}: `}${this.problem}; ${this.nextStep}`
  }
}

/** The state has no transition for the event. Nothing changed. */
export class InvalidTransition extends Schema.TaggedError<InvalidTransition>()("InvalidTransition", {
  ...instance,
  state: Schema.String,
  event: Schema.String,
  /** The events this state does accept. */
  accepted: Schema.Array(Schema.String),
}) {
  override get message() {
    const accepted = this.accepted.length === 0 ? "it accepts none" : `it accepts ${this.accepted.join(", ")}`
    return `${where(this)}: state ${this.state} has no transition for event ${this.event}; ${accepted}`
  }
}

/** A guard said no, or a decision returned `refuse`. Nothing changed. */
export class TransitionRefused extends Schema.TaggedError<TransitionRefused>()("TransitionRefused", {
  ...instance,
  state: Schema.String,
  event: Schema.String,
  reason: Schema.String,
}) {
  override get message() {
    return `${where(this)}: state ${this.state} refused event ${this.event}: ${this.reason}`
  }
}

/** What was sent is no event of this machine, or its fields do not fit its schema. Nothing changed. */
export class InvalidEvent extends Schema.TaggedError<InvalidEvent>()("InvalidEvent", {
  ...instance,
  event: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `${where(this)}: ${this.event} cannot be accepted: ${this.problem}`
  }
}

/** What an instance was to begin with does not fit the schema of its state. Nothing was started. */
export class InvalidState extends Schema.TaggedError<InvalidState>()("InvalidState", {
  ...instance,
  state: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `${where(this)}: it cannot begin in state ${this.state}: ${this.problem}`
  }
}

/** The actor has ended: it reached a final state, was stopped, or died. */
export class MachineStopped extends Schema.TaggedError<MachineStopped>()("MachineStopped", {
  ...instance,
  state: Schema.String,
  reason: Schema.String,
}) {
  override get message() {
    return `${where(this)} has ended in state ${this.state}: ${this.reason}`
  }
}

/** Where in a transition a user's function failed. */
export const Phase = Schema.Literals(["guard", "decide", "exit", "enter", "always", "timeout", "spawn", "background", "effect"])
export type Phase = typeof Phase.Type

/** A user's function failed or threw. `committed` tells whether the transition took place all the same. */
export class ActionFailed extends Schema.TaggedError<ActionFailed>()("ActionFailed", {
  ...instance,
  phase: Phase,
  state: Schema.String,
  event: Schema.optionalKey(Schema.String),
  committed: Schema.Boolean,
  cause: Schema.Defect(),
}) {
  override get message() {
    const on = this.event === undefined ? "" : ` on event ${this.event}`
    const effect = this.committed ? "the transition stands" : "nothing changed"
    return `${where(this)}: ${this.phase} failed in state ${this.state}${on}, ${effect}: ${describe(this.cause)}`
  }
}

/** Automatic transitions went on and on. Nothing changed. */
export class EndlessTransition extends Schema.TaggedError<EndlessTransition>()("EndlessTransition", {
  ...instance,
  state: Schema.String,
  event: Schema.String,
  /** The states of the last rounds, in order. */
  path: Schema.Array(Schema.String),
}) {
  override get message() {
    return `${where(this)}: automatic transitions after event ${this.event} in state ${this.state} do not end: ${this.path.join(" → ")} …; make a guard stop them`
  }
}

/** An effectful decision, an enter or an exit took longer than the machine allows. */
export class ProcessingTimeout extends Schema.TaggedError<ProcessingTimeout>()("ProcessingTimeout", {
  ...instance,
  state: Schema.String,
  event: Schema.String,
  duration: Schema.String,
}) {
  override get message() {
    return `${where(this)}: handling event ${this.event} in state ${this.state} took longer than ${this.duration}`
  }
}

/** An id is already taken by a live actor. */
export class ActorExists extends Schema.TaggedError<ActorExists>()("ActorExists", { id: Schema.String }) {
  override get message() {
    return `an actor with the id ${this.id} is running; stop it first or choose another id`
  }
}

/** The store failed. What was being written is not written. */
export class PersistenceFailed extends Schema.TaggedError<PersistenceFailed>()("PersistenceFailed", {
  ...instance,
  operation: Schema.String,
  cause: Schema.Defect(),
}) {
  override get message() {
    return `${where(this)}: ${this.operation} failed: ${describe(this.cause)}`
  }
}

/** Somebody else wrote to the instance since it was read. Reload it and apply the event again. */
export class SequenceConflict extends Schema.TaggedError<SequenceConflict>()("SequenceConflict", {
  machine: Schema.String,
  id: Schema.String,
  expected: Schema.Number,
  actual: Schema.Number,
}) {
  override get message() {
    return `${where(this)}: expected sequence ${this.expected}, found ${this.actual}`
  }
}

/** Not an event but what a replay begins with. */
const stateThatHolds: { readonly [place: string]: string } = {
  "(start) (start)": "its first state",
  "(snapshot) (snapshot)": "its snapshot",
}

/** A stored event no longer fits the definition. The instance is held until it is repaired. */
export class EventReplayError extends Schema.TaggedError<EventReplayError>()("EventReplayError", {
  machine: Schema.String,
  id: Schema.String,
  state: Schema.String,
  event: Schema.String,
  sequence: Schema.Number,
  problem: Schema.String,
}) {
  override get message() {
    const what = stateThatHolds[`${this.state} ${this.event}`] ?? `event ${this.event} in state ${this.state}`
    return `${where(this)} is held at sequence ${this.sequence}: ${what}: ${this.problem}`
  }
}

/** A lock could not be had, or was lost. */
export class LockingFailed extends Schema.TaggedError<LockingFailed>()("LockingFailed", {
  machine: Schema.String,
  id: Schema.String,
  problem: Schema.Literals(["busy", "timed out", "lost", "store failed"]),
  holder: Schema.optionalKey(Schema.String),
  /** Until when it is held, in milliseconds since 1970. */
  until: Schema.optionalKey(Schema.Number),
  cause: Schema.optionalKey(Schema.Defect()),
}) {
  override get message() {
    return `${where(this)}: lock ${this.problem}${this.holder === undefined ? "" : `, held by ${this.holder}`}`
  }
}

/** Why a sent event was not carried out. The last four only happen to instances that are kept in a store. */
export type SendError =
  | InvalidTransition
  | TransitionRefused
  | InvalidEvent
  | MachineStopped
  | ActionFailed
  | EndlessTransition
  | ProcessingTimeout
  | PersistenceFailed
  | SequenceConflict
  | EventReplayError
  | LockingFailed

/** The whole family. */
export type MachineError = SendError | DefinitionError | InvalidState | ActorExists

/** Whatever it is, in words: a value may refuse to be turned into text. */
export const describe = (value: unknown): string => {
  try {
    return value instanceof Error ? value.message : String(value)
  } catch {
    return "a value that cannot be shown"
  }
}

/** The same error, told of a certain instance. */
export const identified = <E extends SendError | InvalidState>(error: E, id: string): E => {
  const constructor = error.constructor as new (fields: object) => E
  // The cause of an Error is not enumerable, so a spread would leave it behind.
  return new constructor({ ...error, ...(error.cause === undefined ? {} : { cause: error.cause }), id })
}
