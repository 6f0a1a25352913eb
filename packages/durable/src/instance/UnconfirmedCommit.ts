/** Commits that the store did not confirm: whether the journal has them, and what their senders get if that cannot be found out. */
import { PersistenceFailed, type SendError } from "@detent/machine"
import * as Effect from "effect/Effect"
import type { RegisteredMachine } from "../engine/MachineRegistry.ts"
import type { EventRecord, InstanceKey } from "../store/Commit.ts"
import type { Envelope } from "./Envelope.ts"
import type { InstanceContext, Reloaded } from "./InstanceContext.ts"
import type { Pending, PendingEvent } from "./PendingEvent.ts"

type Flight = ReadonlyArray<PendingEvent>

/** Events that are not tried again, each with the error its sender gets. */
export type GivenUp = ReadonlyMap<Envelope, SendError>

export const noGivenUp: GivenUp = new Map()

export const givenUp = (pending: ReadonlyArray<Pending>, error: SendError): GivenUp =>
  new Map(pending.map(({ envelope }) => [envelope, error]))

/** What the journal says about the instance and its unconfirmed commits. */
export interface Confirmation {
  readonly reloaded: Reloaded | undefined
  /** The commit that was stored. */
  readonly arrived: Flight | undefined
  /** Commits of which the journal has been pruned: whether they were stored cannot be found out. */
  readonly unknown: ReadonlyArray<Flight>
}

const none: ReadonlyArray<never> = []

/** Repeats a request to a store that fails, until the engine's store timeout. */
export const retrying = <A, E extends SendError>({ storeRetry }: InstanceContext, effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.retry(effect, { schedule: storeRetry, while: (failure) => failure._tag === "PersistenceFailed" })

/** Reads the instance, and which of the unconfirmed commits it has. Those began at a sequence number. */
export const confirm = (
  context: InstanceContext,
  machine: RegisteredMachine,
  key: InstanceKey,
  flights: ReadonlyArray<Flight> | undefined,
  sequence: number,
): Effect.Effect<Confirmation, SendError> =>
  Effect.gen(function* () {
    const reloaded = yield* retrying(context, context.loader.reload(machine, key))
    if (flights === undefined || reloaded === undefined) return { reloaded, arrived: undefined, unknown: none }
    const longest = Math.max(...flights.map((flight) => flight.length))
    const events = yield* retrying(context, context.journal.events(key, sequence, longest))
    const fates = flights.map((flight) => [flight, fateOf(flight, events, reloaded.recovered.sequence)] as const)
    const arrived = fates.find(([, fate]) => fate === "arrived")?.[0]
    const unknown = arrived === undefined ? fates.filter(([, fate]) => fate === "unknown").map(([flight]) => flight) : none
    return { reloaded, arrived, unknown }
  })

/** Decided again, an event that may be stored could be stored twice, unless its id or its timer shows that it is. */
export const withUnknown = ({ machine, id }: InstanceKey, { unknown }: Confirmation, given: GivenUp): GivenUp => {
  if (unknown.length === 0) return given
  const cause = new Error("whether it was stored cannot be found out: the journal was pruned meanwhile")
  const error = new PersistenceFailed({ machine, id, operation: "commit", cause })
  const envelopes = unknown.flat().map(({ envelope }) => envelope)
  const unprotected = envelopes.filter(({ dedupeId, timer }) => dedupeId === undefined && timer === undefined)
  return new Map([...given, ...unprotected.map((envelope) => [envelope, error] as const)])
}

/** After a prune only events with ids remain: one of those shows that all of its commit was stored. */
const fateOf = (flight: Flight, events: ReadonlyArray<EventRecord>, reached: number): "arrived" | "lost" | "unknown" => {
  const found = flight.map(({ record }) => [record, events.find(({ sequence }) => sequence === record.sequence)] as const)
  const remaining = found.filter(([, event]) => event !== undefined)
  if (flight.some(({ sequence }) => sequence > reached) || remaining.some(([record, event]) => !isSame(record, event))) return "lost"
  if (remaining.length === flight.length) return "arrived"
  return remaining.some(([{ dedupeId }]) => dedupeId !== undefined) ? "arrived" : "unknown"
}

const isSame = (record: EventRecord, event: EventRecord | undefined): boolean =>
  record.at === event?.at && record.body === event.body && record.dedupeId === event.dedupeId
