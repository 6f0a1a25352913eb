/**
 * The commits of an instance that the store failed to store or did not confirm. Each may still be stored for as long as the
 * instance is at the sequence that the commit expects, so all of them are kept until the journal is ahead of that sequence.
 *
 * Its methods find the outcome of a commit by reading the journal, with growing pauses where the store fails:
 *
 *     Stored       the journal has it
 *     StoredLate   the journal has an earlier one, whose events were decided again since
 *     NotStored    its events are decided again, except for those that are rejected up
 *     Unknown      the journal cannot be read
 */
import { PersistenceFailed, type SendError, SequenceConflict } from "@detent/machine"
import type { EventRecord, InstanceKey } from "@detent/store"
import { monotonicMillis, retryFailed } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type { Envelope } from "../machine/Envelope.ts"
import type { Pending, PendingEvent } from "../machine/PendingEvent.ts"
import type { AnsweringInstance } from "./Answers.ts"
import type { InstanceContext, Reloaded } from "./InstanceContext.ts"

type Flight = ReadonlyArray<PendingEvent>

/** Events that are not tried again, each with the error its sender gets. */
export type Rejected = ReadonlyMap<Envelope, SendError>

export const noneRejected: Rejected = new Map()

export const rejectAll = (pending: ReadonlyArray<Pending>, error: SendError): Rejected =>
  new Map(pending.map(({ envelope }) => [envelope, error]))

export type Resolution =
  | { readonly _tag: "Stored"; readonly reloaded: Reloaded }
  | { readonly _tag: "StoredLate"; readonly flight: Flight; readonly reloaded: Reloaded; readonly rejected: Rejected }
  /** `pauseMillis`: how long nothing is decided, because the store has failed for a long time. */
  | { readonly _tag: "NotStored"; readonly reloaded: Reloaded; readonly rejected: Rejected; readonly pauseMillis: number }
  | { readonly _tag: "Unknown"; readonly error: SendError }

/** Since when, by the monotonic clock, and how often, the store has failed to store the instance's commits. */
interface Outage {
  readonly since: number
  readonly times: number
}

/** The longest pause before a commit is tried again. */
const longestBackoffMillis = 1000

/** The longest pause of an instance while the store keeps failing to store its self-sent events or timers. */
const longestPauseMillis = 5000

const none: ReadonlyArray<never> = []

/** The error of an event that finds its instance in memory and not in the store: another process has removed it. */
export const removed = (key: InstanceKey, expected: number): SequenceConflict => new SequenceConflict({ ...key, expected, actual: -1 })

export const isRemoved = (error: unknown): error is SequenceConflict => error instanceof SequenceConflict && error.actual === -1

