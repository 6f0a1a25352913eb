/**
 * Finds instances by indexed fields and labels. Each statement reads one index in its order, and looks up the other conditions of each
 * instance by its key. It examines a bounded number of entries, so that a page takes a bounded time:
 *
 * - A condition that few instances fit is read first. Its instances are sorted.
 * - Otherwise the index of the order is read from the cursor on. The page ends when it is full, or after `mostExamined` entries.
 *
 * The conditions are scalar subqueries and the joins are lateral, because PostgreSQL does not reorder those: with the value of a parameter
 * unknown, its planner would choose to read all values of a field.
 */
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import type { InstancePage } from "../contract/Journal.ts"
import {
  afterPrefix,
  type FieldCondition,
  type FieldName,
  type FieldOrdering,
  type FieldValue,
  mostExamined,
  mostSorted,
  type SearchFilter,
  type SearchPosition,
} from "../contract/Search.ts"
import type { Dialect } from "./Dialect.ts"
import { instanceOrHeld, recordColumns } from "./Records.ts"
import { numberOf, type Row, textOf, wholeOf } from "./Row.ts"

export const search = (
  dialect: Dialect,
  filter: SearchFilter,
  limit: number,
  after: SearchPosition | undefined,
): Effect.Effect<InstancePage, SqlError> =>
  Effect.gen(function* () {
    const selective = yield* findSelective(dialect, filter)
    if (selective !== undefined) return pageIn(filter, limit, yield* sortedRows(dialect, filter, selective, limit + 1, after))
    const end = isServed(filter) && !hasInstanceConditions(filter) ? undefined : yield* lastExamined(dialect, filter, after)
    const page = pageIn(filter, limit, yield* orderedRows(dialect, filter, limit + 1, after, end))
    return page.next === undefined && end !== undefined
      ? { ...page, next: { machine: filter.machine, updatedAt: 0, ...end }, scanned: mostExamined }
      : page
  })

const pageIn = ({ machine, order }: SearchFilter, limit: number, rows: ReadonlyArray<Row>): InstancePage => {
  const last = rows.length > limit ? rows[limit - 1] : undefined
  const next = last === undefined ? undefined : { machine, updatedAt: 0, ...positionIn(order, last) }
  return { instances: rows.slice(0, limit).map(instanceOrHeld), next }
}

const positionIn = (order: FieldOrdering | undefined, row: Row): SearchPosition => {
  const id = textOf(row, "id")
  if (order === undefined) return { id }
  return { id, value: order.kind === "text" ? textOf(row, "listed_value") : numberOf(row, "listed_value") }
}

/** The column of a value. */
const columnOf = (value: FieldValue): "text" | "number" => (typeof value === "string" ? "text" : "number")

const valueOf = ({ equals, above, atLeast, below, atMost }: FieldCondition): FieldValue =>
  equals ?? above ?? atLeast ?? below ?? atMost ?? ""

const isSameField = (one: FieldName, other: FieldName): boolean => one.name === other.name && one.isLabel === other.isLabel

/** The value of the row `alias` fits the condition. */
const fits = ({ sql }: Dialect, alias: string, condition: FieldCondition): Fragment => {
  const column = sql.literal(`${alias}.${columnOf(valueOf(condition))}`)
  const { equals, above, atLeast, below, atMost } = condition
  const each = [
    equals === undefined ? undefined : sql`${column} = ${equals}`,
    above === undefined ? undefined : sql`${column} > ${above}`,
    atLeast === undefined ? undefined : sql`${column} >= ${atLeast}`,
    below === undefined ? undefined : sql`${column} < ${below}`,
    atMost === undefined ? undefined : sql`${column} <= ${atMost}`,
  ]
  return sql.and(each.filter((one) => one !== undefined))
}

const flag = (isLabel: boolean): string => (isLabel ? "true" : "false")

/** Entries `e` of a field, or of all instances of the machine in the order of their ids. */
interface Entries {
  readonly from: Fragment
  readonly conditions: ReadonlyArray<Fragment>
}

const entriesOf = ({ sql, fields }: Dialect, machine: string, { name, isLabel }: FieldName, column: "text" | "number"): Entries => ({
  from: sql`${fields} e`,
  conditions: [
    sql`e.machine = ${machine} and e.is_label = ${sql.literal(flag(isLabel))} and e.name = ${name}`,
    sql`${sql.literal(`e.${column}`)} is not null`,
  ],
})

