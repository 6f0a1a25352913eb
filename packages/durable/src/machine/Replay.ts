/**
 * Recovers the state of an instance from the journal: reads the snapshot, then decides every later event again. No hook, no effect
 * and no guard runs.
 */

import { type Beginning, EventReplayError, NewerVersion, type PersistenceFailed, type Request } from "@detent/machine"
import { type Compiled, type Node, replay, type Tagged } from "@detent/machine/internal"
import type { EventRecord, InstanceKey, JournalService, OpenedInstance } from "@detent/store"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Codec, EventBody, ReplacedEvent, StoredDelay, StoredMemory } from "./Codec.ts"
import { type DelayedChange, type DelayedEvent, delayedAfter, delayedAtStart } from "./DelayedEvents.ts"
import { entriesAfter, entriesRead, type GroupEntries, noEntries } from "./GroupEntries.ts"
import { decodePrevious, previousText, type StoredPrevious } from "./PreviousState.ts"
import { type SelfSentEvent, selfSentAfter } from "./SelfSentEvents.ts"
import { decodeSnapshot, memoryText } from "./SnapshotBody.ts"
import { WrittenByNewer } from "./Upcasters.ts"

const none: ReadonlyArray<never> = []

/**
 * Events per page. The store reads the next page while one is replayed: 100,000 events on PostgreSQL take 299 ms, against 439 ms
 * in pages of 1,000. Pages of twice this size were not measurably faster.
 */
const pageSize = 2000

/** Characters of events that are decoded and decided in one turn of the event loop: some 10 ms of work. */
const turnSize = 1_000_000

/** How many states before the current one are kept. */
const pastLimit = 100

/** An instance recovered from the journal. */
export interface Recovered {
  readonly state: Tagged
  readonly sequence: number
  /** States before the current one, oldest first, as far as the snapshot and the replayed events have them. */
  readonly past: ReadonlyArray<Tagged>
  /** The sequence at which the current state was entered. */
  readonly entered: number
  /** The same for the groups around the current state. */
  readonly groups: GroupEntries
  /** When the last replayed event, or else the snapshot, was accepted. */
  readonly at: number
  readonly stopped: string | undefined
  /** Self-sent events that are not handled yet, in their order. */
  readonly selfSent: ReadonlyArray<SelfSentEvent>
  /** Delayed events that wait for their deadlines. */
  readonly delayed: ReadonlyArray<DelayedEvent>
}

export interface ReplayedEvent {
  readonly record: EventRecord
  readonly event: Tagged
  readonly from: Tagged
  readonly state: Tagged
  /** Whether a state was entered: another one, or the same one again. */
  readonly moved: boolean
  readonly answer: unknown
  readonly outcome: "Goto" | "Stay" | "Stop"
  /** States that automatic transitions passed through. */
  readonly through: ReadonlyArray<Tagged>
  /** Effect slots that the decision requested. Requests of hooks are not replayed. */
  readonly requests: ReadonlyArray<string>
  /** Delayed events that were set and cancelled. */
  readonly delays: ReadonlyArray<DelayedChange>
  /** The events that repairs have replaced by this one, oldest first. */
  readonly replaced: ReadonlyArray<ReplacedEvent> | undefined
  /** Who sent it, where its sender said so. */
  readonly by: string | undefined
}

interface Machinery {
  readonly compiled: Compiled
  readonly codec: Codec
}

/** Replays up to a sequence number, or to the end. `each` is called for every event on the way. */
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
    let { selfSent, entered, delayed } = start
    let groups = entriesRead(compiled, start)
    const past: Array<Tagged> = start.previous === undefined ? [] : [start.previous]
    // Not beyond the opened record: status and timers belong to that sequence, and other nodes may have written since.
    const last = Math.min(through, record.sequence)
    const pageAfter = (after: number) => journal.events(record, after, Math.min(pageSize, last - after))
    let page = sequence < last ? yield* pageAfter(sequence) : none
    let size = 0
    while (sequence < last) {
      const end = page.at(-1)?.sequence ?? last
      const ahead = end < last ? yield* Effect.forkChild(pageAfter(end), { startImmediately: true }) : undefined
      for (const event of page) {
        size += event.body.length
        // Long events must not block the event loop.
        if (size > turnSize) {
          size = 0
          yield* Effect.yieldNow
        }
        if (event.sequence !== sequence + 1) return yield* Effect.fail(missing(record, state, sequence + 1))
        const replayed = replayOne(compiled, codec, record, state, event)
        if (replayed instanceof EventReplayError) return yield* Effect.fail(replayed)
        if (replayed.moved) {
          past.push(state, ...replayed.through)
          if (past.length > pastLimit * 2) past.splice(0, past.length - pastLimit)
          entered = event.sequence
          groups = entriesAfter(groups, compiled.nodes.get(replayed.state._tag) as Node, replayed.kept, event.sequence)
        }
        each?.({
          record: event,
          event: replayed.event,
          from: state,
          state: replayed.state,
          moved: replayed.moved,
          answer: replayed.answer,
          outcome: replayed.outcome,
          through: replayed.through,
          requests: replayed.requests,
          delays: replayed.body.delays ?? none,
          replaced: replayed.body.replaced,
          by: replayed.body.by,
        })
        state = replayed.state
        stopped = replayed.stopped
        selfSent = selfSentAfter(selfSent, event, replayed.sends)
        delayed = delayedAfter(delayed, replayed.body, event.sequence)
        sequence = event.sequence
        at = event.at
      }
      if (page.length === 0) return yield* Effect.fail(missing(record, state, sequence + 1))
      page = ahead === undefined ? none : yield* Fiber.join(ahead)
      // A long journal must not block the event loop.
      if (ahead !== undefined) yield* Effect.yieldNow
    }
    return { state, sequence, past, entered, groups, at, stopped, selfSent, delayed }
  })

