/**
 * What a snapshot holds: the state, the one before it, when it and the groups around it were entered, and the delayed events that
 * wait. With less, an instance that is read from a snapshot would differ from one that is replayed from all its events.
 */
import type { Tagged } from "@detent/machine/internal"
import type { Json } from "../store/Commit.ts"
import type { Codec, StoredDelay, StoredMemory } from "./Codec.ts"
import type { DelayedEvent } from "./DelayedEvents.ts"
import { type GroupEntries, noEntries } from "./GroupEntries.ts"

export interface SnapshotContent {
  readonly state: Tagged
  readonly previous: Tagged | undefined
  /** The sequence at which the state was entered. */
  readonly entered: number
  /** The same for the groups around the state, where anything is declared for the stay in them. */
  readonly groups: GroupEntries
  readonly delayed: ReadonlyArray<DelayedEvent>
}

export const encodeSnapshot = (codec: Codec, { state, previous, entered, groups, delayed }: SnapshotContent): Json => {
  const before = previous === undefined ? "" : `,"p":${codec.encodeState(previous)}`
  const entries = groups.size === 0 ? "" : `,"g":${JSON.stringify(Object.fromEntries(groups))}`
  const waiting = delayed.length === 0 ? "" : `,"d":${JSON.stringify(codec.encodeDelayed(delayed))}`
  return `{"s":${codec.encodeState(state)},"n":${entered}${before}${entries}${waiting}${memoryText(codec, state)}}`
}

/** Earlier versions stored the state alone: it then counts as entered at the snapshot. */
export const decodeSnapshot = (codec: Codec, body: Json, version: number, sequence: number): SnapshotContent => {
  const stored = codec.parseState(body)
  if ("_tag" in stored) {
    return { state: codec.stateOf(stored, version), previous: undefined, entered: sequence, groups: noEntries, delayed: [] }
  }
  const { s, p, n, g, d, h } = stored as StoredSnapshot
  return {
    state: codec.remembering(codec.stateOf(s, version), h, version),
    previous: p === undefined ? undefined : stateIfKnown(codec, p, version),
    entered: n,
    groups: g === undefined ? noEntries : new Map(Object.entries(g)),
    delayed: codec.decodeDelayed(d, version),
  }
}

/** Snapshots of earlier versions have fewer keys. */
interface StoredSnapshot {
  readonly s: unknown
  readonly p?: unknown
  readonly n: number
  readonly g?: { readonly [group: string]: number }
  readonly d?: ReadonlyArray<StoredDelay>
  /** Where groups were left, for machines that lead back there. */
  readonly h?: StoredMemory
}

/** The memory of groups as a further key of a JSON object. */
export const memoryText = (codec: Codec, state: Tagged): string => {
  const memory = codec.encodeMemory(state)
  return memory === undefined ? "" : `,"h":${JSON.stringify(memory)}`
}

/** The state before is shown, never decided on: an instance is not held because its machine no longer has that state. */
export const stateIfKnown = (codec: Codec, stored: unknown, version: number): Tagged | undefined => {
  try {
    return codec.stateOf(stored, version)
  } catch {
    return undefined
  }
}
