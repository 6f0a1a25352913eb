/**
 * Lists of instances and executions. An index serves every list, however many instances there are: by the time of the last change, or
 * by id for a search. A condition without an index is translated into states, which have one.
 */
import {
  Engine,
  type InstanceCursor,
  type InstanceFilter,
  type InstanceRecord,
  type InstanceStatus,
  Journal,
  type KnownMachine,
  type ListedInstance,
  listedInstance,
} from "@detent/durable"
import { finalOutcome } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { optional } from "../optional.ts"
import { workflowPrefix } from "./find.ts"
import { isFieldSearch, type SearchOrder, searchFields } from "./instanceSearch.ts"
import { mergedList } from "./mergedList.ts"

/** The maximum size of a page. */
const longestPage = 1000

const defaultPage = 100

/** The most instances that one page of a search examines. */
const mostScanned = 10_000

/** `failed`: ended in a final state of failure. */
export type ListedStatus = InstanceStatus | "failed"

export interface InstanceConditions {
  readonly machine?: string | undefined
  /** Any of these states. */
  readonly state?: string | ReadonlyArray<string> | undefined
  readonly status?: ListedStatus | undefined
  /** Only instances whose id begins with this. */
  readonly search?: string | undefined
  readonly updatedAfter?: number | undefined
  readonly updatedBefore?: number | undefined
}

export interface InstanceQuery extends InstanceConditions {
  /** Conditions on indexed fields and labels of the machine, such as `customer=ada, total>100`. */
  readonly where?: string | undefined
  /**
   * By the time of the last change, or by an indexed field, such as `dueAt:asc`. A search is listed by machine and id. Default: `oldest` change
   * first; with `where` by id.
   */
  readonly order?: SearchOrder | undefined
  readonly limit?: number | undefined
  readonly after?: InstanceCursor | undefined
}

interface FoundPage {
  readonly instances: ReadonlyArray<ListedInstance>
  readonly next: InstanceCursor | undefined
  readonly scanned?: number
  readonly filling?: { readonly filled: number }
}

type RecordPage = Omit<FoundPage, "instances"> & { readonly instances: ReadonlyArray<InstanceRecord> }

export type Outcome = "failure" | undefined

/** The outcome of the final state that an instance is in. Undefined where its machine is unknown. */
export const outcomeOf = (engine: (typeof Engine)["Service"], { machine, tag }: Pick<InstanceRecord, "machine" | "tag">): Outcome =>
  Option.getOrUndefined(Option.map(engine.machine(machine), (known) => finalOutcome(known, tag)))

export const listingOf = (
  { machine, id, tag, status, reason, sequence, version, startedAt, updatedAt, fields, labels }: ListedInstance,
  outcome: Outcome,
) => ({
  machine,
  id,
  state: tag,
  status,
  ...optional({ outcome, reason }),
  sequence,
  version,
  startedAt,
  updatedAt,
  ...optional({ fields, labels }),
})

/** A page of instances and executions. `scanned`: the page ended early, after examining this many instances; the next page continues. */
export const list = Effect.fn("instanceList.list")(function* (query: InstanceQuery) {
  const limit = Math.min(longestPage, Math.max(1, Math.floor(query.limit ?? defaultPage) || defaultPage))
  const isSearch = query.search !== undefined && query.search !== ""
  const { instances, next, scanned, filling }: FoundPage = isFieldSearch(query)
    ? yield* ofFields(query, limit)
    : yield* Effect.map(isSearch ? searched(query, limit) : listed(query, limit), ({ instances, ...page }) => ({
        ...page,
        instances: instances.map(listedInstance),
      }))
  const engine = yield* Engine
  return { instances: instances.map((one) => listingOf(one, outcomeOf(engine, one))), ...optional({ next, scanned, filling }) }
})

/** By indexed fields and labels. Failed instances are those in final states of failure. */
const ofFields = Effect.fnUntraced(function* (query: InstanceQuery, limit: number) {
  const { machine = "", search, status, updatedAfter, updatedBefore, after } = query
  const asked = statesOf(query)
  const known = Option.getOrUndefined((yield* Engine).machine(machine))
  const failed = status === "failed" ? possibleStates(machine, known, status) : undefined
  const state = failed === undefined ? asked : failed.filter((tag) => asked.length === 0 || asked.includes(tag))
  return yield* searchFields(query, {
    limit,
    ...(state.length === 0 && failed === undefined ? {} : { state }),
    ...optional({
      status: status === "failed" ? ("final" as const) : status,
      idPrefix: search === "" ? undefined : search,
      updatedAfter,
      updatedBefore,
      after,
    }),
  })
})

const statesOf = ({ state }: InstanceConditions): ReadonlyArray<string> =>
  state === undefined ? [] : typeof state === "string" ? [state] : state

