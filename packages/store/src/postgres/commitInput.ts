/** The rows that a commit statement reads: the columns of a commit, and the four forms in which a batch of them is passed. */
import type { Commit, EventRecord } from "../contract/Commit.ts"
import { isDeliveryId } from "../contract/CommitCheck.ts"
import {
  type Column,
  type Columns,
  type ColumnValue,
  commandColumns,
  eventColumns,
  instanceColumns,
  snapshotColumns,
  timerColumns,
} from "../sql/CommitColumns.ts"
import { revisionOf } from "../sql/keys.ts"

/** A commit and its position in the batch. */
export interface Positioned {
  readonly position: number
  readonly commit: Commit
}

/** The id that the sender gave an event. */
const idOf = (event: EventRecord): string | undefined => (isDeliveryId(event.dedupeId) ? undefined : event.dedupeId)

/** The id that a node gave an event. */
const deliveryOf = (event: EventRecord): string | undefined => (isDeliveryId(event.dedupeId) ? event.dedupeId : undefined)

/** The columns of an event on PostgreSQL. See {@link import("./commitParts.ts")} for why there are two kinds of ids. */
export const journalColumns = {
  ...eventColumns,
  dedupe_id: { type: "text", value: idOf },
  delivery: { type: "text", value: deliveryOf },
} satisfies Columns<EventRecord>

/** The ids of events that nodes send again: the journal may have them. */
const resentIn = (events: ReadonlyArray<EventRecord>): ReadonlyArray<string> =>
  events.flatMap((event) => (event.isFirst === true ? [] : (deliveryOf(event) ?? [])))

const unlessEmpty = <A>(values: ReadonlyArray<A>): ReadonlyArray<A> | undefined => (values.length === 0 ? undefined : values)

/** Values in the order of their columns. */
const valuesIn =
  <Source>(columns: Columns<Source>) =>
  (source: Source, commit: Commit): ReadonlyArray<unknown> =>
    Object.values(columns).map((column) => jsonValue(column.value(source, commit)))

/**
 * A number becomes a JSON string. PostgreSQL converts each JSON number to an arbitrary-precision decimal and that to text before it becomes
 * an integer: 0.7 µs of CPU for the six numbers of a plain commit.
 */
const jsonValue = (value: ColumnValue): unknown => (typeof value === "number" ? String(value) : (value ?? null))

const [eventValues, snapshotValues, timerValues, commandValues] = [
  valuesIn(journalColumns),
  valuesIn(snapshotColumns),
  valuesIn(timerColumns),
  valuesIn(commandColumns),
]

/** The columns of the first event, which nearly always is the only one, so that it need not be expanded from a list. */
type FirstEvent = { readonly [Name in keyof typeof journalColumns as `event_${Name}`]: Column<Commit> }

const firstEvent = Object.fromEntries(
  Object.entries(journalColumns as Columns<EventRecord>).map(([name, { type, value }]): [string, Column<Commit>] => [
    `event_${name}`,
    { type, value: (commit) => (commit.events[0] === undefined ? undefined : value(commit.events[0], commit)) },
  ]),
) as FirstEvent

/** A timer that is set anew is replaced, not cleared: no two parts of a statement touch the same row. */
const endedTimer = ({ clearTimers, setTimers }: Commit): string | undefined =>
  clearTimers[0] === setTimers[0]?.name ? undefined : clearTimers[0]

const isNew = ({ expected }: Commit): boolean => expected < 0

