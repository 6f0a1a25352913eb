/**
 * Decides on one event after the other, on the state ahead of the store. An event is
 *
 *     accepted     its decision is pending, and stored with the next commit
 *     refused      once the decisions before it are stored, and the journal confirms the state that refuses it
 *     answered     a query, which is not journaled: from the stored state
 *     postponed    until the state changes
 *     put back     the first of the inbox: once every pending decision is stored, or the journal was read
 */
import { type Decision, PersistenceFailed, type SendError, SequenceConflict, type Taken } from "@detent/machine"
import {
  actionFailed,
  type Compiled,
  chainLimit,
  decide,
  eventProblem,
  extendChain,
  identified,
  inspect,
  isQuery,
  overloaded,
  stale,
  stopped,
  type Tagged,
} from "@detent/machine/internal"
import type { OpenedInstance } from "@detent/store"
import { isDeliveryId } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { acceptedEvent, endlessChain, labelOf } from "../machine/acceptedEvent.ts"
import { isDelayTimer } from "../machine/DelayedEvents.ts"
import type { Envelope } from "../machine/Envelope.ts"
import { within } from "../runtime/Telemetry.ts"
import type { InstanceParts } from "./InstanceParts.ts"

type DeferredDecision = Extract<Decision<Tagged, Tagged>, { readonly _tag: "Deferred" }>

/** The instance that decides. */
export interface DecidedInstance extends InstanceParts {
  /** Updated on every event. Used to find idle instances. */
  lastUsedAt: number
}

export const decideEvent = (instance: DecidedInstance, envelope: Envelope) => {
  const { mode, record } = instance
  mode.beginDecision()
  try {
    decideOn(instance, envelope)
  } catch (cause) {
    // A check or a getter of the event itself threw: no decision was made.
    refuse(instance, envelope, actionFailed(record, "decide", cause, undefined, false))
  } finally {
    mode.endDecision()
  }
}

const decideOn = (instance: DecidedInstance, envelope: Envelope) => {
  const { key, position, record } = instance
  const { timer } = envelope
  const { compiled, environment } = record
  const { ahead } = position
  // Whole milliseconds, as stores keep them: a replay then decides with the same time.
  instance.lastUsedAt = Math.floor(environment.clock.currentTimeMillisUnsafe())
  if (timer !== undefined) {
    const armed = ahead.timers.get(timer.name)
    if (armed?.entry !== timer.entry) {
      if (timer.entry > ahead.sequence) return readFor(instance, envelope)
      return refuse(instance, envelope, stale(record, `(${timer.name})`))
    }
    if (armed.event !== undefined) envelope.event = armed.event
    else if (isDelayTimer(timer)) return readFor(instance, envelope)
  }
  const { event } = envelope
  const problem = timer === undefined ? eventProblem(compiled, event) : undefined
  if (problem !== undefined) return refuse(instance, envelope, identified(problem, key.id))
  envelope.trace?.deciding(ahead.state)
  const decision = decide(compiled, ahead.state, event, instance.lastUsedAt)
  follow(instance, envelope, decision, instance.lastUsedAt, keepsState(compiled, ahead.state, decision))
}

/**
 * Another node has stored the event that set the timer, and memory does not have it yet: the journal is read once the commit in flight has
 * ended, and the timer is decided again. If the journal does not have that event either, the timer stays in the store, where it becomes a
 * dead letter.
 */
const readFor = (instance: DecidedInstance, envelope: Envelope) => {
  const { isAhead, key } = instance
  if (isAhead) return decideAfterCommit(instance, envelope)
  const cause = new Error("the journal does not have it")
  const error = new PersistenceFailed({ ...key, operation: "read the event that set the timer", cause })
  if (envelope.conflicts++ > 0) return instance.answers.complete(envelope, error)
  instance.inbox.putFirst([envelope])
  instance.readAgain(error)
}

const follow = (instance: DecidedInstance, envelope: Envelope, decision: Decision<Tagged, Tagged>, at: number, keepsState: boolean) => {
  switch (decision._tag) {
    case "Goto":
    case "Stay":
    case "Stop":
      if (decision.answer !== undefined && isUnjournaled(envelope) && isQuery(decision)) return query(instance, envelope, decision)
      return accept(instance, envelope, decision, at, keepsState)
    case "Refused":
      return refuse(instance, envelope, identified(decision.error, instance.key.id))
    case "Postponed":
      return postpone(instance, envelope)
    case "Deferred":
      return decideByEffect(instance, envelope, decision, at)
  }
}

