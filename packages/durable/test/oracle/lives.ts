/** Lives of simulated instances as journals: what an engine stores of the same events, in one commit for each instance. */
import type { Taken } from "@detent/machine"
import type { Compiled, Tagged } from "@detent/machine/internal"
import type { SimulationOf } from "@detent/machine/testing"
import type { Commit, EventRecord } from "@detent/store"
import { Codec } from "../../src/machine/Codec.ts"
import { delayTimer } from "../../src/machine/DelayedEvents.ts"
import { Envelope } from "../../src/machine/Envelope.ts"
import { eventRecord } from "../../src/machine/PendingEvent.ts"
import { encodeOrigin } from "../../src/machine/Replay.ts"
import { raisedId } from "../../src/machine/SelfSentEvents.ts"

/** The parts of a simulation that a journal is made of. */
export type Life = Pick<SimulationOf<never>, "status" | "stopped" | "at"> & {
  readonly first: Tagged
  readonly startedAt: number
  readonly decisions: ReadonlyArray<Taken<Tagged, Tagged>>
  /** When each decision was made. */
  readonly times: ReadonlyArray<number>
  /** Events that were raised when the first state was entered. */
  readonly raised: ReadonlyArray<Tagged>
}

const codecs = new WeakMap<Compiled, Codec>()

export const codecOf = (compiled: Compiled): Codec => {
  const known = codecs.get(compiled) ?? new Codec(compiled, compiled.declarations.upcasters ?? {})
  codecs.set(compiled, known)
  return known
}

export const commitOf = (compiled: Compiled, id: string, life: Life): Commit => {
  const codec = codecOf(compiled)
  const origins = new Map<Tagged, { readonly dedupeId?: string; readonly timer?: { name: string; entry: number; due: number } }>()
  life.raised.forEach((event, index) => {
    origins.set(event, { dedupeId: raisedId(0, index) })
  })
  const events = life.decisions.map((decision, index): EventRecord => {
    const sequence = index + 1
    const at = life.times[index] ?? life.at
    decision.sends.forEach((event, place) => {
      origins.set(event, { dedupeId: raisedId(sequence, place) })
    })
    for (const { name, event } of decision.delays)
      if (event !== undefined) origins.set(event, { timer: { name: delayTimer(name), entry: sequence, due: at } })
    const timer = "name" in decision.event ? { name: String(decision.event.name), entry: sequence, due: at } : undefined
    const origin = decision.event._tag === "@timeout" && timer !== undefined ? { timer } : (origins.get(decision.event) ?? {})
    return eventRecord(codec, new Envelope(decision.event, origin), decision, at, sequence, false)
  })
  const last = life.decisions.at(-1)?.state ?? life.first
  return {
    machine: compiled.name,
    id,
    expected: -1,
    sequence: events.length,
    at: life.times.at(-1) ?? life.startedAt,
    summary: {
      tag: last._tag,
      status: life.status,
      reason: life.stopped,
      version: compiled.declarations.version,
      needsOwner: false,
      owner: undefined,
      owes: false,
    },
    origin: encodeOrigin(
      codec,
      compiled.declarations.version,
      { state: life.first, through: [], sends: life.raised, delays: [] },
      life.startedAt,
    ),
    events,
    snapshot: undefined,
    clearTimers: [],
    setTimers: [],
    commands: [],
    fence: undefined,
  }
}