const listed = Effect.fnUntraced(function* (query: InstanceQuery, limit: number) {
  const { machine, status, updatedAfter, updatedBefore, after } = query
  const order = query.order === "newest" ? "newest" : "oldest"
  const times = optional({ updatedAfter, updatedBefore })
  // The index of times serves the list of one machine and of all machines.
  if (status === undefined && statesOf(query).length === 0)
    return yield* Effect.flatMap(Journal, (journal) => journal.list({ ...optional({ machine, order }), ...times }, limit, after))
  const machines = machine === undefined ? yield* Effect.flatMap(Journal, (journal) => journal.machines) : [machine]
  const filters = yield* Effect.forEach(machines, (name) => filtersIn(name, query))
  return yield* mergedList(
    filters.flat().map((filter) => ({ ...filter, ...times })),
    limit,
    after,
    order,
  )
})

type MachineFilter = Omit<InstanceFilter, "order"> & { readonly machine: string }

/** Translates the states and status of a query into filters on one machine that an index serves. */
const filtersIn = (machine: string, query: InstanceConditions) =>
  Effect.gen(function* () {
    const { status } = query
    const stored = optional({ status: status === "failed" ? ("final" as const) : status })
    const asked = statesOf(query)
    const known = Option.getOrUndefined((yield* Engine).machine(machine))
    const possible = possibleStates(machine, known, status)
    if (asked.length === 0 && possible === undefined) return [{ machine, ...stored }] satisfies ReadonlyArray<MachineFilter>
    const tags = possible === undefined ? asked : asked.length === 0 ? possible : possible.filter((tag) => asked.includes(tag))
    return tags.length === 0 ? [] : [{ machine, tag: [...new Set(tags)], ...stored }]
  }).pipe(Effect.map((filters): ReadonlyArray<MachineFilter> => filters))

/**
 * The states that an instance with this status can be in. Undefined where the status has an index, or where this process does not know
 * the machine's states.
 */
const possibleStates = (
  machine: string,
  known: KnownMachine | undefined,
  status: ListedStatus | undefined,
): ReadonlyArray<string> | undefined => {
  if (status === "failed") return known?.blueprint.states.flatMap(({ tag }) => (finalOutcome(known, tag) === "failure" ? [tag] : [])) ?? []
  if (status !== "running") return undefined
  if (machine.startsWith(workflowPrefix)) return runningPhases
  return known?.blueprint.states.flatMap(({ tag, final }) => (final ? [] : [tag]))
}

/** The phases of an execution that has not ended and is not held. */
const runningPhases = ["Waiting", "Running", "Compensating", "Suspended"]

/** Searches by id prefix, in the order of machine and id. Other conditions are checked for each instance. */
const searched = (query: InstanceQuery, limit: number) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const { search = "", after } = query
    const machines = query.machine === undefined ? yield* journal.machines : [query.machine]
    const fits = yield* condition(query)
    // Without other conditions every instance fits: reads one page, and one more instance to know whether a next page exists.
    const size = hasConditions(query) ? longestPage : Math.min(longestPage, limit + 1)
    const found: Array<InstanceRecord> = []
    let scanned = 0
    for (const machine of machines.filter((name) => after === undefined || name >= after.machine)) {
      for (let from = machine === after?.machine ? after.id : undefined; ; ) {
        const page = yield* journal.page({ machine, idPrefix: search }, size, from)
        for (const record of page) {
          scanned++
          if (fits(record)) found.push(record)
          if (found.length > limit) return { instances: found.slice(0, limit), next: found[limit - 1] } satisfies RecordPage
          if (scanned >= mostScanned) return { instances: found, next: record, scanned } satisfies RecordPage
        }
        if (page.length < size) break
        from = page.at(-1)?.id
      }
    }
    return { instances: found, next: undefined } satisfies RecordPage
  }).pipe(Effect.map((page): RecordPage => page))

/** Whether the query has conditions besides machine and id. */
const hasConditions = (query: InstanceConditions): boolean =>
  statesOf(query).length > 0 || [query.status, query.updatedAfter, query.updatedBefore].some((one) => one !== undefined)

/** Returns a predicate for the conditions besides machine and id. */
export const condition = (query: InstanceConditions) =>
  Effect.map(Engine, (engine) => {
    const { status, updatedAfter, updatedBefore } = query
    const states = statesOf(query)
    return (record: InstanceRecord): boolean =>
      (states.length === 0 || states.includes(record.tag)) &&
      (status === undefined || (status === "failed" ? outcomeOf(engine, record) === "failure" : record.status === status)) &&
      (updatedAfter === undefined || record.updatedAt > updatedAfter) &&
      (updatedBefore === undefined || record.updatedAt < updatedBefore)
  })