// Accepting

const accept = (instance: DecidedInstance, envelope: Envelope, decision: Taken<Tagged, Tagged>, at: number, keepsState: boolean) => {
  const { key, limits, position, waiting } = instance
  const chain = decision.sends.length === 0 ? undefined : extendChain(envelope.chain, labelOf(envelope, decision))
  const raised = (waiting?.raised ?? 0) + decision.sends.length
  if (chain !== undefined && (chain.length > chainLimit || raised > limits.mailbox))
    return refuse(instance, envelope, endlessChain(key, envelope, decision, chain))
  const { hasScope } = instance.work
  const pending = acceptedEvent(instance, { ahead: position.ahead, envelope, decision, at, chain, keepsState, hasScope })
  if (pending instanceof Error) return refuse(instance, envelope, pending)
  position.decided(pending)
  envelope.trace?.committing(decision, pending.sequence)
  if (decision._tag === "Goto") waiting?.releasePostponed()
  waiting?.decided(envelope)
  if (pending.sent.length > 0) {
    for (const sent of pending.sent) sent.trace = envelope.trace?.raises(key, sent)
    instance.inbox.raise(pending.sent)
  }
  if (pending.isBarrier) instance.mode.awaitCommit()
  instance.commits.append(pending)
}

/** The Effect of a decision must neither depend on a speculative state, nor run again for an event that is journaled. */
const decideByEffect = (instance: DecidedInstance, envelope: Envelope, { effect, event }: DeferredDecision, at: number) => {
  const { context, isAhead, key, machine, mode } = instance
  if (isAhead) return decideAfterCommit(instance, envelope)
  const { repeatedId } = envelope
  if (repeatedId === undefined) return runDecision(instance, envelope, effect, event, at)
  mode.during("deciding", Effect.result(context.loader.firstOutcome(machine, key, repeatedId)), (known) => {
    if (known === undefined) return ended(instance, envelope)
    if (known._tag === "Failure") return instance.giveUp(envelope, known.failure)
    if (known.success !== undefined) return instance.answers.answerFirst(envelope, known.success)
    runDecision(instance, envelope, effect, event, at)
  })
}

const runDecision = (instance: DecidedInstance, envelope: Envelope, effect: DeferredDecision["effect"], event: Tagged, at: number) => {
  const { mode, work } = instance
  const limited = work.runtime.limited(effect, event._tag)
  mode.during("deciding", within(envelope.trace, Effect.result(limited)), (settled) => {
    if (settled === undefined) return ended(instance, envelope)
    if (settled._tag === "Success") follow(instance, envelope, settled.success, at, true)
    else refuse(instance, envelope, settled.failure)
  })
}

/** The instance has ended while the event waited for an Effect or a read. */
const ended = (instance: DecidedInstance, envelope: Envelope) => {
  const { record } = instance
  envelope.complete(stopped(record, record.ending))
}

/** The event is decided again, as the next one, when every decision before it is stored. */
const decideAfterCommit = (instance: DecidedInstance, envelope: Envelope) => {
  instance.inbox.putFirst([envelope])
  instance.mode.awaitCommit()
}

// Postponing

/** Without a lock, another node may have changed the state: the journal is read before an event is postponed. */
const postpone = (instance: DecidedInstance, envelope: Envelope) => {
  if (instance.isAhead || isCurrent(instance)) postponed(instance, envelope)
  else ifCurrent(instance, envelope, () => postponed(instance, envelope))
}

const postponed = (instance: DecidedInstance, envelope: Envelope) => {
  const { answers, inbox, limits, record } = instance
  if (inbox.postponed >= limits.mailbox) return answers.refused(envelope, overloaded(record, inbox.postponed))
  inbox.postpone(envelope)
  inspect(record, () => ({ _tag: "Postponed", event: envelope.event._tag }))
  envelope.trace?.postponed()
  if (envelope.repeatedId !== undefined) answers.answerJournaled(envelope, envelope.repeatedId)
}