const entriesThatFit = (dialect: Dialect, machine: string, condition: FieldCondition): Entries => {
  const { from, conditions } = entriesOf(dialect, machine, condition, columnOf(valueOf(condition)))
  return { from, conditions: [...conditions, fits(dialect, "e", condition)] }
}

/** A value of the instance of the row `e`, looked up by key. */
const lookedUp = ({ sql, fields }: Dialect, { name, isLabel }: FieldName, what: Fragment): Fragment => sql`
  (select ${what} from ${fields} c where c.instance = e.instance and c.is_label = ${sql.literal(flag(isLabel))} and c.name = ${name})`

/** A condition that few instances fit. Undefined where there is none, or where the order reads no more than the page anyway. */
const findSelective = (dialect: Dialect, filter: SearchFilter): Effect.Effect<FieldCondition | undefined, SqlError> =>
  Effect.gen(function* () {
    const { sql } = dialect
    const { where, order, machine } = filter
    if (isServed(filter)) return undefined
    // Equality first: it fits the fewest, as a rule.
    const candidates = where.toSorted((left, right) => Number(right.equals !== undefined) - Number(left.equals !== undefined))
    for (const condition of candidates) {
      if (order !== undefined && isSameField(condition, order)) continue
      const { from, conditions } = entriesThatFit(dialect, machine, condition)
      const [row] = yield* sql<Row>`select count(*) as entries from (
        select 1 as one from ${from} where ${sql.and(conditions)} limit ${sql.literal(String(mostSorted + 1))}
      ) e`
      if (wholeOf(row ?? {}, "entries") <= mostSorted) return condition
    }
    return undefined
  })

/** Whether the index that is read in order has nothing but instances that fit all conditions on fields. */
const isServed = ({ where, order }: SearchFilter): boolean =>
  order === undefined ? where.length === 1 && where[0]?.equals !== undefined : where.every((one) => isSameField(one, order))

/** The entries in the order of the search, and the columns that order them. */
const ordered = (dialect: Dialect, { machine, where, order, idPrefix }: SearchFilter) => {
  const { sql, instances } = dialect
  if (order !== undefined) {
    const { from, conditions } = entriesOf(dialect, machine, order, order.kind)
    const own = where.filter((one) => isSameField(one, order)).map((one) => fits(dialect, "e", one))
    return { from, conditions: [...conditions, ...own], value: `e.${order.kind}` }
  }
  const prefixed = idPrefix === undefined ? [] : prefixConditions(dialect, "e", idPrefix)
  const equal = where.find(({ equals }) => equals !== undefined)
  if (equal === undefined) return { from: sql`${instances} e`, conditions: [sql`e.machine = ${machine}`, ...prefixed], value: undefined }
  const { from, conditions } = entriesThatFit(dialect, machine, equal)
  return { from, conditions: [...conditions, ...prefixed], value: undefined }
}

const directionOf = ({ order }: SearchFilter): "asc" | "desc" => (order?.direction === "descending" ? "desc" : "asc")

const orderBy = ({ sql }: Dialect, filter: SearchFilter, value: string | undefined, id: string): Fragment => {
  const direction = directionOf(filter)
  return sql.literal(value === undefined ? `order by ${id} ${direction}` : `order by ${value} ${direction}, ${id} ${direction}`)
}

/** The place of a row in the order, compared with another. */
const compared = ({ sql }: Dialect, value: string | undefined, id: string, sign: string, position: SearchPosition): Fragment =>
  value === undefined || position.value === undefined
    ? sql`${sql.literal(id)} ${sql.literal(sign)} ${position.id}`
    : sql`(${sql.literal(value)}, ${sql.literal(id)}) ${sql.literal(sign)} (${position.value}, ${position.id})`

const beyond = (dialect: Dialect, filter: SearchFilter, value: string | undefined, id: string, after: SearchPosition | undefined) =>
  after === undefined ? [] : [compared(dialect, value, id, directionOf(filter) === "desc" ? "<" : ">", after)]

