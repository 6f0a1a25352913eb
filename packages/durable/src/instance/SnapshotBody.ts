/**
 * What a snapshot holds: the state, the one before it, when it was entered, and the delayed events that wait. With less, an
 * instance that is read from a snapshot would differ from one that is replayed from all its events.
 */
import type { Tagged } from "@detent/machine/internal"
import type { Json } from "../store/Commit.ts"
import type { Codec, StoredDelay } from "./Codec.ts"
import type { DelayedEvent } from "./DelayedEvents.ts"

export interface SnapshotContent {
  readonly state: Tagged
  readonly previous: Tagged | undefined
  /** The sequence at which the state was entered. */
  readonly entered: number
  readonly delayed: ReadonlyArray<DelayedEvent>
}

export const encodeSnapshot = (codec: Codec, { state, previous, entered, delayed }: SnapshotContent): Json => {
  const before = previous === undefined ? "" : `,"p":${codec.encodeState(previous)}`
  const waiting = delayed.length === 0 ? "" : `,"d":${JSON.stringify(codec.encodeDelayed(delayed))}`
  return `{"s":${codec.encodeState(state)},"n":${entered}${before}${waiting}}`
}

/** Earlier versions stored the state alone: it then counts as entered at the snapshot. */
export const decodeSnapshot = (codec: Codec, body: Json, version: number, sequence: number): SnapshotContent => {
  const stored = codec.parseState(body)
  if ("_tag" in stored) return { state: codec.stateOf(stored, version), previous: undefined, entered: sequence, delayed: [] }
  const { s, p, n, d } = stored as {
    readonly s: unknown
    readonly p?: unknown
    readonly n: number
    readonly d?: ReadonlyArray<StoredDelay>
  }
  const previous = p === undefined ? undefined : stateIfKnown(codec, p, version)
  return { state: codec.stateOf(s, version), previous, entered: n, delayed: codec.decodeDelayed(d, version) }
}

/** The state before is shown, never decided on: an instance is not held because its machine no longer has that state. */
export const stateIfKnown = (codec: Codec, stored: unknown, version: number): Tagged | undefined => {
  try {
    return codec.stateOf(stored, version)
  } catch {
    return undefined
  }
}