const commitColumns = {
  machine: { type: "text", value: ({ machine }) => machine },
  id: { type: "text", value: ({ id }) => id },
  expected: { type: "integer", value: ({ expected }) => expected },
  started_at: { type: "bigint", value: ({ startedAt }) => startedAt },
  revision: { type: "integer", value: (commit) => revisionOf(commit) },
  origin: { type: "text", value: ({ origin }) => origin },
  ...instanceColumns,
  ...firstEvent,
  more_events: { type: "json", value: (commit) => unlessEmpty(commit.events.slice(1).map((event) => eventValues(event, commit))) },
  more_ids: {
    type: "json",
    value: (commit) => (isNew(commit) ? undefined : unlessEmpty(commit.events.slice(1).flatMap((one) => idOf(one) ?? []))),
  },
  resent: { type: "json", value: (commit) => (isNew(commit) ? undefined : unlessEmpty(resentIn(commit.events))) },
  snapshot: { type: "json", value: (commit) => (commit.snapshot === undefined ? undefined : snapshotValues(commit.snapshot, commit)) },
  /** The one timer that ends, and the one that begins. */
  ended: { type: "text", value: endedTimer },
  timer_name: { type: "text", value: ({ setTimers }) => setTimers[0]?.name },
  timer_entry: { type: "integer", value: ({ setTimers }) => setTimers[0]?.entry },
  timer_due: { type: "bigint", value: ({ setTimers }) => (setTimers[0] === undefined ? undefined : Math.ceil(setTimers[0].due)) },
  /** Any number of timers. A new instance has none to clear. */
  timers: { type: "json", value: (commit) => unlessEmpty(commit.setTimers.map((timer) => timerValues(timer, commit))) },
  cleared: {
    type: "json",
    value: ({ clearTimers, setTimers }) =>
      clearTimers === "all" ? undefined : unlessEmpty(clearTimers.filter((name) => !setTimers.some((timer) => timer.name === name))),
  },
  kept: {
    type: "json",
    value: (commit) => (commit.clearTimers === "all" && !isNew(commit) ? commit.setTimers.map(({ name }) => name) : undefined),
  },
  commands: { type: "json", value: (commit) => unlessEmpty(commit.commands.map((command) => commandValues(command, commit))) },
  /** The values of indexed fields; empty where they stay as they are. */
  fields: { type: "text", value: ({ fields }) => fields ?? "" },
  lease: { type: "text", value: ({ fence }) => fence?.lease },
  token: { type: "bigint", value: ({ fence }) => fence?.token },
} satisfies Columns<Commit>

export type CommitColumn = keyof typeof commitColumns

const columnNamed = (name: CommitColumn): Column<Commit> => commitColumns[name]

export const columnValue = (name: CommitColumn, commit: Commit): ColumnValue => columnNamed(name).value(commit, commit)

/**
 * How a batch is passed:
 *
 * - `rows`: one JSON parameter.
 * - `texts`: each column is one text, split at the separators: nothing is escaped and no JSON is parsed.
 * - `arrays`: each column is one array.
 * - `one`: a single commit; each column is a parameter.
 */
export type Form = "rows" | "texts" | "arrays" | "one"

export interface Input {
  readonly form: Form
  /** Columns with a value of each commit, after its position `n`. */
  readonly each: ReadonlyArray<CommitColumn>
  /** Columns whose value all commits of the batch share: a parameter each. */
  readonly shared?: ReadonlyArray<CommitColumn>
  /** Columns that follow from others, which `read` gives. */
  readonly derived?: { readonly [Name in CommitColumn]?: (read: (name: CommitColumn) => string) => string }
}

/** The columns of an input, without the position. */
export const columnsIn = ({ each, shared = [], derived = {} }: Input): ReadonlyArray<CommitColumn> => [
  ...each,
  ...shared,
  ...(Object.keys(derived) as ReadonlyArray<CommitColumn>),
]

/** How many parameters the form and the shared columns take. */
export const countParameters = ({ form, each, shared = [] }: Input): number => (form === "rows" ? 1 : each.length + 1) + shared.length

/** Separates the values of a column of texts. JSON contains no control characters, and hardly any name does. */
const separator = "\u001f"

/** Encoding as UTF-8 would replace half of a surrogate pair; JSON has an escape for it, which PostgreSQL refuses. */
export const isSeparable = (value: ColumnValue): boolean =>
  typeof value === "number" || (typeof value === "string" && !value.includes(separator) && value.isWellFormed())