const beginning = (codec: Codec, { record, snapshot, origin }: OpenedInstance, through: number) =>
  Effect.suspend(() => {
    const usable = snapshot !== undefined && snapshot.sequence <= through ? snapshot : undefined
    if (usable === undefined && origin === undefined) {
      return Effect.fail(broken(record, undefined, firstState, "its first events were pruned, and no snapshot is old enough"))
    }
    try {
      if (usable === undefined) {
        const began = decodeOrigin(codec, origin as string)
        return Effect.succeed({ ...began, entered: 0, groups: noEntries, sequence: 0, at: record.startedAt })
      }
      const { sequence, at, version, body } = usable
      return Effect.succeed({ ...decodeSnapshot(codec, body, version), sequence, at })
    } catch (cause) {
      const at = usable === undefined ? firstState : { tag: "(snapshot)", sequence: usable.sequence }
      return Effect.fail(unreadable(record, { _tag: at.tag }, at, cause))
    }
  })

/** Who started an instance, as text, and the trace of the start. */
export interface Started {
  readonly by?: string | undefined
  readonly trace?: string | undefined
}

/** The origin of an instance: the version that wrote it, its first and previous state, and its first self-sent and delayed events. */
export const encodeOrigin = (
  codec: Codec,
  version: number,
  { state, through, sends, delays }: Pick<Beginning<Tagged, Tagged>, "state" | "through" | "sends" | "delays">,
  at: number,
  { by, trace }: Started = {},
): string => {
  const value = codec.firstValue(state)
  const before = previousText(codec, value, through.at(-1))
  const sent = sends.length === 0 ? "" : `,"e":${JSON.stringify(codec.encodeEvents(sends))}`
  const delayed = delayedAtStart({ delays }, at)
  const waiting = delayed.length === 0 ? "" : `,"d":${JSON.stringify(codec.encodeDelayed(delayed))}`
  const started = by === undefined ? "" : `,"w":${JSON.stringify(by)}`
  const traced = trace === undefined ? "" : `,"p":${JSON.stringify(trace)}`
  return `{"v":${version},"s":${JSON.stringify(value)}${before}${sent}${waiting}${memoryText(codec, state)}${started}${traced}}`
}

interface StoredOrigin extends StoredPrevious {
  readonly v: number
  readonly s: unknown
  readonly e?: ReadonlyArray<unknown>
  readonly d?: ReadonlyArray<StoredDelay>
  readonly h?: StoredMemory
  readonly f?: ForkOrigin
  /** Who started it, and the trace of the start. */
  readonly w?: string
  readonly p?: string
}

/** What a fork was made from. */
export interface ForkOrigin {
  readonly id: string
  /** The last event that was copied. */
  readonly sequence: number
  /** When it was made. */
  readonly at: number
  /** Who made it. */
  readonly by?: string
}

/** The origin of an instance, as that of its fork. */
export const forkedOrigin = (origin: string, fork: ForkOrigin): string =>
  JSON.stringify({ ...(JSON.parse(origin) as StoredOrigin), f: fork })

/** What the instance of this origin was forked from; undefined where it was started. */
export const forkOriginOf = (origin: string | undefined): ForkOrigin | undefined =>
  origin?.includes(`"f":{`) === true ? (JSON.parse(origin) as StoredOrigin).f : undefined

/** Who started the instance of this origin, where the program said so. */
export const starterOf = (origin: string | undefined): string | undefined =>
  origin?.includes(`,"w":"`) === true ? (JSON.parse(origin) as StoredOrigin).w : undefined

