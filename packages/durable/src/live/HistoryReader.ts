/**
 * The past of an instance: its history in pages, and its state after any event. A page replays its events and those since the nearest
 * known state before it: the stored snapshot, or the remembered state at the end of a page that was read earlier.
 */
import type { EventReplayError, PersistenceFailed } from "@detent/machine"
import type { Tagged } from "@detent/machine/internal"
import type { InstanceRecord, JournalService, OpenedInstance, SnapshotRecord } from "@detent/store"
import { instanceName, Turns } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import type { HistoryEntry, HistoryOptions, ReadError } from "../Instance.ts"
import { actorOfEvent } from "../machine/Actor.ts"
import type { RegisteredMachine } from "../machine/MachineRegistry.ts"
import { type ReplayedEvent, recover } from "../machine/Replay.ts"
import { encodeSnapshot } from "../machine/SnapshotBody.ts"
import { retryOnChange } from "./retryOnChange.ts"

const defaultLimit = 100
const largestLimit = 10_000

/** In a long replay towards a page, a state is remembered after this many events. */
const strideLength = 2000

/** How many states are remembered, of all instances together. The least recently used is dropped first. */
const rememberedLimit = 512

interface Remembered {
  readonly name: string
  readonly snapshot: SnapshotRecord
}

type Page = ReadonlyArray<HistoryEntry<Tagged, Tagged>>

/** A position or a length as a store takes it: whole, and at least 0. */
export const wholeNumber = (value: number | undefined, byDefault: number): number =>
  value === undefined || Number.isNaN(Number(value)) ? byDefault : Math.max(0, Math.trunc(value))

export class HistoryReader {
  readonly #journal: JournalService
  /** By instance and sequence, least recently used first. */
  readonly #remembered = new Map<string, Remembered>()
  /** Instances with a long replay in progress. */
  readonly #turns = new Turns()

  constructor(journal: JournalService) {
    this.#journal = journal
  }

  page(machine: RegisteredMachine, found: OpenedInstance, options: HistoryOptions): Effect.Effect<Page, ReadError> {
    const after = wholeNumber(options.after, 0)
    const limit = Math.min(wholeNumber(options.limit, defaultLimit), largestLimit)
    return retryOnChange(this.#journal, found, (opened) =>
      Effect.gen({ self: this }, function* () {
        const through = Math.min(after + limit, opened.record.sequence)
        if (through <= after) return []
        const start = yield* this.#approach(machine, opened, after)
        const entries: Array<HistoryEntry<Tagged, Tagged>> = []
        const note = (event: ReplayedEvent) => {
          if (event.record.sequence > after) entries.push(entryOf(event))
        }
        yield* this.#advance(machine, start, through, note)
        return entries
      }),
    )
  }

  /** The state after an event. States remembered on the way to it serve pages too, and vice versa. */
  stateAt(
    machine: RegisteredMachine,
    opened: OpenedInstance,
    sequence: number,
  ): Effect.Effect<Tagged, EventReplayError | PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const start = yield* this.#approach(machine, opened, sequence)
      return (yield* recover(machine, this.#journal, start, sequence)).state
    })
  }

  /**
   * The instance with the state at most one stride before a sequence number. A long replay goes stride by stride and remembers
   * the state after each. Readers of the same instance take turns: the second uses the states that the first remembered.
   */
  #approach(
    machine: RegisteredMachine,
    opened: OpenedInstance,
    sequence: number,
  ): Effect.Effect<OpenedInstance, EventReplayError | PersistenceFailed> {
    const near = this.#nearest(opened, sequence)
    if (sequence - (near?.sequence ?? 0) <= strideLength) return Effect.succeed({ ...opened, snapshot: near })
    const way = Effect.gen({ self: this }, function* () {
      const from = this.#nearest(opened, sequence)
      let start: OpenedInstance = { ...opened, snapshot: from }
      for (let reached = from?.sequence ?? 0; sequence - reached > strideLength; reached += strideLength) {
        start = yield* this.#advance(machine, start, reached + strideLength, undefined)
        // A store that answers synchronously would otherwise block the event loop until the whole way is replayed.
        yield* Effect.yieldNow
      }
      return start
    })
    return this.#turns.alone(lifeName(opened.record), way)
  }

  /** Replays up to a sequence number and remembers the state there. */
  #advance(
    machine: RegisteredMachine,
    start: OpenedInstance,
    through: number,
    each: ((event: ReplayedEvent) => void) | undefined,
  ): Effect.Effect<OpenedInstance, EventReplayError | PersistenceFailed> {
    return Effect.map(recover(machine, this.#journal, start, through, each), (recovered) => {
      const { past, sequence, at } = recovered
      const body = encodeSnapshot(machine.codec, { ...recovered, previous: past.at(-1) })
      const snapshot = { sequence, at, version: machine.version, body }
      this.#remember(lifeName(start.record), snapshot)
      return { ...start, snapshot }
    })
  }

  /** The latest known state at or before a sequence number. Undefined: the first state of the instance. */
  #nearest({ record, origin, snapshot }: OpenedInstance, after: number): SnapshotRecord | undefined {
    // Without the first state, the history before the snapshot was pruned.
    let best = origin === undefined || (snapshot !== undefined && snapshot.sequence <= after) ? snapshot : undefined
    const name = lifeName(record)
    for (const [key, one] of this.#remembered) {
      if (one.name !== name || one.snapshot.sequence > after || one.snapshot.sequence <= (best?.sequence ?? 0)) continue
      best = one.snapshot
      this.#remembered.delete(key)
      this.#remembered.set(key, one)
    }
    return best
  }

  #remember(name: string, snapshot: SnapshotRecord) {
    const key = `${name}\u0000${snapshot.sequence}`
    this.#remembered.delete(key)
    this.#remembered.set(key, { name, snapshot })
    const [oldest] = this.#remembered.keys()
    if (this.#remembered.size > rememberedLimit && oldest !== undefined) this.#remembered.delete(oldest)
  }
}

/** The id of a removed instance may be used again, and events may be rewritten: states from before do not count any more. */
const lifeName = (record: InstanceRecord): string => `${instanceName(record)}\u0000${record.startedAt}\u0000${record.revision ?? 0}`

const entryOf = ({
  record,
  event,
  from,
  state,
  outcome,
  through,
  requests,
  delays,
  replaced,
  by,
}: ReplayedEvent): HistoryEntry<Tagged, Tagged> => ({
  sequence: record.sequence,
  at: record.at,
  event,
  from,
  state,
  dedupeId: record.dedupeId,
  outcome,
  through,
  requests,
  actor: actorOfEvent(event, record.dedupeId, by),
  ...(delays.length === 0 ? {} : { delays }),
  ...(replaced === undefined ? {} : { replaced }),
})