/** The select of the input `c`: the position as `n`, and the columns under their names. */
export const selectInput = (input: Input): string => {
  const { form, each, shared = [], derived = {} } = input
  const first = form === "rows" ? 2 : each.length + 2
  const read = (name: CommitColumn): string => {
    const { type } = columnNamed(name)
    const parameter = shared.indexOf(name)
    if (parameter >= 0) return `$${first + parameter}::${type}`
    return readers[form](name, each.indexOf(name) + 1, type)
  }
  const columns = [...each, ...shared].map((name) => `${read(name)} as ${name}`)
  const following = Object.entries(derived).map(([name, expression]) => `${expression(read)} as ${name}`)
  return `select ${[`${readers[form]("n", 0, "integer")} as n`, ...columns, ...following].join(", ")} ${sourceOf(input)}`
}

const readers: { readonly [F in Form]: (name: string, index: number, type: Column<Commit>["type"]) => string } = {
  rows: (_, index, type) =>
    type === "json" ? `nullif(c -> ${index}, 'null')` : type === "text" ? `c ->> ${index}` : `(c ->> ${index})::${type}`,
  texts: (name, _, type) => (type === "text" ? `c.${name}` : `c.${name}::${type}`),
  arrays: (name) => `c.${name}`,
  one: (_, index, type) => `$${index + 1}::${type}`,
}

const sourceOf = ({ form, each }: Input): string => {
  const names = ["n", ...each]
  switch (form) {
    case "rows":
      return "from jsonb_array_elements($1::jsonb) c"
    case "texts":
      return `from unnest(${names.map((_, index) => `string_to_array($${index + 1}::text, E'\\x1f')`).join(", ")}) as c (${names.join(", ")})`
    case "arrays": {
      const types = ["integer", ...each.map((name) => columnNamed(name).type)]
      return `from unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(", ")}) as c (${names.join(", ")})`
    }
    case "one":
      return ""
  }
}

/** The parameters of a batch: those of its form, then the shared values. */
export const parametersOf = ({ form, each, shared = [] }: Input): ((ordered: ReadonlyArray<Positioned>) => ReadonlyArray<unknown>) => {
  const columns = each.map(columnNamed)
  const valueOf = ({ commit, position }: Positioned, index: number) =>
    index === 0 ? position : (columns[index - 1] as Column<Commit>).value(commit, commit)
  const row = (positioned: Positioned): ReadonlyArray<unknown> => {
    const values: Array<unknown> = [String(positioned.position)]
    for (const column of columns) values.push(jsonValue(column.value(positioned.commit, positioned.commit)))
    return values
  }
  const eachColumn = (write: (values: ReadonlyArray<ColumnValue>) => string) => (ordered: ReadonlyArray<Positioned>) =>
    ["n", ...each].map((_, index) => write(ordered.map((positioned) => valueOf(positioned, index))))
  const forms: { readonly [F in Form]: (ordered: ReadonlyArray<Positioned>) => ReadonlyArray<unknown> } = {
    rows: (ordered) => [JSON.stringify(ordered.map(row))],
    texts: eachColumn((values) => values.join(separator)),
    arrays: eachColumn(arrayText),
    one: ([only]) => row(only as Positioned),
  }
  const parameters = forms[form]
  if (shared.length === 0) return parameters
  return (ordered) => {
    const { commit } = ordered[0] as Positioned
    return [...parameters(ordered), ...shared.map((name) => columnValue(name, commit) ?? null)]
  }
}

/** PostgreSQL's text form of an array, which needs no type information from the client. */
const arrayText = (values: ReadonlyArray<ColumnValue>): string => `{${values.map(elementText).join(",")}}`

const elementText = (value: ColumnValue): string => {
  if (value === undefined || value === null) return "null"
  return typeof value === "string" ? `"${value.replace(/["\\]/g, "\\$&")}"` : String(value)
}