/** The last entry that the page may examine; undefined where there are fewer. */
const lastExamined = (dialect: Dialect, filter: SearchFilter, after: SearchPosition | undefined) => {
  const { sql } = dialect
  const { from, conditions, value } = ordered(dialect, filter)
  const listed = value === undefined ? sql.literal("") : sql.literal(`, ${value} as listed_value`)
  const all = [...conditions, ...beyond(dialect, filter, value, "e.id", after)]
  const rows = sql<Row>`
    select e.id ${listed} from ${from} where ${sql.and(all)} ${orderBy(dialect, filter, value, "e.id")}
    limit 1 offset ${sql.literal(String(mostExamined - 1))}`
  return Effect.map(rows, ([row]) => (row === undefined ? undefined : positionIn(filter.order, row)))
}

/** The instances that fit, read in order up to the last entry that may be examined. */
const orderedRows = (
  dialect: Dialect,
  filter: SearchFilter,
  limit: number,
  after: SearchPosition | undefined,
  end: SearchPosition | undefined,
) => {
  const { sql } = dialect
  const { from, conditions, value } = ordered(dialect, filter)
  const through = end === undefined ? [] : [compared(dialect, value, "e.id", directionOf(filter) === "desc" ? ">=" : "<=", end)]
  const ofFields = isServed(filter) ? [] : fieldConditions(dialect, filter)
  const all = [
    ...conditions,
    ...beyond(dialect, filter, value, "e.id", after),
    ...through,
    ...ofFields,
    ...instanceConditions(dialect, filter),
  ]
  return sql<Row>`
    select ${sql.literal(recordColumns)} ${value === undefined ? sql.literal("") : sql.literal(`, ${value} as listed_value`)}
    from ${from} ${dialect.instanceOfEntry}
    where ${sql.and(all)} ${orderBy(dialect, filter, value, "e.id")} limit ${sql.literal(String(limit))}`
}

/** The few instances that fit one condition, those of them that fit all, sorted. */
const sortedRows = (
  dialect: Dialect,
  filter: SearchFilter,
  selective: FieldCondition,
  limit: number,
  after: SearchPosition | undefined,
) => {
  const { sql } = dialect
  const { order } = filter
  const { from, conditions } = entriesThatFit(dialect, filter.machine, selective)
  const value = order === undefined ? sql.literal("null") : lookedUp(dialect, order, sql.literal(`c.${order.kind}`))
  const column = order === undefined ? undefined : "e.value"
  const present = order === undefined ? [] : [sql.literal("e.value is not null")]
  const all = [sql.literal("1 = 1"), ...present, ...beyond(dialect, filter, column, "e.id", after), ...instanceConditions(dialect, filter)]
  return sql<Row>`
    select ${sql.literal(recordColumns)}, e.value as listed_value
    from (select e.instance, e.id, ${value} as value from ${from} where ${sql.and([...conditions, ...fieldConditions(dialect, filter)])}) e
    ${dialect.instanceOfEntry}
    where ${sql.and(all)} ${orderBy(dialect, filter, column, "e.id")} limit ${sql.literal(String(limit))}`
}

const fieldConditions = (dialect: Dialect, { where }: SearchFilter): ReadonlyArray<Fragment> =>
  where.map((one) => lookedUp(dialect, one, fits(dialect, "c", one)))

const prefixConditions = ({ sql }: Dialect, alias: string, prefix: string): ReadonlyArray<Fragment> => {
  const end = afterPrefix(prefix)
  const id = sql.literal(`${alias}.id`)
  return [sql`${id} >= ${prefix}`, ...(end === undefined ? [] : [sql`${id} < ${end}`])]
}

const hasInstanceConditions = ({ tag, status, idPrefix, updatedAfter, updatedBefore }: SearchFilter): boolean =>
  [tag, status, idPrefix, updatedAfter, updatedBefore].some((one) => one !== undefined)

const instanceConditions = (dialect: Dialect, { tag, status, idPrefix, updatedAfter, updatedBefore }: SearchFilter) => {
  const { sql } = dialect
  return [
    tag === undefined ? undefined : tag.length === 0 ? sql.literal("1 = 0") : sql`i.tag in ${sql.in(tag)}`,
    status === undefined ? undefined : sql`i.status = ${status}`,
    updatedAfter === undefined ? undefined : sql`i.updated_at > ${updatedAfter}`,
    updatedBefore === undefined ? undefined : sql`i.updated_at < ${updatedBefore}`,
    ...(idPrefix === undefined ? [] : prefixConditions(dialect, "i", idPrefix)),
  ].filter((one) => one !== undefined)
}
