/**
 * Deduplicates events by their ids: an event with a used id gets the outcome of the first event with that id. An event of another
 * tag under a used id is refused: otherwise it would be taken for the first event and lost. Events of one tag may differ in their
 * fields, because a sender may build the event anew for each attempt, for instance with the time of the attempt.
 */
import { InvalidEvent } from "@detent/machine"
import type { Tagged } from "@detent/machine/internal"
import type { InstanceKey, TimerRecord } from "@detent/store"
import { reservedPrefix } from "@detent/store/internal"
import type { Envelope } from "../machine/Envelope.ts"
import type { FirstOutcome } from "./InstanceContext.ts"

/**
 * Whether the id belongs to an event of another tag. Ids of the engine are shared on purpose: a command reports its success or its
 * failure under one id.
 */
export const isIdOfAnother = ({ dedupeId, event }: Envelope, first: Tagged): boolean =>
  event._tag !== first._tag && dedupeId?.startsWith(reservedPrefix) === false

export const idTaken = ({ machine, id }: InstanceKey, { dedupeId, event }: Envelope, taken: string): InvalidEvent =>
  new InvalidEvent({ machine, id, event: event._tag, problem: `id ${dedupeId} belongs to ${taken}; give each event an id of its own` })

/** An answer found in the journal, at a sequence that memory has not reached yet. */
export interface KnownAnswer {
  readonly envelope: Envelope
  readonly first: FirstOutcome
}

const none: ReadonlyArray<never> = []

/** The events of one instance in progress, by id, and the timers that have fired. */
export class Deduplication {
  /** Created with the first event that has an id: most timers fire in instances that have none, and a map takes 170 bytes. */
  #underway: Map<string, Envelope> | undefined = undefined
  #firing: ReadonlyArray<Envelope> = none
  #known: ReadonlyArray<KnownAnswer> = none

  /** The event in progress under an id. */
  find(dedupeId: string): Envelope | undefined {
    const first = this.#underway?.get(dedupeId)
    return first === undefined || first.result !== undefined ? undefined : first
  }

  add(dedupeId: string, envelope: Envelope) {
    this.#underway ??= new Map()
    this.#underway.set(dedupeId, envelope)
  }

  delete({ dedupeId }: Envelope) {
    if (dedupeId !== undefined) this.#underway?.delete(dedupeId)
  }

  /** Deletes the id of an event, unless another event has taken it since. */
  complete(envelope: Envelope) {
    const { dedupeId } = envelope
    if (dedupeId !== undefined && this.#underway?.get(dedupeId) === envelope) this.#underway.delete(dedupeId)
  }

  /** The event in progress of a timer. A timer that both the timer heap and the sweeper fire is handled once. */
  firing({ name, entry }: TimerRecord): Envelope | undefined {
    if (this.#firing.length === 0) return undefined
    this.#firing = this.#firing.filter((one) => one.result === undefined)
    return this.#firing.find((one) => one.timer?.name === name && one.timer.entry === entry)
  }

  addFiring(envelope: Envelope) {
    this.#firing = this.#firing.length === 0 ? [envelope] : [...this.#firing, envelope]
  }

  clearFiring() {
    this.#firing = none
  }

  /** Keeps an answer until memory has reached it: a caller that has the answer must not read an earlier state. */
  addKnown(known: KnownAnswer) {
    this.#known = [...this.#known, known]
  }

  get hasKnown(): boolean {
    return this.#known.length > 0
  }

  /** Takes the answers that memory has reached. */
  takeKnown(through = Number.POSITIVE_INFINITY): ReadonlyArray<KnownAnswer> {
    const reached = this.#known.filter(({ first }) => first.sequence <= through)
    if (reached.length > 0) this.#known = this.#known.filter(({ first }) => first.sequence > through)
    return reached
  }
}
