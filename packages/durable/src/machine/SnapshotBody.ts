/**
 * The content of a snapshot: the state, the previous state, when the state and the groups around it were entered, and the delayed and
 * self-sent events that wait. Without any of these, an instance read from a snapshot would differ from one that is replayed from all its
 * events.
 */

import type { SnapshotPolicy } from "@detent/machine"
import type { Chain, Tagged } from "@detent/machine/internal"
import type { Json } from "@detent/store/internal"
import * as Duration from "effect/Duration"
import type { Codec, StoredDelay, StoredMemory } from "./Codec.ts"
import type { DelayedEvent } from "./DelayedEvents.ts"
import { type GroupEntries, noEntries } from "./GroupEntries.ts"
import type { PendingEvent } from "./PendingEvent.ts"
import { decodePrevious, previousText, type StoredPrevious } from "./PreviousState.ts"
import type { SelfSentEvent } from "./SelfSentEvents.ts"

const none: ReadonlyArray<never> = []

export interface SnapshotContent {
  readonly state: Tagged
  readonly previous: Tagged | undefined
  /** The sequence at which the state was entered. */
  readonly entered: number
  /** The same for the groups around the state that have declarations. */
  readonly groups: GroupEntries
  readonly delayed: ReadonlyArray<DelayedEvent>
  /** Self-sent events that are not handled yet. A live instance takes no snapshot while it has any, a fork does. Default: none. */
  readonly selfSent?: ReadonlyArray<SelfSentEvent>
}

export const encodeSnapshot = (codec: Codec, content: SnapshotContent): Json => {
  const { state, previous, entered, groups, delayed, selfSent = none } = content
  const value = codec.stateValue(state)
  const entries = groups.size === 0 ? "" : `,"g":${JSON.stringify(Object.fromEntries(groups))}`
  const waiting = delayed.length === 0 ? "" : `,"d":${JSON.stringify(codec.encodeDelayed(delayed))}`
  const owed = selfSent.length === 0 ? "" : `,"e":${JSON.stringify(encodeSelfSent(codec, selfSent))}`
  const before = previousText(codec, value, previous)
  return `{"s":${JSON.stringify(value)},"n":${entered}${before}${entries}${waiting}${owed}${memoryText(codec, state)}}`
}

const encodeSelfSent = (codec: Codec, selfSent: ReadonlyArray<SelfSentEvent>): ReadonlyArray<StoredSelfSent> => {
  const events = codec.encodeRaised(selfSent.map(({ event }) => event))
  return selfSent.map(({ id, chain }, index) => ({ i: id, e: events[index], c: chain }))
}

const decodeSelfSent = (codec: Codec, stored: ReadonlyArray<StoredSelfSent>, version: number): ReadonlyArray<SelfSentEvent> => {
  const events = codec.decodeRaised(
    stored.map(({ e }) => e),
    version,
  )
  return stored.map(({ i: id, c: chain }, index) => ({ id, event: events[index] as Tagged, chain }))
}

export const decodeSnapshot = (codec: Codec, body: Json, version: number): Required<SnapshotContent> => {
  const { s, n, g, d, e = none, h, ...rest } = codec.parseState(body) as StoredSnapshot
  return {
    state: codec.remembering(codec.stateOf(s, version), h, version),
    previous: decodePrevious(codec, s, rest, version),
    entered: n,
    groups: g === undefined ? noEntries : new Map(Object.entries(g)),
    delayed: codec.decodeDelayed(d, version),
    selfSent: decodeSelfSent(codec, e, version),
  }
}

interface StoredSelfSent {
  readonly i: string
  /** Null where it does not fit its schema. */
  readonly e: unknown
  readonly c: Chain
}

/** Keys without content are left out. */
interface StoredSnapshot extends StoredPrevious {
  readonly s: unknown
  readonly n: number
  readonly g?: { readonly [group: string]: number }
  readonly d?: ReadonlyArray<StoredDelay>
  readonly e?: ReadonlyArray<StoredSelfSent>
  /** The state in which each group was last left, for machines with `history`. */
  readonly h?: StoredMemory
}

/** The memory of groups as a further key of a JSON object. */
export const memoryText = (codec: Codec, state: Tagged): string => {
  const memory = codec.encodeMemory(state)
  return memory === undefined ? "" : `,"h":${JSON.stringify(memory)}`
}

/** The sequence of an event or a snapshot, and when it was stored. */
export interface Moment {
  readonly sequence: number
  readonly at: number
}

interface Stored {
  readonly lastSnapshot: Moment | undefined
  readonly startedAt: number
}

export const snapshotDue = (
  policy: SnapshotPolicy<string>,
  { lastSnapshot, startedAt }: Stored,
  now: Moment,
  events: ReadonlyArray<Pick<PendingEvent, "decision">>,
): boolean => {
  switch (policy._tag) {
    case "EveryTransition":
      return true
    case "EveryN":
      return now.sequence - (lastSnapshot?.sequence ?? 0) >= policy.transitions
    case "Interval":
      return now.at - (lastSnapshot?.at ?? startedAt) >= Duration.toMillis(Duration.fromInputUnsafe(policy.every))
    case "OnStates":
      return events.some(({ decision }) => policy.states.includes(decision.state._tag))
    case "Manual":
      return false
  }
}
