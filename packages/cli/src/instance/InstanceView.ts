/** An instance as the commands show it. Field names are those of the HTTP API; sensitive fields are hidden. */
import { Engine, type InstanceKey, type InstanceRecord, Journal } from "@detent/durable"
import { finalOutcome } from "@detent/machine/internal"
import { MachineJson } from "@detent/server/MachineJson"
import type { MachineEntry } from "@detent/workspace/Machines"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { NothingFound, WrongUsage } from "../Failure.ts"
import { cursorFrom } from "../workspace/Cursor.ts"
import { findEntry, findInstance, findKey } from "./Finding.ts"

/** A row of a list. `outcome` is that of the final state, which its machine knows. */
const instanceRow = (record: InstanceRecord) => Effect.map(outcomeOf(record), (outcome) => rowOf(record, outcome))

const outcomeOf = ({ machine, tag }: InstanceRecord) =>
  Effect.map(Engine, (engine) => Option.getOrUndefined(Option.map(engine.machine(machine), (known) => finalOutcome(known, tag))))

type Outcome = "failure" | undefined

const rowOf = ({ machine, id, tag, status, reason, sequence, version, startedAt, updatedAt }: InstanceRecord, outcome: Outcome) => ({
  machine,
  id,
  state: tag,
  status,
  ...(outcome === undefined ? {} : { outcome }),
  ...(reason === undefined ? {} : { reason }),
  sequence,
  version,
  startedAt,
  updatedAt,
})

export interface InstanceQuery {
  readonly machine?: string | undefined
  readonly state?: string | undefined
  readonly status?: InstanceRecord["status"] | undefined
  readonly limit: number
  readonly after?: string | undefined
}

export const instancePage = (query: InstanceQuery) =>
  Effect.gen(function* () {
    const { after } = yield* cursorFrom(query.after)
    if (query.machine !== undefined) yield* isStateOf(yield* findEntry(query.machine), query.state)
    const filter = {
      ...(query.machine === undefined ? {} : { machine: query.machine }),
      ...(query.state === undefined ? {} : { tag: query.state }),
      ...(query.status === undefined ? {} : { status: query.status }),
    }
    const page = yield* Effect.flatMap(Journal, (journal) => journal.list(filter, Math.min(1000, Math.max(1, query.limit)), after))
    return { instances: yield* Effect.forEach(page.instances, instanceRow), next: page.next }
  })

const isStateOf = (entry: MachineEntry, state: string | undefined): Effect.Effect<void, WrongUsage> => {
  if (state === undefined || entry._tag === "EffectWorkflow") return Effect.void
  const { stateTags } = new MachineJson(entry.machine)
  return stateTags.includes(state)
    ? Effect.void
    : Effect.fail(new WrongUsage({ problem: `${entry.name} has no state ${state}`, nextStep: `its states are ${stateTags.join(", ")}` }))
}

interface Standing {
  readonly state?: { readonly _tag: string }
  /** The sequence it is shown at, where that is not the latest. */
  readonly at?: number
  readonly accepts?: ReadonlyArray<string>
}

export const instanceView = (text: string, at?: number) =>
  Effect.gen(function* () {
    const key = yield* findKey(text)
    const opened = yield* Effect.flatMap(Journal, (journal) => journal.open(key))
    if (Option.isNone(opened)) return yield* new NothingFound({ what: `instance ${text}`, nextStep: "see `detent instance list`" })
    const { record, timers } = opened.value
    const shown: Standing = yield* standing(record, at)
    const row = { ...(yield* instanceRow(record)), tag: record.tag, ...shown, timers: timers.map(({ name, due }) => ({ name, due })) }
    return shown.at === undefined || shown.at >= record.sequence ? row : { ...row, ...(yield* asOf(record, shown.at)) }
  })

/** It took more events afterwards, so it was running; which timers it had then is not kept. */
const asOf = (record: InstanceRecord, sequence: number) =>
  Effect.gen(function* () {
    const [event] = yield* Effect.flatMap(Journal, (journal) => journal.events(record, sequence - 1, 1))
    const updatedAt = sequence === 0 ? record.startedAt : event?.at
    return { status: "running" as const, reason: undefined, updatedAt, timers: [] }
  })

/** What only a machine can tell of its instance. One that is held cannot be replayed, so the journal's summary has to do. */
const standing = (record: InstanceRecord, at: number | undefined) =>
  Effect.gen(function* () {
    const entry = yield* findEntry(record.machine)
    if (entry._tag === "EffectWorkflow") return {}
    const json = new MachineJson(entry.machine)
    const instance = Option.getOrThrow((yield* Engine).find(record))
    if (at !== undefined) return { state: json.state(yield* instance.stateAt(at)), at }
    if (record.status === "held") return {}
    const state = yield* instance.state
    return { state: json.state(state), accepts: acceptedIn(json, record.status, state._tag) }
  })

export const acceptedIn = (json: MachineJson, status: InstanceRecord["status"], state: string): ReadonlyArray<string> =>
  status === "running" ? json.legalEvents(state).map(({ event }) => event) : []

export interface HistoryRow {
  readonly sequence: number
  readonly at: number
  readonly event: { readonly _tag: string }
  readonly from?: string
  readonly state?: { readonly _tag: string }
  readonly outcome?: "Goto" | "Stay" | "Stop"
  readonly through?: ReadonlyArray<string>
  readonly requests?: ReadonlyArray<string>
  readonly dedupeId?: string
}

export interface HistoryQuery {
  readonly instance: string
  /** Only events after this sequence number. */
  readonly after: number
  readonly limit: number
}

/** A larger page holds too many states in memory. */
const largestPage = 1000

/**
 * Journaled events of an instance in order, and the sequence number to ask for the next ones with, where there are more. For an
 * execution of an Effect workflow: its events without their payloads.
 */
export const historyRows = ({ instance, after, limit }: HistoryQuery) =>
  Effect.gen(function* () {
    const size = Math.min(largestPage, Math.max(1, limit))
    // One more than the page has, which says whether another follows.
    const range = { after: Math.max(0, after), limit: size + 1 }
    const key = yield* findKey(instance)
    const entry = yield* findEntry(key.machine)
    const found = entry._tag === "Machine" ? yield* replayed(instance, range) : yield* executed(key, range)
    const rows = found.slice(0, size)
    const last = rows.at(-1)?.sequence
    return { rows, ...(found.length > size && last !== undefined ? { next: last } : {}) }
  })

interface HistoryRange {
  readonly after: number
  readonly limit: number
}

const executed = (key: InstanceKey, { after, limit }: HistoryRange) =>
  Effect.map(
    Effect.flatMap(Journal, (journal) => journal.events(key, after, limit)),
    (records) => records.map(({ sequence, at, tag }): HistoryRow => ({ sequence, at, event: { _tag: tag } })),
  )

const replayed = (text: string, range: HistoryRange) =>
  Effect.gen(function* () {
    const { instance, machine } = yield* findInstance(text)
    const json = new MachineJson(machine)
    const entries = yield* instance.historyPage(range)
    return entries.map(
      ({ sequence, at, event, from, state, outcome, through, requests, dedupeId }): HistoryRow => ({
        sequence,
        at,
        event: json.event(event),
        from: from._tag,
        state: json.state(state),
        outcome,
        through: through.map(({ _tag }) => _tag),
        requests,
        ...(dedupeId === undefined ? {} : { dedupeId }),
      }),
    )
  })
