/**
 * Events that a machine sends to itself are stored only when they are handled. The id of each is derived from the event that sent
 * it, so that recovery finds the events that are not journaled yet, and no two nodes handle the same one.
 *
 * Mostly they are handled in the commit of the event that sent them. Otherwise that commit stores a timer row, and the commit that
 * handles the last of them removes it: if the process ends in between, the sweeper of any process finds the row and opens the instance.
 */
import { type Chain, extendChain, type Tagged } from "@detent/machine/internal"
import type { TimerRecord } from "@detent/store"
import { isRaisedId, raisedPrefix } from "@detent/store/internal"
import { isTransient } from "../runtime/untilAnswered.ts"
import type { Envelope } from "./Envelope.ts"

/** The id of a self-sent event: the sequence of the event that sent it, and its index among the events of that one. */
export const raisedId = (sequence: number, index: number): string => `${raisedPrefix}${sequence}/${index}`

/** The name of the timer row of self-sent events that are not handled yet. No timeout and no delayed event has it. */
export const owedName = "@raised"

/** How long the process that stored the row has to handle the events, before any process does. */
const owedMillis = 5000

/** The timer row of self-sent events that are not handled by the commit of this sequence. */
export const owedTimer = (sequence: number, at: number): TimerRecord => ({ name: owedName, entry: sequence, due: at + owedMillis })

export const isOwedTimer = ({ name }: Pick<TimerRecord, "name">): boolean => name === owedName

/** A self-sent event that is not handled yet. */
export interface SelfSentEvent {
  readonly id: string
  readonly event: Tagged
  readonly chain: Chain
}

/** The self-sent events that are not handled yet after `handled` is: the events that it sent come after earlier ones. */
export const selfSentAfter = (
  before: ReadonlyArray<SelfSentEvent>,
  handled: { readonly sequence: number; readonly tag: string; readonly dedupeId: string | undefined },
  sends: ReadonlyArray<Tagged>,
): ReadonlyArray<SelfSentEvent> => {
  const { sequence, tag, dedupeId } = handled
  if (sends.length === 0 && !isRaisedId(dedupeId)) return before
  const chain = extendChain(before.find(({ id }) => id === dedupeId)?.chain, tag)
  const sent = sends.map((event, index) => ({ id: raisedId(sequence, index), event, chain }))
  return [...before.filter(({ id }) => id !== dedupeId), ...sent]
}

/** The self-sent events of a live instance that are not decided yet. A snapshot would hide their origin, so none is taken meanwhile. */
export class UndecidedSelfSentEvents {
  readonly #envelopes = new Set<Envelope>()

  get size(): number {
    return this.#envelopes.size
  }

  has(envelope: Envelope): boolean {
    return this.#envelopes.has(envelope)
  }

  add(envelopes: ReadonlyArray<Envelope>) {
    for (const envelope of envelopes) {
      this.#envelopes.add(envelope)
      // A refused event is settled as well. After a transient failure it stays listed.
      envelope.tracker = () => {
        if (!isTransient(envelope.result)) this.#envelopes.delete(envelope)
      }
    }
  }

  /** The event was decided. */
  delete(envelope: Envelope) {
    this.#envelopes.delete(envelope)
  }

  clear() {
    this.#envelopes.clear()
  }
}
