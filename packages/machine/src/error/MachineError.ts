/**
 * The errors of machines, actors and stores. Each names what happened, has the data to act on, and never contains the content of a
 * state or an event, which may be secret.
 */
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import type { DefinitionError } from "../schema/DefinitionError.ts"
import { joinLines } from "../schema/IssueText.ts"
import { pathsOf } from "../schema/SchemaProblem.ts"
import { hidden, isSensitive } from "../schema/Sensitive.ts"

const instance = { machine: Schema.String, id: Schema.optionalKey(Schema.String) }

const where = (error: { readonly machine: string; readonly id?: string }) =>
  error.id === undefined || error.id === error.machine ? error.machine : `${error.machine} ${error.id}`

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

/** A guard returned false, or a decision returned `refuse`. Nothing changed. */
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

/** The value sent is not an event of this machine, does not fit its schema, or is too large to store. Nothing changed. */
export class InvalidEvent extends Schema.TaggedError<InvalidEvent>()("InvalidEvent", {
  ...instance,
  event: Schema.String,
  problem: Schema.String,
  /** The characters of the event, or of the parameters of an effect that it requests, where they are above `limit`. */
  size: Schema.optionalKey(Schema.Number),
  limit: Schema.optionalKey(Schema.Number),
}) {
  override get message() {
    return `${where(this)}: ${this.event} cannot be accepted: ${this.problem}`
  }
}

/** The first state of an instance does not fit its schema, or is too large to store. Nothing was started. */
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

/** A user's function failed or threw. `committed` says whether the transition took place anyway. */
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
    return `${where(this)}: ${this.phase} failed in state ${this.state}${on}, ${effect}: ${explain(this.cause)}`
  }
}

/**
 * An endless chain. Of automatic transitions: nothing changed. Of events that the machine sends to itself: the last event is
 * refused.
 */