/** Repeats a request to a store that fails, until the engine's store timeout. */
export const retrying = <A, E extends SendError>({ storeRetry }: InstanceContext, effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  retryFailed(effect, { schedule: storeRetry, while: (failure) => failure._tag === "PersistenceFailed" })

/** The instance whose commits these are. */
type Committing = Pick<AnsweringInstance, "context" | "key" | "machine" | "record">

export class UnconfirmedCommits {
  readonly #instance: Committing
  #flights: ReadonlyArray<Flight> = none
  #outage: Outage | undefined = undefined

  constructor(instance: Committing) {
    this.#instance = instance
  }

  /** Whether an unconfirmed commit may still be stored. */
  get mayArrive(): boolean {
    return this.#flights.length > 0
  }

  /** Events that may be stored, and would be stored twice if they were sent again. Each with the error its sender gets. */
  notIdempotent(reason: string): Rejected {
    return notIdempotentIn(this.#instance.key, this.#flights, reason)
  }

  /** Whether no commit is unconfirmed and the store has not failed. */
  get isEmpty(): boolean {
    return !this.mayArrive && this.#outage === undefined
  }

  /** The sequence has changed: no unconfirmed commit can be stored any more. */
  moved() {
    this.#flights = none
  }

  /**
   * The store did not confirm a commit: its events are not committed again before the journal shows whether it has them. `all` are
   * its events and the decisions on top of them: once the store has failed for too long, their senders get the error.
   */
  confirm(flight: Flight, all: ReadonlyArray<Pending>, error: PersistenceFailed): Effect.Effect<Resolution> {
    this.#flights = [flight, ...this.#flights]
    const outage = this.#failAgain()
    return Effect.flatMap(this.#read(error, noneRejected, flight), (resolution) => {
      if (resolution._tag !== "NotStored") return Effect.succeed(resolution)
      // The store can be read but not written.
      return this.#isOver(outage)
        ? Effect.succeed(giveUp(resolution, all, error, outage))
        : Effect.as(Effect.sleep(backoffOf(outage)), resolution)
    })
  }

  /** The node has lost its lease, and registers again in the meantime. */
  fenced(all: ReadonlyArray<Pending>, error: SendError): Effect.Effect<Resolution> {
    const outage = this.#failAgain()
    const isOver = this.#isOver(outage)
    return Effect.map(this.resolve(error, noneRejected, backoffOf(outage)), (resolution) =>
      isOver && resolution._tag === "NotStored" ? giveUp(resolution, all, error, outage) : resolution,
    )
  }

  /** Reads the journal after a pause of about this length, because the store refused a commit or another node has written. */
  resolve(error: SendError, rejected: Rejected, backoffMillis: number): Effect.Effect<Resolution> {
    const read = this.#read(error, rejected)
    if (backoffMillis === 0) return read
    return Effect.flatMap(Random.next, (random) => Effect.delay(read, Math.ceil(backoffMillis * (0.5 + random))))
  }

  #failAgain(): Outage {
    const now = monotonicMillis(this.#instance.record.environment.clock)
    this.#outage = { since: this.#outage?.since ?? now, times: (this.#outage?.times ?? 0) + 1 }
    return this.#outage
  }

  /** Whether the outage has lasted for the store timeout: senders get the error then. */
  #isOver({ since }: Outage): boolean {
    return monotonicMillis(this.#instance.record.environment.clock) - since >= this.#instance.context.storeTimeoutMillis
  }

  #read(error: SendError, rejected: Rejected, latest?: Flight): Effect.Effect<Resolution> {
    return Effect.match(this.#journaled, {
      onFailure: (failure): Resolution => ({ _tag: "Unknown", error: failure }),
      onSuccess: ({ reloaded, arrived, unknown }): Resolution => {
        if (reloaded === undefined) return { _tag: "Unknown", error: this.#errorOfRemoved(error) }
        if (arrived === undefined)
          return { _tag: "NotStored", reloaded, rejected: withUnknown(this.#instance.key, unknown, rejected), pauseMillis: 0 }
        return arrived === latest ? { _tag: "Stored", reloaded } : { _tag: "StoredLate", flight: arrived, reloaded, rejected }
      },
    })
  }

  /** The error of a removed instance. If a commit may have been stored before the removal, the error says so: its events are not sent on. */
  #errorOfRemoved(error: SendError): SendError {
    if (!this.mayArrive) return removed(this.#instance.key, this.#instance.record.sequence)
    return isRemoved(error) ? notFoundOut(this.#instance.key, "the instance was removed meanwhile") : error
  }

  /** The stored instance, unless it was removed, and which of the unconfirmed commits it has. All of them expect the sequence of memory. */
  get #journaled(): Effect.Effect<Journaled, SendError> {
    return Effect.gen({ self: this }, function* () {
      const flights = this.#flights
      const read = yield* retrying(this.#instance.context, this.#instance.context.loader.reload(this.#instance.machine, this.#instance.key))
      // Another instance of the same id: this one was removed.
      const reloaded = read?.opened.record.startedAt === this.#instance.record.startedAt ? read : undefined
      if (flights.length === 0 || reloaded === undefined) return { reloaded, arrived: undefined, unknown: none }
      const longest = Math.max(...flights.map((flight) => flight.length))
      const events = yield* retrying(
        this.#instance.context,
        this.#instance.context.journal.events(this.#instance.key, this.#instance.record.sequence, longest),
      )
      const outcomes = flights.map((flight) => [flight, outcomeOf(flight, events, reloaded.recovered.sequence)] as const)
      const arrived = outcomes.find(([, outcome]) => outcome === "arrived")?.[0]
      const unknown = arrived === undefined ? outcomes.filter(([, outcome]) => outcome === "unknown").map(([flight]) => flight) : none
      return { reloaded, arrived, unknown }
    })
  }
}

interface Journaled {
  readonly reloaded: Reloaded | undefined
  /** The commit that was stored. */
  readonly arrived: Flight | undefined
  /** Commits whose part of the journal has been pruned: it is unknown whether they were stored. */
  readonly unknown: ReadonlyArray<Flight>
}

const backoffOf = ({ times }: Outage): number => Math.min(25 * 2 ** times, longestBackoffMillis)

/** Senders get the error. Self-sent events wait for the end of the outage; timers fire again. */
const giveUp = (
  resolution: Extract<Resolution, { _tag: "NotStored" }>,
  all: ReadonlyArray<Pending>,
  error: SendError,
  { times }: Outage,
): Resolution => ({
  ...resolution,
  rejected: new Map([
    ...rejectAll(
      all.filter(({ envelope }) => !envelope.isOwn),
      error,
    ),
    ...resolution.rejected,
  ]),
  pauseMillis: all.some(({ envelope }) => envelope.internal) ? Math.min(25 * 2 ** times, longestPauseMillis) : 0,
})

const notFoundOut = ({ machine, id }: InstanceKey, reason: string): PersistenceFailed =>
  new PersistenceFailed({
    machine,
    id,
    operation: "commit",
    cause: new Error(`it is unknown whether it was stored: ${reason}`),
  })

const withUnknown = (key: InstanceKey, unknown: ReadonlyArray<Flight>, rejected: Rejected): Rejected =>
  unknown.length === 0 ? rejected : new Map([...rejected, ...notIdempotentIn(key, unknown, "the journal was pruned meanwhile")])

/** Events that may be stored, and have neither an id nor a timer by which the store would refuse them if they were decided again. */
const notIdempotentIn = (key: InstanceKey, flights: ReadonlyArray<Flight>, reason: string): Rejected => {
  const error = notFoundOut(key, reason)
  const envelopes = flights.flat().map(({ envelope }) => envelope)
  const notIdempotent = envelopes.filter(({ dedupeId, timer }) => dedupeId === undefined && timer === undefined)
  return new Map(notIdempotent.map((envelope) => [envelope, error]))
}

/** After a prune only events with ids remain: one of them shows that its whole commit was stored. */
const outcomeOf = (flight: Flight, events: ReadonlyArray<EventRecord>, reached: number): "arrived" | "lost" | "unknown" => {
  const found = flight.map(({ record }) => [record, events.find(({ sequence }) => sequence === record.sequence)] as const)
  const remaining = found.filter(([, event]) => event !== undefined)
  if (flight.some(({ sequence }) => sequence > reached) || remaining.some(([record, event]) => !isSame(record, event))) return "lost"
  if (remaining.length === flight.length) return "arrived"
  return remaining.some(([{ dedupeId }]) => dedupeId !== undefined) ? "arrived" : "unknown"
}

const isSame = (record: EventRecord, event: EventRecord | undefined): boolean =>
  record.at === event?.at && record.body === event.body && record.dedupeId === event.dedupeId
