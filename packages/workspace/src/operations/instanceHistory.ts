/** The history of an instance, event by event, in both directions. */
import { actorText, Commands, type EventRecord, type HistoryEntry, type InstanceKey, InstanceNotFound, Journal } from "@detent/durable"
import { actorOfRecord } from "@detent/durable/internal"
import type { Tagged } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { MachineJson, TaggedJson } from "../machine/MachineJson.ts"
import { optional } from "../optional.ts"
import { requestsOf } from "./drawing.ts"
import { find } from "./find.ts"

const defaultPage = 100
const longestPage = 1000

/** A page without the fields of states and events may be longer. */
const longestBriefPage = 10_000

/** The most events that one filtered page examines. */
const mostScanned = 10_000

/** Events that are read from the journal in one query. */
const readAtOnce = 1000

export interface HistoryPage {
  /** Only events after this number. */
  readonly after?: number | undefined
  /** Only events before this number. */
  readonly before?: number | undefined
  /** `desc`: newest first. Default: `asc`. */
  readonly order?: "asc" | "desc" | undefined
  /** Only events whose name contains this text, ignoring case. */
  readonly event?: string | undefined
  /** Only events whose actor, such as `user ada`, contains this text, ignoring case. */
  readonly actor?: string | undefined
  /** Without the fields of states and events. */
  readonly brief?: boolean | undefined
  readonly limit?: number | undefined
}

/** What sent an event. */
export type Cause =
  | { readonly kind: "timer"; readonly name: string }
  /** The result of a command. */
  | { readonly kind: "command"; readonly key: string }
  /** The machine itself, while it handled the event of this number. */
  | { readonly kind: "machine"; readonly sequence: number }
  /** A caller, with the dedupe id that it gave. */
  | { readonly kind: "sender"; readonly id?: string }

/** Derives the cause of an event from its dedupe id. */
export const causeOf = (event: { readonly _tag: string; readonly name?: unknown }, dedupeId: string | undefined): Cause => {
  if (event._tag === "@timeout") return { kind: "timer", name: String(event.name) }
  if (dedupeId === undefined) return { kind: "sender" }
  const [, key] = /^@(?:command|retry\/\d+)\/(.+)$/s.exec(dedupeId) ?? []
  if (key !== undefined) return { kind: "command", key }
  const [, sequence] = /^@raised\/(\d+)\//.exec(dedupeId) ?? []
  if (sequence !== undefined) return { kind: "machine", sequence: Number(sequence) }
  return dedupeId.startsWith("@") ? { kind: "sender" } : { kind: "sender", id: dedupeId }
}

type Entry = HistoryEntry<Tagged, Tagged>

const entryView = (json: MachineJson, isBrief: boolean) => (entry: Entry) => {
  const { sequence, at, event, from, state, dedupeId, actor, outcome, through, requests, delays, replaced } = entry
  const shown: TaggedJson = json.event(event)
  return {
    sequence,
    at,
    event: isBrief ? nameOf(shown) : shown,
    from: from._tag,
    state: isBrief ? { _tag: state._tag } : json.state(state),
    outcome,
    through: through.map(({ _tag }) => _tag),
    requests,
    cause: causeOf(event as TaggedJson, dedupeId),
    actor,
    ...optional({
      dedupeId,
      delays: delays?.map((one) => changeView(json, one)),
      replaced: replaced?.map((one) => replacedView(json, isBrief, one)),
    }),
  }
}

type DelayChange = NonNullable<Entry["delays"]>[number]

/** A delayed event that was scheduled; without `due`, one that was cancelled. */
const changeView = (json: MachineJson, { name, due, event }: DelayChange) => ({
  name,
  ...optional({ due, event: event === undefined ? undefined : json.event(event) }),
})

const StoredBody = Schema.decodeUnknownOption(Schema.Struct({ e: Schema.Json }))

/** A replaced event, without sensitive fields; null where what was stored is no event. */
const replacedView = (json: MachineJson, isBrief: boolean, { at, by, reason, body }: NonNullable<Entry["replaced"]>[number]) => ({
  at,
  ...optional({ by, reason }),
  ...(isBrief
    ? {}
    : {
        event: Option.match(StoredBody(body), { onNone: () => null, onSome: ({ e }): Schema.Json => json.storedEvent(e) }),
      }),
})

/** The event without its fields. A timeout keeps its name. */
const nameOf = (event: TaggedJson): TaggedJson =>
  event._tag === "@timeout" ? { _tag: event._tag, name: event["name"] ?? null } : { _tag: event._tag }

/**
 * The journaled events between two numbers, each with the states before and after it. `next` is the cursor of the next page: `after`
 * where the oldest come first, `before` where the newest do. `scanned`: the page ended early, after examining this many events.
 */
