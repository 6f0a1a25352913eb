/** What happened to an instance, event by event, in both directions. */
import { type HistoryEntry, type InstanceKey, InstanceNotFound, Journal } from "@detent/durable"
import type { Tagged } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import type { MachineJson, TaggedJson } from "../machine/MachineJson.ts"
import { optional } from "../optional.ts"
import { find } from "./find.ts"

const defaultPage = 100
const longestPage = 1000

/** A page without the fields of states and events may be longer. */
const longestBriefPage = 10_000

/** Events that one page looks at where it has only some of them. */
const mostScanned = 10_000

/** Events that are read from the journal at once. */
const readAtOnce = 1000

export interface HistoryPage {
  /** Only events after this number. */
  readonly after?: number | undefined
  /** Only events before this number. */
  readonly before?: number | undefined
  /** `desc`: newest first. Default: `asc`. */
  readonly order?: "asc" | "desc" | undefined
  /** Only events whose name has this in it, in upper or lower case. */
  readonly event?: string | undefined
  /** Without the fields of states and events. */
  readonly brief?: boolean | undefined
  readonly limit?: number | undefined
}

/** What has sent an event. */
export type Cause =
  | { readonly kind: "timer"; readonly name: string }
  /** The result of a command. */
  | { readonly kind: "command"; readonly key: string }
  /** The machine itself, on the event of this number. */
  | { readonly kind: "machine"; readonly sequence: number }
  /** Its id, where it gave one. */
  | { readonly kind: "sender"; readonly id?: string }

/** The cause of an event, from the id it was sent under. */
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
  const { sequence, at, event, from, state, dedupeId, outcome, through, requests, delays } = entry
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
    ...optional({ dedupeId, delays: delays?.map((one) => changeView(json, one)) }),
  }
}

type DelayChange = NonNullable<Entry["delays"]>[number]

/** A delayed event that was set, or cancelled where it is not due. */
const changeView = (json: MachineJson, { name, due, event }: DelayChange) => ({
  name,
  ...optional({ due, event: event === undefined ? undefined : json.event(event) }),
})

/** A timeout is known by its name. */
const nameOf = (event: TaggedJson): TaggedJson =>
  event._tag === "@timeout" ? { _tag: event._tag, name: event["name"] ?? null } : { _tag: event._tag }

/**
 * The journaled events between two numbers, each with the states around it. `next` is where the next page continues: as `after` where
 * the oldest come first, as `before` where the newest do. `scanned`: the page ended because it had examined this many events.
 */
export const history = (key: InstanceKey, page: HistoryPage = {}) =>
  Effect.gen(function* () {
    const { instance, json } = yield* find(key)
    const { after = 0, before = Number.MAX_SAFE_INTEGER, order = "asc", brief = false, event, limit = defaultPage } = page
    const most = Math.min(brief ? longestBriefPage : longestPage, Math.max(1, limit))
    const last = yield* lastSequence(key)
    const range: Range = { after: Math.max(0, after), through: Math.min(before - 1, last), isDescending: order === "desc" }
    const view = entryView(json, brief)
    if (event !== undefined && event !== "") {
      const { sequences, next, scanned } = yield* matching(key, range, event.toLowerCase(), most)
      const found = yield* Effect.forEach(sequences, (sequence) => instance.historyPage({ after: sequence - 1, limit: 1 }))
      return { entries: found.flat().map(view), ...optional({ next, scanned }) }
    }
    const count = Math.min(most, Math.max(0, range.through - range.after))
    const from = range.isDescending ? range.through - count : range.after
    const entries = count === 0 ? [] : (yield* instance.historyPage({ after: from, limit: count })).map(view)
    const isMore = count < range.through - range.after
    const next = !isMore ? undefined : range.isDescending ? from + 1 : from + count
    return { entries: range.isDescending ? entries.reverse() : entries, ...optional({ next }) }
  })

interface Range {
  readonly after: number
  readonly through: number
  readonly isDescending: boolean
}

const lastSequence = (key: InstanceKey) =>
  Effect.gen(function* () {
    const [standing] = yield* Effect.flatMap(Journal, (journal) => journal.standings([key]))
    return standing === undefined ? yield* Effect.fail(new InstanceNotFound(key)) : standing.sequence
  })

/** The numbers of the events whose name has the text in it, and where the search for more continues. */
const matching = (key: InstanceKey, { after, through, isDescending }: Range, text: string, most: number) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const sequences: Array<number> = []
    let scanned = 0
    for (let [low, high] = [after, through]; low < high; ) {
      const from = isDescending ? Math.max(low, high - readAtOnce) : low
      const to = Math.min(high, from + readAtOnce)
      const read = (yield* journal.events(key, from, to - from)).filter(({ sequence }) => sequence <= to)
      for (const record of isDescending ? read.toReversed() : read) {
        const isTaken = record.tag.toLowerCase().includes(text)
        if (isTaken && sequences.length === most) {
          const last = sequences.at(-1)
          return { sequences, next: last, scanned: undefined }
        }
        if (isTaken) sequences.push(record.sequence)
        if (++scanned >= mostScanned) return { sequences, next: record.sequence, scanned }
      }
      if (isDescending) high = from
      else low = to
    }
    return { sequences, next: undefined, scanned: undefined }
  })
