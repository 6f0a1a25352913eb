/**
 * Answers the senders of one instance. Owns the events in progress by their ids, the timers that have fired, and the answers that were found
 * in the journal before memory has reached them.
 *
 * An event that is sent again under its id gets its first outcome, in any state of the instance: where the journal may have the id, it is
 * asked before an answer is given that depends on the present state. An event of another tag under a used id is refused: otherwise it
 * would be taken for the first event and lost. Events of one tag may differ in their fields, because a sender may build the event anew for
 * each attempt, for instance with the time of the attempt.
 */
import { InvalidEvent, type SendError, type Taken } from "@detent/machine"
import { type ActorState, type Result, refusal, type Tagged } from "@detent/machine/internal"
import type { InstanceKey, TimerRecord } from "@detent/store"
import { isRaisedId, reservedPrefix } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import { Envelope } from "../machine/Envelope.ts"
import type { RegisteredMachine } from "../machine/MachineRegistry.ts"
import { record as count, eventsRefused, eventsRepeated } from "../runtime/Telemetry.ts"
import type { FirstOutcome, InstanceContext } from "./InstanceContext.ts"

/** The instance that answers. */
export interface AnsweringInstance {
  readonly key: InstanceKey
  readonly machine: RegisteredMachine
  readonly record: ActorState
  readonly context: InstanceContext
  /** The store or a lock failed while an event was answered. */
  giveUp(envelope: Envelope, error: SendError): void
  /** The event of a timer was refused. */
  timerRefused(timer: TimerRecord, error: SendError): void
  /** An answer waits until memory has reached its sequence. */
  awaitSequence(): void
}

/** An answer found in the journal, at a sequence that memory has not reached yet. */
interface KnownAnswer {
  readonly envelope: Envelope
  readonly first: FirstOutcome
}

const none: ReadonlyArray<never> = []

export class Answers {
  readonly #instance: AnsweringInstance
  /** Created with the first event that has an id: most timers fire in instances that have none, and a map takes 170 bytes. */
  #underway: Map<string, Envelope> | undefined = undefined
  #firing: ReadonlyArray<Envelope> = none
  #known: ReadonlyArray<KnownAnswer> = none

  constructor(instance: AnsweringInstance) {
    this.#instance = instance
  }

  /** Whether answers wait for memory to reach their sequence. */
  get hasKnown(): boolean {
    return this.#known.length > 0
  }

