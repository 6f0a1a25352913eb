/**
 * The content of a snapshot: the state, the previous state, when the state and the groups around it were entered, and the delayed
 * events that wait. Without any of these, an instance read from a snapshot would differ from one that is replayed from all its events.
 */
import type { Tagged } from "@detent/machine/internal"
import type { Json } from "../store/Commit.ts"
import type { Codec, StoredDelay, StoredMemory } from "./Codec.ts"
import type { DelayedEvent } from "./DelayedEvents.ts"
import { type GroupEntries, noEntries } from "./GroupEntries.ts"
import { decodePrevious, previousText, type StoredPrevious } from "./PreviousState.ts"

export interface SnapshotContent {
  readonly state: Tagged
  readonly previous: Tagged | undefined
  /** The sequence at which the state was entered. */
  readonly entered: number
  /** The same for the groups around the state that have declarations. */
  readonly groups: GroupEntries
  readonly delayed: ReadonlyArray<DelayedEvent>
}

export const encodeSnapshot = (codec: Codec, { state, previous, entered, groups, delayed }: SnapshotContent): Json => {
  const value = codec.stateValue(state)
  const entries = groups.size === 0 ? "" : `,"g":${JSON.stringify(Object.fromEntries(groups))}`
  const waiting = delayed.length === 0 ? "" : `,"d":${JSON.stringify(codec.encodeDelayed(delayed))}`
  const before = previousText(codec, value, previous)
  return `{"s":${JSON.stringify(value)},"n":${entered}${before}${entries}${waiting}${memoryText(codec, state)}}`
}

/** Earlier versions stored the state alone: it then counts as entered at the snapshot. */
export const decodeSnapshot = (codec: Codec, body: Json, version: number, sequence: number): SnapshotContent => {
  const stored = codec.parseState(body)
  if ("_tag" in stored) {
    return { state: codec.stateOf(stored, version), previous: undefined, entered: sequence, groups: noEntries, delayed: [] }
  }
  const { s, n, g, d, h, ...rest } = stored as StoredSnapshot
  return {
    state: codec.remembering(codec.stateOf(s, version), h, version),
    previous: decodePrevious(codec, s, rest, version),
    entered: n,
    groups: g === undefined ? noEntries : new Map(Object.entries(g)),
    delayed: codec.decodeDelayed(d, version),
  }
}

/** Snapshots of earlier versions have fewer keys. */
interface StoredSnapshot extends StoredPrevious {
  readonly s: unknown
  readonly n: number
  readonly g?: { readonly [group: string]: number }
  readonly d?: ReadonlyArray<StoredDelay>
  /** The state in which each group was last left, for machines with `history`. */
  readonly h?: StoredMemory
}

/** The memory of groups as a further key of a JSON object. */
export const memoryText = (codec: Codec, state: Tagged): string => {
  const memory = codec.encodeMemory(state)
  return memory === undefined ? "" : `,"h":${JSON.stringify(memory)}`
}
