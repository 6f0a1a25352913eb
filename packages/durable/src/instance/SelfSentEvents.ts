/**
 * Events that a machine sends to itself are stored only when they are handled. Each has an id made of the event that sent it, so
 * that recovery finds those that are not journaled yet, and no two nodes handle one twice.
 */
import { type Chain, extendChain, type Tagged } from "@detent/machine/internal"
import type { Envelope } from "./Envelope.ts"
import { isTransient } from "./isTransient.ts"

/** Ids that senders choose never start with this. */
export const reservedPrefix = "@"

/** The prefix of the ids of self-sent events. */
export const raisedPrefix = `${reservedPrefix}raised/`

/** The ids of events that a node sent to the node that has the instance, where their sender gave none. */
export const deliveryPrefix = `${reservedPrefix}delivery/`

/** Whether a node made the id, to send the event again under it until another node answers. */
export const isDeliveryId = (dedupeId: string | undefined): dedupeId is string => dedupeId?.startsWith(deliveryPrefix) === true

/** Whether an id is that of a self-sent event. Once the event is handled, the id can be dropped. */
export const isRaisedId = (dedupeId: string | undefined): dedupeId is string => dedupeId?.startsWith(raisedPrefix) === true

/** The id of the event that the event of a sequence number sent at a position. */
export const raisedId = (sequence: number, index: number): string => `${raisedPrefix}${sequence}/${index}`

/** A self-sent event that is not handled yet. */
export interface OwedEvent {
  readonly id: string
  readonly event: Tagged
  readonly chain: Chain
}

/** The self-sent events that are not journaled after an event was handled: those it sent come after earlier ones. */
export const owedAfter = (
  owed: ReadonlyArray<OwedEvent>,
  handled: { readonly sequence: number; readonly tag: string; readonly dedupeId: string | undefined },
  sends: ReadonlyArray<Tagged>,
): ReadonlyArray<OwedEvent> => {
  const { sequence, tag, dedupeId } = handled
  if (sends.length === 0 && !isRaisedId(dedupeId)) return owed
  const chain = extendChain(owed.find(({ id }) => id === dedupeId)?.chain, tag)
  const sent = sends.map((event, index) => ({ id: raisedId(sequence, index), event, chain }))
  return [...owed.filter(({ id }) => id !== dedupeId), ...sent]
}

/** The events a live instance sent to itself that are not journaled yet. A snapshot would hide their origin, so none is taken meanwhile. */
export class OwedEvents {
  readonly #owed = new Set<Envelope>()

  get isEmpty(): boolean {
    return this.#owed.size === 0
  }

  add(envelopes: ReadonlyArray<Envelope>) {
    for (const envelope of envelopes) {
      this.#owed.add(envelope)
      // A refused event is settled as well. After a transient failure it stays listed.
      envelope.tracker = () => {
        if (!isTransient(envelope.result)) this.#owed.delete(envelope)
      }
    }
  }

  /** The event was decided. */
  delete(envelope: Envelope) {
    this.#owed.delete(envelope)
  }

  clear() {
    this.#owed.clear()
  }
}