export class EndlessTransition extends Schema.TaggedError<EndlessTransition>()("EndlessTransition", {
  ...instance,
  state: Schema.String,
  event: Schema.String,
  /** The states of the last automatic transitions, or the last events that the machine sent to itself, in order. */
  path: Schema.Array(Schema.String),
  /** The endless chain. Default: automatic transitions. */
  chain: Schema.optionalKey(Schema.Literals(["automatic transitions", "raised events"])),
}) {
  override get message() {
    const path = `${this.path.join(" → ")} …`
    return this.chain === "raised events"
      ? `${where(this)}: the events it sends to itself do not end, and ${this.event} is refused in state ${this.state}: ${path}; let a decision stop sending them`
      : `${where(this)}: automatic transitions after event ${this.event} in state ${this.state} do not end: ${path}; make a guard stop them`
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

/** The mailbox of the instance is full, or the way to the node that has it. Nothing changed; send the event again later. */
export class Overloaded extends Schema.TaggedError<Overloaded>()("Overloaded", {
  ...instance,
  /** `(on another node)`: this process does not know the state. */
  state: Schema.String,
  /** How many events wait: for the instance, or for all instances of its node. */
  waiting: Schema.Number,
  /** The characters of the events that wait for its node. */
  characters: Schema.optionalKey(Schema.Number),
  /** The node that the events wait for. */
  node: Schema.optionalKey(Schema.String),
}) {
  override get message() {
    if (this.characters !== undefined) {
      const waiting = `${this.waiting} requests of ${this.characters} characters`
      return `${where(this)}: ${waiting} wait already for the node that has it; send it again later`
    }
    return `${where(this)}: ${this.waiting} events wait already in state ${this.state}; send it again later`
  }
}

/** An id is already taken by a live actor. */
export class ActorExists extends Schema.TaggedError<ActorExists>()("ActorExists", { id: Schema.String }) {
  override get message() {
    return `an actor with the id ${this.id} is running; stop it first or choose another id`
  }
}

/** An instance of that id exists already, in memory or in the store. */
export class InstanceExists extends ActorExists.extend<InstanceExists>("InstanceExists")({
  machine: Schema.String,
  /** Its state and status, where they were read. */
  state: Schema.optionalKey(Schema.String),
  status: Schema.optionalKey(Schema.String),
}) {
  override get message() {
    const standing = this.state === undefined ? "" : ` (${this.state}, ${this.status})`
    return `${this.machine} ${this.id} exists${standing}; use ensure or get`
  }
}

/** There is no such instance. */
export class InstanceNotFound extends Schema.TaggedError<InstanceNotFound>()("InstanceNotFound", {
  machine: Schema.String,
  id: Schema.String,
}) {
  override get message() {
    return `there is no instance ${this.id} of machine ${this.machine}; start it first`
  }
}

/** The journal of an instance does not have this sequence number. */
export class SequenceNotReached extends Schema.TaggedError<SequenceNotReached>()("SequenceNotReached", {
  machine: Schema.String,
  id: Schema.String,
  sequence: Schema.Number,
  last: Schema.Number,
}) {
  override get message() {
    return `${this.machine} ${this.id} has no sequence ${this.sequence}: its journal goes from 0 to ${this.last}; ask for one of those`
  }
}

/** A repair that is not needed or does not help. The journal is unchanged. */
export class RepairRefused extends Schema.TaggedError<RepairRefused>()("RepairRefused", {
  machine: Schema.String,
  id: Schema.String,
  sequence: Schema.Number,
  problem: Schema.String,
}) {
  override get message() {
    return `${this.machine} ${this.id} ${this.problem}`
  }
}

/** The store failed, or its answer was lost. The write may have happened. */
export class PersistenceFailed extends Schema.TaggedError<PersistenceFailed>()("PersistenceFailed", {
  ...instance,
  operation: Schema.String,
  cause: Schema.Defect(),
}) {
  override get message() {
    return `${where(this)}: ${this.operation} failed: ${explain(this.cause)}`
  }
}

/** Another process wrote to the instance since it was read. Reload it and apply the event again. */
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

/** Where a replay starts from a state, its name in the message instead of an event. */
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

/**
 * An instance was written by a newer version of its machine than this process has, as happens while a new version is deployed
 * node by node. It is not held: the nodes that have that version run it.
 */
export class NewerVersion extends EventReplayError.extend<NewerVersion>("NewerVersion")({
  /** The version that wrote it. */
  written: Schema.Number,
  /** The version of this process. */
  known: Schema.Number,
  /** The outcome of the event that a node with the newer version has accepted, and the name of the state after it. */
  decided: Schema.optionalKey(Schema.Struct({ outcome: Schema.Literals(["Goto", "Stay", "Stop"]), state: Schema.String })),
}) {
  override get message() {
    if (this.decided !== undefined) {
      const accepted = `${this.machine} ${this.id} has accepted ${this.event} and is in state ${this.decided.state}`
      return `${accepted}, written by version ${this.written}; this process has ${this.known} and cannot read it; deploy it here too`
    }
    return `${this.machine} ${this.id} was written by version ${this.written}, this process has ${this.known}; deploy it here too`
  }
}

/** A lock could not be acquired, or was lost. */
export class LockingFailed extends Schema.TaggedError<LockingFailed>()("LockingFailed", {
  machine: Schema.String,
  id: Schema.String,
  problem: Schema.Literals(["busy", "timed out", "lost", "store failed"]),
  holder: Schema.optionalKey(Schema.String),
  /** When the lock expires, in milliseconds since 1970. */
  until: Schema.optionalKey(Schema.Number),
  cause: Schema.optionalKey(Schema.Defect()),
}) {
  override get message() {
    return `${where(this)}: lock ${this.problem}${this.holder === undefined ? "" : `, held by ${this.holder}`}`
  }
}

/** Why a sent event was not carried out. The last four only occur with instances that are kept in a store. */
export type SendError =
  | InvalidTransition
  | TransitionRefused
  | InvalidEvent
  | MachineStopped
  | ActionFailed
  | EndlessTransition
  | ProcessingTimeout
  | Overloaded
  | PersistenceFailed
  | SequenceConflict
  | EventReplayError
  | LockingFailed

/** Every error of machines, actors and stores. */
export type MachineError =
  | SendError
  | DefinitionError
  | InvalidState
  | ActorExists
  | InstanceExists
  | InstanceNotFound
  | SequenceNotReached
  | RepairRefused
  | NewerVersion

/** Returns a value as text. Never throws, even where the value's own conversion throws. */
export const describe = (value: unknown): string => {
  try {
    return value instanceof Error ? value.message : String(value)
  } catch {
    return "a value that cannot be shown"
  }
}

/** The message of the innermost cause. For a failed request, it names the host that did not answer, and never contains a header. */
export const innermostReason = (error: unknown): string => {
  let inner = error
  for (let depth = 0; depth < 5 && inner instanceof Error && inner.cause !== undefined; depth++) inner = inner.cause
  const message = describe(inner)
  return message === "" && inner instanceof Error && "code" in inner && typeof inner.code === "string" ? inner.code : message
}

/** How many errors of a chain of causes are read. */
const mostCauses = 10

/** Returns an error and its causes, the error first. Ends at a cause that the class of its error declares as sensitive. */
const chainOf = (error: unknown): ReadonlyArray<unknown> => {
  const chain: Array<unknown> = []
  let one = error
  while (chain.length < mostCauses && !chain.includes(one)) {
    chain.push(one)
    if (!(one instanceof Error)) break
    const next = isSecretField(one, "cause") ? undefined : (one.cause ?? firstOf(one))
    if (next === undefined || next === null) break
    one = next
  }
  return chain
}

/** The first of several errors, such as those of the addresses of a host that did not answer. */
const firstOf = (error: Error): unknown => (error instanceof AggregateError ? error.errors[0] : undefined)

const isSecretField = (error: Error, name: string): boolean => {
  const { fields } = error.constructor as { readonly fields?: { readonly [name: string]: Schema.Constraint } }
  const field = fields?.[name]
  return field !== undefined && isSensitive(field)
}

/** The text of one error. A tagged value that is not an `Error` shows its tag only, because its content may be secret. */
const textOf = (error: unknown): string => {
  if (Schema.isSchemaError(error)) return unfit(error)
  if (!(error instanceof Error)) return tagOf(error) ?? describe(error)
  if (error.message !== "" && !isSecretField(error, "message")) return error.message
  return "code" in error && typeof error.code === "string" && !isSecretField(error, "code") ? error.code : error.name
}

/** Names the places that do not fit, without their values. */
const unfit = (error: Schema.SchemaError): string => {
  const paths = pathsOf(error)
  return paths.length === 0 ? "a value does not fit its schema" : `a value does not fit its schema at ${paths.join(", ")}`
}

/** The text without the passwords of addresses such as `postgres://user:password@host`. */
const withoutPasswords = (text: string): string => {
  const [start = "", ...addresses] = text.split("://")
  return [start, ...addresses.map(withoutLogin)].join("://").replaceAll(/\b(password|sslpassword)=[^\s&;]+/gi, `$1=${hidden}`)
}

/** An address after its scheme: keeps the name before a password, and hides a login without one, which may be a token. */
const withoutLogin = (address: string): string => {
  const space = address.search(/\s/)
  const end = address.slice(0, space < 0 ? address.length : space).lastIndexOf("@")
  const nameEnd = address.search(/[\s:/@]/)
  if (end < 0 || nameEnd > end || address[nameEnd] === "/") return address
  return address[nameEnd] === ":" ? `${address.slice(0, nameEnd)}:${hidden}${address.slice(end)}` : `${hidden}${address.slice(nameEnd)}`
}

/**
 * Returns an error and its causes as one text, for logs and other messages to operators. Never throws. Leaves out repeated texts,
 * passwords in addresses, and failures of schemas among the causes, because those quote values.
 */
export const explain = (error: unknown): string => {
  try {
    const [first, ...causes] = chainOf(error)
    const texts = [withoutPasswords(textOf(first))]
    for (const cause of causes) {
      if (Schema.isSchemaError(cause) || SchemaIssue.isIssue(cause)) continue
      if (typeof cause === "object" && !(cause instanceof Error) && tagOf(cause) === undefined) continue
      const text = withoutPasswords(textOf(cause))
      if (text !== "" && !texts.some((before) => before.includes(text))) texts.push(text)
    }
    return texts.join(": ")
  } catch {
    return "a value that cannot be shown"
  }
}

/** Returns the stack frames of an error, or of its first cause that has some; undefined where none has, or where reading them throws. */
export const framesOf = (error: unknown): string | undefined => {
  try {
    for (const one of chainOf(error)) {
      if (!(one instanceof Error) || Schema.isSchemaError(one) || typeof one.stack !== "string") continue
      // The message may have lines that read like frames.
      const after = one.message === "" ? -1 : one.stack.indexOf(one.message)
      const lines = (after < 0 ? one.stack : one.stack.slice(after + one.message.length)).split("\n")
      const frames = lines.filter((line) => /^\s+at /.test(line))
      if (frames.length > 0) return withoutPasswords(frames.join("\n"))
    }
    return undefined
  } catch {
    return undefined
  }
}

/** Returns the explanation of an error in one line, and its stack frames below. For logs, which would show all fields of the error itself. */
export const explainWithFrames = (error: unknown): string => {
  const frames = framesOf(error)
  const line = joinLines(explain(error), " ")
  return frames === undefined ? line : `${line}\n${frames}`
}

/** The tag of a value that may not be an event at all; undefined where it has none, or where reading it throws. */
export const tagOf = (value: unknown): string | undefined => {
  try {
    const tag = (value as { readonly _tag?: unknown } | null | undefined)?._tag
    return typeof tag === "string" ? tag : undefined
  } catch {
    return undefined
  }
}

/** Why a value cannot be an id; undefined where it can. Callers from JavaScript may pass anything. */
export const idProblem = (id: unknown): string | undefined =>
  typeof id === "string" ? undefined : `its id is of type ${typeof id}; give it a string`

/** A copy of an error that names the instance. */
export const identified = <E extends SendError | InvalidState>(error: E, id: string): E => {
  const constructor = error.constructor as new (fields: object) => E
  // The cause of an Error is not enumerable, so a spread does not copy it.
  return new constructor({ ...error, ...(error.cause === undefined ? {} : { cause: error.cause }), id })
}
