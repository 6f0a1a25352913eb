/**
 * From the journal back to a live state: the snapshot, then every later event decided on again. No hook, no effect and
 * no guard runs.
 */
import { EventReplayError, type PersistenceFailed } from "@detent/machine"
import { type Compiled, replay, type Tagged } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import type { Codec } from "./Codec.ts"
import type { EventRecord, InstanceKey } from "./Commit.ts"
import type { JournalService, OpenedInstance } from "./Journal.ts"
import { type OwedEvent, owedAfter } from "./Raised.ts"

const none: ReadonlyArray<never> = []

/** So many events are held in memory at a time. */
const pageSize = 1000

/** An instance brought back. */
export interface Recovered {
  readonly state: Tagged
  readonly sequence: number
  /** States before the current one, oldest first, as far as the replayed events tell. */
  readonly past: ReadonlyArray<Tagged>
  /** When the last replayed event, or else the snapshot, was accepted. */
  readonly at: number
  readonly stopped: string | undefined
  /** Events the machine has sent itself and not handled yet, in the order they are due. */
  readonly owed: ReadonlyArray<OwedEvent>
}

export interface ReplayedEvent {
  readonly record: EventRecord
  readonly event: Tagged
  readonly from: Tagged
  readonly state: Tagged
  /** Whether the state was entered: another one, or the same anew. */
  readonly moved: boolean
  readonly answer: unknown
}

interface Machinery {
  readonly compiled: Compiled
  readonly codec: Codec
}

/** Replays up to a sequence number, or to the end. `each` is told of every event on the way. */
export const recover = (
  { compiled, codec }: Machinery,
  journal: JournalService,
  opened: OpenedInstance,
  through = Number.POSITIVE_INFINITY,
  each?: (replayed: ReplayedEvent) => void,
): Effect.Effect<Recovered, EventReplayError | PersistenceFailed> =>
  Effect.gen(function* () {
    const { record } = opened
    const start = yield* beginning(codec, opened, through)
    let { state, sequence } = start
    let at = start.at
    let stopped: string | undefined
    let owed = start.owed
    const past: Array<Tagged> = []
    // No further than what was opened: status and timers belong to that sequence, and others may have written since.
    const last = Math.min(through, record.sequence)
    for (;;) {
      const limit = Math.min(pageSize, last - sequence)
      const page = limit <= 0 ? [] : yield* journal.events(record, sequence, limit)
      for (const event of page) {
        if (event.sequence !== sequence + 1) return yield* broken(record, state, event, `event ${sequence + 1} is missing`)
        const replayed = yield* replayOne(compiled, codec, record, state, event)
        if (replayed.moved) past.push(state, ...replayed.through)
        each?.({
          record: event,
          event: replayed.event,
          from: state,
          state: replayed.state,
          moved: replayed.moved,
          answer: replayed.answer,
        })
        state = replayed.state
        stopped = replayed.stopped
        owed = owedAfter(owed, event.sequence, event.dedupeId, replayed.sends)
        sequence = event.sequence
        at = event.at
      }
      if (sequence >= last) return { state, sequence, past, at, stopped, owed }
      if (page.length < limit) return yield* broken(record, state, undefined, `event ${sequence + 1} is missing`)
    }
  })

const beginning = (codec: Codec, { record, snapshot, origin }: OpenedInstance, through: number) =>
  Effect.suspend(() => {
    const usable = snapshot !== undefined && snapshot.sequence <= through ? snapshot : undefined
    if (usable === undefined && origin === undefined) {
      return broken(record, undefined, undefined, "its first events were pruned, and no snapshot is old enough")
    }
    try {
      return usable === undefined
        ? Effect.succeed({ ...decodeOrigin(codec, origin as string), sequence: 0, at: record.startedAt })
        : Effect.succeed({ state: codec.decodeState(usable.body, usable.version), sequence: usable.sequence, at: usable.at, owed: none })
    } catch (cause) {
      return broken(record, undefined, undefined, describe(cause))
    }
  })

/** What an instance began with: the version that wrote it, its first state, and what it sent itself on entering that. */
export const encodeOrigin = (codec: Codec, version: number, state: Tagged, sends: ReadonlyArray<Tagged>): string => {
  const sent = sends.length === 0 ? "" : `,"e":${JSON.stringify(codec.encodeEvents(sends))}`
  return `{"v":${version},"s":${codec.encodeState(state)}${sent}}`
}

const decodeOrigin = (codec: Codec, origin: string) => {
  const { v, s, e = [] } = JSON.parse(origin) as { readonly v: number; readonly s: unknown; readonly e?: ReadonlyArray<unknown> }
  return { state: codec.decodeState(JSON.stringify(s), v), owed: owedAfter(none, 0, undefined, codec.decodeEvents(e, v)) }
}

interface ReplayedOne {
  readonly event: Tagged
  readonly answer: unknown
  readonly state: Tagged
  readonly through: ReadonlyArray<Tagged>
  readonly moved: boolean
  readonly stopped: string | undefined
  readonly sends: ReadonlyArray<Tagged>
}

const replayOne = (compiled: Compiled, codec: Codec, key: InstanceKey, state: Tagged, record: EventRecord) =>
  Effect.suspend((): Effect.Effect<ReplayedOne, EventReplayError> => {
    let body: ReturnType<Codec["decodeEvent"]>
    try {
      body = codec.decodeEvent(record.body)
    } catch (cause) {
      return broken(key, state, record, describe(cause))
    }
    const { event, answer } = body
    if (body.settled !== undefined) {
      const { outcome, moved, state: reached, through, reason, sends } = body.settled
      return Effect.succeed({ event, answer, state: reached, through, moved, sends, stopped: outcome === "Stop" ? reason : undefined })
    }
    const decision = replay(compiled, state, event, record.at, body.guardAnswers)
    switch (decision._tag) {
      case "Goto":
      case "Stay":
        return Effect.succeed({
          event,
          answer,
          state: decision.state,
          through: decision.through,
          moved: decision._tag === "Goto",
          stopped: undefined,
          sends: decision.sends,
        })
      case "Stop":
        return Effect.succeed({
          event,
          answer,
          state: decision.state,
          through: decision.through,
          moved: decision.state !== state,
          stopped: decision.reason,
          sends: none,
        })
      case "Refused":
        return broken(key, state, record, decision.error.message)
      case "Postponed":
        return broken(key, state, record, "the definition now postpones it")
      case "Deferred":
        return broken(key, state, record, "its decision has become an Effect since; it cannot be replayed")
    }
  })

const broken = (key: InstanceKey, state: Tagged | undefined, record: EventRecord | undefined, problem: string) =>
  Effect.fail(
    new EventReplayError({
      machine: key.machine,
      id: key.id,
      state: state?._tag ?? "(start)",
      event: record?.tag ?? "(start)",
      sequence: record?.sequence ?? 0,
      problem,
    }),
  )

const describe = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