// Refusing and answering

/** A query is not journaled. It is answered from the stored state, never from a speculative one. */
const query = (instance: DecidedInstance, envelope: Envelope, decision: Taken<Tagged, Tagged>) => {
  const { answers, context, isAhead, key, mode, record } = instance
  if (isAhead) return decideAfterCommit(instance, envelope)
  if (isCurrent(instance)) return answers.answerQuery(envelope, decision)
  // Another node may have changed the state.
  mode.during("deciding", Effect.result(context.journal.open(key)), (read) => {
    if (read === undefined) return ended(instance, envelope)
    if (read._tag === "Failure") return instance.giveUp(envelope, read.failure)
    const conflict = conflictWith(instance, read.success)
    if (conflict === undefined || record.ending !== undefined) return answers.answerQuery(envelope, decision)
    decideAfterRead(instance, envelope, conflict)
  })
}

const refuse = (instance: DecidedInstance, envelope: Envelope, error: SendError) => {
  const { isAhead, isLocked } = instance
  // Speculative decisions may never be stored: a refusal that depends on one has to wait.
  if (isAhead) return instance.commits.append({ _tag: "Refused", envelope, error })
  const dependsOnState = error._tag === "InvalidTransition" || error._tag === "TransitionRefused"
  if (dependsOnState && !isLocked) return confirmRefusal(instance, envelope, error)
  instance.answers.refuseUnlessJournaled(envelope, error)
}

/**
 * Reads the journal before an event is refused: without a lock, another node may have changed the state. If the journal cannot
 * be read, the sender gets that error: a refusal is as reliable as an acceptance. The same for a timer, whose refusal removes it.
 */
const confirmRefusal = (instance: DecidedInstance, envelope: Envelope, error: SendError) => {
  const refuse = () => instance.answers.refuseUnlessJournaled(envelope, error)
  if (isCurrent(instance)) refuse()
  else ifCurrent(instance, envelope, refuse)
}

/** Reads the journal, and continues if memory has the same. Otherwise the event is decided again. */
const ifCurrent = (instance: DecidedInstance, envelope: Envelope, current: () => void) => {
  const { answers, context, key, mode, record } = instance
  mode.during("deciding", Effect.result(context.journal.open(key)), (read) => {
    if (read === undefined || record.ending !== undefined) return answers.refuseUnlessJournaled(envelope, stopped(record, record.ending))
    if (read._tag === "Failure") return instance.giveUp(envelope, read.failure)
    const conflict = conflictWith(instance, read.success)
    if (conflict !== undefined) return decideAfterRead(instance, envelope, conflict)
    if (mode.departure === "lost") instance.inbox.putFirst([envelope])
    else current()
  })
}

/** Whether no other node can have changed the state, known without a query: by the lock, or by a store in this process. */
const isCurrent = (instance: DecidedInstance): boolean => {
  const { context, isLocked, key, position } = instance
  return isLocked || context.journal.local?.sequence(key, position.startedAt, position.revision) === position.sequence
}

/** The conflict of memory with what was read; undefined if both are the same. */
const conflictWith = (instance: DecidedInstance, read: Option.Option<OpenedInstance>): SequenceConflict | undefined => {
  const { key, position } = instance
  const { sequence: expected } = position
  const actual = position.sequenceIn(Option.getOrUndefined(read)?.record)
  return actual === expected ? undefined : new SequenceConflict({ ...key, expected, actual })
}

const decideAfterRead = (instance: DecidedInstance, envelope: Envelope, conflict: SequenceConflict) => {
  instance.inbox.putFirst([envelope])
  instance.readAgain(conflict)
}

/** Whether a query is not journaled. With an id of its sender it is journaled: the same id gets the same answer again. */
const isUnjournaled = ({ internal, dedupeId }: Envelope): boolean => !internal && (dedupeId === undefined || isDeliveryId(dedupeId))

const keepsState = ({ declarations }: Compiled, from: Tagged, decision: Decision<Tagged, Tagged>): boolean =>
  declarations.keepsState !== undefined &&
  (decision._tag === "Goto" || decision._tag === "Stay") &&
  declarations.keepsState(from, decision.event, decision.state)