  /** Whether an event of this id is in progress: then both share one outcome. Otherwise this one is in progress now. */
  joins(envelope: Envelope, dedupeId: string): boolean {
    const first = this.#underway?.get(dedupeId)
    if (first === undefined || first.result !== undefined) {
      this.#underway ??= new Map()
      this.#underway.set(dedupeId, envelope)
      return false
    }
    if (isIdOfAnother(envelope, first.event))
      this.refused(envelope, idTaken(this.#instance.key, envelope, `${first.event._tag}, which is in progress`))
    else envelope.follow(first)
    return true
  }

  /**
   * The event of a timer that fires. `isNew`: it is not in progress yet. A timer that both the timer heap and the sweeper fire is handled once.
   */
  firing(timer: TimerRecord, event: Tagged): { readonly envelope: Envelope; readonly isNew: boolean } {
    const envelope = new Envelope(event, { timer })
    if (this.#firing.length > 0) this.#firing = this.#firing.filter((one) => one.result === undefined)
    const first = this.#firing.find((one) => one.timer?.name === timer.name && one.timer.entry === timer.entry)
    if (first !== undefined) envelope.follow(first)
    else this.#firing = this.#firing.length === 0 ? [envelope] : [...this.#firing, envelope]
    return { envelope, isNew: first === undefined }
  }

  /** The event is stored: the journal has its id from now on. */
  stored({ dedupeId }: Envelope) {
    if (dedupeId !== undefined) this.#underway?.delete(dedupeId)
  }

  /** The id is free again, unless another event has taken it since. */
  complete(envelope: Envelope, result: Result) {
    const { dedupeId } = envelope
    if (dedupeId !== undefined && this.#underway?.get(dedupeId) === envelope) this.#underway.delete(dedupeId)
    envelope.complete(result)
  }

  refused(envelope: Envelope, error: SendError) {
    const { record } = this.#instance
    count(eventsRefused, 1, record.environment)
    this.complete(envelope, refusal(record, envelope.event, error))
  }

  /** Refuses an event, unless an event of its id is journaled: its outcome is the answer then. */
  refuseUnlessJournaled(envelope: Envelope, error: SendError) {
    const { repeatedId, timer } = envelope
    if (timer !== undefined) this.#instance.timerRefused(timer, error)
    if (repeatedId === undefined || isRaisedId(repeatedId)) return this.refused(envelope, error)
    this.#readFirst(envelope, repeatedId, () => this.refused(envelope, error))
  }

  /** Answers a query, which is not journaled, unless an event of its id is. */
  answerQuery(envelope: Envelope, decision: Taken<Tagged, Tagged>) {
    const { repeatedId } = envelope
    if (repeatedId === undefined) return this.complete(envelope, decision)
    this.#readFirst(envelope, repeatedId, () => this.complete(envelope, decision))
  }

  #readFirst(envelope: Envelope, repeatedId: string, otherwise: () => void) {
    const { context, key, machine, record } = this.#instance
    record.environment.run(
      Effect.match(context.loader.firstOutcome(machine, key, repeatedId), {
        onFailure: (failure) => this.#instance.giveUp(envelope, failure),
        onSuccess: (first) => (first === undefined ? otherwise() : this.answerFirst(envelope, first)),
      }),
    )
  }

  /** A postponed event may wait for a long time. If it is journaled already, it is answered now. */
  answerJournaled(envelope: Envelope, repeatedId: string) {
    const { context, key, machine, record } = this.#instance
    record.environment.run(
      Effect.match(context.loader.firstOutcome(machine, key, repeatedId), {
        // Ignored: the store refuses a repeated id at the commit as well.
        onFailure: () => undefined,
        onSuccess: (first) => (first === undefined ? undefined : this.answerFirst(envelope, first)),
      }),
    )
  }

  /** Answers with the outcome of the first event of the id, once memory has reached it. */
  answerFirst(envelope: Envelope, first: FirstOutcome) {
    const { key, record } = this.#instance
    const { event } = first.taken
    if (isIdOfAnother(envelope, event)) return this.refused(envelope, idTaken(key, envelope, `event ${first.sequence}, ${event._tag}`))
    count(eventsRepeated, 1, record.environment)
    if (record.ending !== undefined || first.sequence <= record.sequence) return this.complete(envelope, first.taken)
    // A caller that has the answer must not read an earlier state.
    this.#known = [...this.#known, { envelope, first }]
    this.#instance.awaitSequence()
  }

  /** Answers the events whose sequence memory has reached. */
  answerReached(through = this.#instance.record.sequence) {
    const reached = this.#known.filter(({ first }) => first.sequence <= through)
    if (reached.length > 0) this.#known = this.#known.filter(({ first }) => first.sequence > through)
    for (const { envelope, first } of reached) this.complete(envelope, first.taken)
  }

  /** The instance has ended, or has left memory: nothing more is reached. */
  end() {
    this.#firing = none
    this.answerReached(Number.POSITIVE_INFINITY)
  }
}

/**
 * Whether the id belongs to an event of another tag. Ids of the engine are shared on purpose: a command reports its success or its
 * failure under one id.
 */
const isIdOfAnother = ({ dedupeId, event }: Envelope, first: Tagged): boolean =>
  event._tag !== first._tag && dedupeId?.startsWith(reservedPrefix) === false

const idTaken = ({ machine, id }: InstanceKey, { dedupeId, event }: Envelope, taken: string): InvalidEvent =>
  new InvalidEvent({ machine, id, event: event._tag, problem: `id ${dedupeId} belongs to ${taken}; give each event an id of its own` })
