/** Lists of instances: by the time of their last change, or by indexed fields and labels. */
import type { PersistenceFailed } from "@detent/machine"
import { compiledOf } from "@detent/machine/internal"
import type {
  InstanceCursor,
  InstanceFilter,
  InstanceKey,
  InstancePage,
  InstanceRecord,
  InstanceStatus,
  JournalService,
  LabelChanges,
  StoredFields,
} from "@detent/store"
import { fieldsIn, labelsProblem } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import { InstanceNotFound } from "../errors.ts"
import { wholeNumber } from "../live/HistoryReader.ts"
import { IndexedValues } from "../machine/IndexedValues.ts"
import { indexProgress } from "./IndexFilling.ts"
import { fieldSearch, LabelsRefused, type SearchRefused, tooManyLabels } from "./Search.ts"

export interface Labels {
  readonly [name: string]: string
}

/** An instance in a list. */
export interface ListedInstance extends Omit<InstanceRecord, "fields" | "labels"> {
  /** The values of its indexed fields. Absent: it has none. */
  readonly fields?: StoredFields
  readonly labels?: Labels
}

export interface InstanceList extends Omit<InstancePage, "instances"> {
  readonly instances: ReadonlyArray<ListedInstance>
  /**
   * The indexes are not filled yet with the values of instances that were stored before they were declared: some may be missing from a
   * search. How many were read so far.
   */
  readonly filling?: { readonly filled: number }
}

/** Which instances to list, before the conditions are checked. */
export interface UntypedListOptions {
  readonly state?: string | ReadonlyArray<string>
  readonly status?: InstanceStatus
  /** Only instances whose id begins with this. Only with conditions or an order by a field. */
  readonly idPrefix?: string
  readonly updatedAfter?: number
  readonly updatedBefore?: number
  readonly where?: Readonly<Record<string, unknown>>
  readonly labels?: Readonly<Record<string, unknown>>
  readonly order?: "oldest" | "newest" | Readonly<Record<string, unknown>>
  readonly limit?: number
  readonly after?: InstanceCursor
}

type List = Effect.Effect<InstanceList, PersistenceFailed | SearchRefused>

export const listInstances = (journal: JournalService, machine: { readonly name: string }, options: UntypedListOptions): List => {
  const { where, labels, order, limit, after, state, idPrefix, ...filter } = options
  const size = Math.min(wholeNumber(limit, 100), 1000)
  const isSearch = [where, labels].some((one) => one !== undefined && Object.keys(one).length > 0) || typeof order === "object"
  if (isSearch) return searchInstances(journal, machine, options, size)
  const listed: InstanceFilter = {
    machine: machine.name,
    ...filter,
    ...(state === undefined ? {} : { tag: state }),
    ...(order === undefined ? {} : { order: order as "oldest" }),
  }
  return Effect.map(journal.list(listed, size, after), listOf)
}

const searchInstances = (journal: JournalService, machine: { readonly name: string }, options: UntypedListOptions, size: number): List =>
  Effect.gen(function* () {
    const { where, labels, order, after, state, status, idPrefix, updatedAfter, updatedBefore } = options
    const { name } = machine
    const indexes = [...(compiledOf(machine).declarations.indexes?.values() ?? [])]
    const search = yield* fieldSearch(name, indexes, { where, labels, order: typeof order === "object" ? order : undefined })
    const filter = {
      machine: name,
      ...search,
      ...(state === undefined ? {} : { tag: typeof state === "string" ? [state] : state }),
      ...defined({ status, idPrefix, updatedAfter, updatedBefore }),
    }
    const isOfFields = search.order !== undefined || search.where.some(({ isLabel }) => !isLabel)
    const values = isOfFields ? indexedValuesOf(machine) : undefined
    // Read first: a fill that ends during the search may have found instances that the search did not.
    const progress = values === undefined ? undefined : yield* indexProgress(journal, name, values)
    const page = listOf(yield* journal.search(filter, size, after))
    return progress === undefined || progress.isComplete ? page : { ...page, filling: { filled: progress.filled } }
  })

const defined = <A extends object>(values: A) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof A]?: Exclude<A[K], undefined>
  }

const listOf = ({ instances, ...page }: InstancePage): InstanceList => ({ ...page, instances: instances.map(listedInstance) })

export const listedInstance = (record: InstanceRecord): ListedInstance => {
  const { fields, labels, ...listed } = record
  if (fields === undefined && labels === undefined) return listed
  return {
    ...listed,
    ...(fields === undefined ? {} : { fields: fieldsIn(fields) }),
    ...(labels === undefined ? {} : { labels: fieldsIn(labels) as Labels }),
  }
}

/** Undefined where the machine has no indexed fields. */
export const indexedValuesOf = (machine: unknown): IndexedValues | undefined => {
  const { indexes } = compiledOf(machine).declarations
  return indexes === undefined || indexes.size === 0 ? undefined : new IndexedValues([...indexes.values()])
}

export const labelInstance = (
  journal: JournalService,
  { machine, id }: InstanceKey,
  changes: LabelChanges,
): Effect.Effect<Labels, PersistenceFailed | InstanceNotFound | LabelsRefused> =>
  Effect.gen(function* () {
    const problem = labelsProblem(changes)
    if (problem !== undefined) return yield* new LabelsRefused({ machine, id, ...problem })
    const outcome = yield* journal.label({ machine, id }, changes)
    if (outcome._tag === "NoInstance") return yield* new InstanceNotFound({ machine, id })
    if (outcome._tag === "TooMany") return yield* new LabelsRefused({ machine, id, ...tooManyLabels(outcome.count) })
    return fieldsIn(outcome.labels) as Labels
  })