export const history = (key: InstanceKey, page: HistoryPage = {}) =>
  Effect.gen(function* () {
    const { instance, json } = yield* find(key)
    const { brief = false } = page
    const range = yield* rangeOf(key, page)
    const view = entryView(json, brief)
    if (isFiltered(page)) {
      const { found, ...end } = yield* matching(key, range, page)
      const entries = yield* Effect.forEach(found, ({ sequence }) => instance.historyPage({ after: sequence - 1, limit: 1 }))
      return { entries: yield* withRequestsOfHooks(key, entries.flat().map(view)), ...end }
    }
    const { from, count, ...end } = partOf(range)
    const read = count === 0 ? [] : (yield* instance.historyPage({ after: from, limit: count })).map(view)
    const entries = yield* withRequestsOfHooks(key, read)
    return { entries: range.isDescending ? entries.reverse() : entries, ...end }
  })

/** Adds the slots that `enter` and `exit` hooks requested. A replay runs no hook, so they are read from the stored commands. */
const withRequestsOfHooks = <A extends { readonly sequence: number; readonly requests: ReadonlyArray<string> }>(
  key: InstanceKey,
  entries: ReadonlyArray<A>,
) =>
  Effect.gen(function* () {
    const numbers = entries.map(({ sequence }) => sequence)
    const [first = 0, last = 0] = [numbers.at(0), numbers.at(-1)]
    const sequences = { from: Math.min(first, last), through: Math.max(first, last) }
    const stored = numbers.length === 0 ? [] : yield* Effect.flatMap(Commands, (commands) => commands.ofInstance(key, { sequences }))
    const bySequence = Map.groupBy(stored, ({ sequence }) => sequence)
    return entries.map((entry) => ({ ...entry, requests: requestsOf(entry.requests, bySequence.get(entry.sequence) ?? []) }))
  })

/** The history from the journal alone, for executions and for instances whose definition this process does not have. */
export const journaled = (key: InstanceKey, page: HistoryPage = {}) =>
  Effect.gen(function* () {
    const range = yield* rangeOf(key, page)
    if (isFiltered(page)) {
      const { found, ...end } = yield* matching(key, range, page)
      return { records: found, ...end }
    }
    const { from, count, next } = partOf(range)
    const read = count === 0 ? [] : yield* Effect.flatMap(Journal, (journal) => journal.events(key, from, count))
    // Where the journal was pruned, the query returns later events instead of the missing ones.
    const records = read.filter(({ sequence }) => sequence <= range.through)
    if (range.isDescending) return { records: records.toReversed(), ...optional({ next }) }
    const last = records.at(-1)?.sequence ?? range.through
    return { records, ...optional({ next: last < range.through ? last : undefined }) }
  })

const rangeOf = (key: InstanceKey, page: HistoryPage) =>
  Effect.map(lastSequence(key), (last): Range => {
    const { after = 0, before = Number.MAX_SAFE_INTEGER, order = "asc", brief = false, limit = defaultPage } = page
    const most = Math.min(brief ? longestBriefPage : longestPage, Math.max(1, limit))
    return { after: Math.max(0, after), through: Math.min(before - 1, last), isDescending: order === "desc", most }
  })

/** The part of a range that one page shows, and where the next page continues. */
const partOf = ({ after, through, isDescending, most }: Range) => {
  const length = Math.max(0, through - after)
  const count = Math.min(most, length)
  const from = isDescending ? through - count : after
  const next = count === length ? undefined : isDescending ? from + 1 : from + count
  return { from, count, ...optional({ next }) }
}

interface Range {
  readonly after: number
  readonly through: number
  readonly isDescending: boolean
  /** Events of one page. */
  readonly most: number
}

const lastSequence = (key: InstanceKey) =>
  Effect.gen(function* () {
    const [standing] = yield* Effect.flatMap(Journal, (journal) => journal.standings([key]))
    return standing === undefined ? yield* Effect.fail(new InstanceNotFound(key)) : standing.sequence
  })

type Filter = Pick<HistoryPage, "event" | "actor">

const isFiltered = ({ event = "", actor = "" }: Filter): boolean => event !== "" || actor !== ""

/** The events that a filter takes, and the cursor of the next page. */
const matching = (key: InstanceKey, { after, through, isDescending, most }: Range, { event = "", actor = "" }: Filter) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const [name, who] = [event.toLowerCase(), actor.toLowerCase()]
    const takes = (record: EventRecord): boolean =>
      record.tag.toLowerCase().includes(name) && (who === "" || actorText(actorOfRecord(record)).toLowerCase().includes(who))
    const found: Array<EventRecord> = []
    let scanned = 0
    for (let [low, high] = [after, through]; low < high; ) {
      const from = isDescending ? Math.max(low, high - readAtOnce) : low
      const to = Math.min(high, from + readAtOnce)
      const read = (yield* journal.events(key, from, to - from)).filter(({ sequence }) => sequence <= to)
      for (const record of isDescending ? read.toReversed() : read) {
        const isTaken = takes(record)
        if (isTaken && found.length === most) return { found, ...optional({ next: found.at(-1)?.sequence }) }
        if (isTaken) found.push(record)
        if (++scanned >= mostScanned) return { found, next: record.sequence, scanned }
      }
      if (isDescending) high = from
      else low = to
    }
    return { found }
  }).pipe(Effect.map((end): { readonly found: ReadonlyArray<EventRecord>; readonly next?: number; readonly scanned?: number } => end))