/** The first state of an instance. */
export const readOrigin = (codec: Codec, origin: string): Tagged => decodeOrigin(codec, origin).state

const beforeFirst = { sequence: 0, tag: "(start)", dedupeId: undefined }

const decodeOrigin = (codec: Codec, origin: string) => {
  const { v, s, e = [], d, h, f: _, w: _starter, p: _trace, ...rest } = JSON.parse(origin) as StoredOrigin
  return {
    state: codec.remembering(codec.stateOf(s, v), h, v),
    previous: decodePrevious(codec, s, rest, v),
    selfSent: selfSentAfter(none, beforeFirst, codec.decodeEvents(e, v)),
    delayed: codec.decodeDelayed(d, v),
  }
}

interface ReplayedOne {
  readonly body: EventBody
  readonly event: Tagged
  readonly answer: unknown
  readonly state: Tagged
  readonly through: ReadonlyArray<Tagged>
  readonly moved: boolean
  /** How many of the groups around the state, counted from the outermost, were not left. */
  readonly kept: number
  readonly stopped: string | undefined
  readonly sends: ReadonlyArray<Tagged>
  readonly outcome: ReplayedEvent["outcome"]
  readonly requests: ReadonlyArray<string>
}

/** Decodes one journaled event, without the states before and after it. */
export const readEvent = (codec: Codec, key: InstanceKey, record: EventRecord): Effect.Effect<EventBody, EventReplayError> =>
  Effect.try({ try: () => codec.decodeEvent(record.body), catch: (cause) => unreadable(key, undefined, record, cause) })

/** Not an Effect: running one per event takes longer than the decision itself. */
const replayOne = (
  compiled: Compiled,
  codec: Codec,
  key: InstanceKey,
  state: Tagged,
  record: EventRecord,
): ReplayedOne | EventReplayError => {
  let body: EventBody
  try {
    body = codec.decodeEvent(record.body)
  } catch (cause) {
    return unreadable(key, state, record, cause)
  }
  const { event, answer } = body
  if (body.settled !== undefined) {
    const { outcome, moved, state: reached, through, reason, sends, kept = 0, requests = none } = body.settled
    const stopped = outcome === "Stop" ? reason : undefined
    return { body, event, answer, state: reached, through, moved, kept, sends, stopped, outcome, requests }
  }
  const decision = replay(compiled, state, event, record.at, body)
  switch (decision._tag) {
    case "Goto":
    case "Stay":
      return {
        body,
        event,
        answer,
        state: decision.state,
        through: decision.through,
        moved: decision._tag === "Goto",
        kept: decision.kept ?? 0,
        stopped: undefined,
        sends: body.raised ?? decision.sends,
        outcome: decision._tag,
        requests: slotsOf(decision.requests),
      }
    case "Stop":
      return {
        body,
        event,
        answer,
        state: decision.state,
        through: decision.through,
        moved: decision.state !== state,
        kept: 0,
        stopped: decision.reason,
        sends: none,
        outcome: "Stop",
        requests: slotsOf(decision.requests),
      }
    case "Refused":
      return broken(key, state, record, decision.error.message)
    case "Postponed":
      return broken(key, state, record, "the definition now postpones it")
    case "Deferred":
      return broken(key, state, record, "its decision has become an Effect since; it cannot be replayed")
  }
}

const slotsOf = (requests: ReadonlyArray<Request>): ReadonlyArray<string> =>
  requests.length === 0 ? none : requests.map(({ slot }) => slot)

type Place = Pick<EventRecord, "tag" | "sequence">

const firstState: Place = { tag: "(start)", sequence: 0 }

const broken = (key: InstanceKey, state: Tagged | undefined, place: Place, problem: string): EventReplayError =>
  new EventReplayError(placed(key, state, place, problem))

const placed = ({ machine, id }: InstanceKey, state: Tagged | undefined, { tag: event, sequence }: Place, problem: string) => ({
  machine,
  id,
  state: state?._tag ?? "(start)",
  event,
  sequence,
  problem,
})

const missing = ({ machine, id }: InstanceKey, { _tag: state }: Tagged, sequence: number): EventReplayError =>
  new EventReplayError({ machine, id, state, event: "(missing)", sequence, problem: `event ${sequence} is missing` })

/** A stored value cannot be decoded. */
const unreadable = (key: InstanceKey, state: Tagged | undefined, place: Place, cause: unknown): EventReplayError => {
  const at = placed(key, state, place, cause instanceof Error ? cause.message : String(cause))
  if (!(cause instanceof WrittenByNewer)) return new EventReplayError(at)
  return new NewerVersion({ ...at, written: cause.written, known: cause.known })
}
