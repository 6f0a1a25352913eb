/**
 * One table in two databases: reads pages of rows of either by key, in one form for both, and writes a page to the target. A row is an
 * array of JSON values in the order of `columns`: flags as 0 and 1, bytes as hexadecimal digits, JSON as text with sorted keys.
 */
import { hash } from "node:crypto"
import type { Row } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { type Catalog, type Column, type DialectName, type Kind, quoted, type Table } from "./Catalog.ts"

type Value = string | number | null

export type CopiedRow = ReadonlyArray<Value>

/** Values of a table's key, as they are stored in the progress of a copy. */
export type KeyValues = ReadonlyArray<string | number>

export interface Page {
  readonly rows: ReadonlyArray<CopiedRow>
  /** The key of the last row; undefined if the page is empty. */
  readonly last: KeyValues | undefined
}

interface PairColumn {
  readonly name: string
  readonly kind: Kind
}

/** A table of one database, ready to be read. */
interface Side {
  readonly sql: SqlClient
  readonly dialect: DialectName
  readonly table: Table
}

export interface TablePair {
  readonly name: string
  readonly source: Side
  readonly target: Side
  readonly columns: ReadonlyArray<PairColumn>
}

/** Why two tables of one name cannot be paired. */
export type PairProblem = string

export const pairOf = (source: Catalog, target: Catalog, name: string): TablePair | PairProblem => {
  const from = source.tables.get(name)
  const to = target.tables.get(name)
  if (from === undefined || to === undefined) return `table ${name} is in one of the databases only`
  if (from.key.length === 0 || to.key.length === 0) return `table ${name} has no primary key`
  const read = from.columns.filter(({ kind }) => kind !== "derived")
  const lost = read.find((column) => !to.columns.some((one) => one.name === column.name))
  if (lost !== undefined) return `column ${lost.name} of table ${name} is not in the target`
  const names = read.map((column) => column.name)
  const missing = to.columns.find((column) => column.isRequired && column.kind !== "derived" && !names.includes(column.name))
  if (missing !== undefined) return `column ${missing.name} of table ${name} is not in the source`
  return {
    name,
    source: { sql: source.sql, dialect: source.dialect, table: from },
    target: { sql: target.sql, dialect: target.dialect, table: to },
    columns: names.toSorted().map((column) => ({ name: column, kind: kindIn(source, columnOf(from, column), columnOf(to, column)) })),
  }
}

const columnOf = (table: Table, name: string): Column => table.columns.find((column) => column.name === name) as Column

/** PostgreSQL has more types than SQLite, so its type decides. */
const kindIn = (source: Catalog, from: Column, to: Column): Kind => (source.dialect === "pg" ? from.kind : to.kind)

/** Rows after a key, in the order of the key. */
export const readPage = (
  { sql, dialect, table }: Side,
  columns: ReadonlyArray<PairColumn>,
  after: KeyValues | undefined,
  limit: number,
): Effect.Effect<Page, SqlError> => {
  const key = table.key.map(({ column }, index) => `${column}${dialect === "pg" ? "::text" : ""} as "~${index}"`)
  const values = columns.map((column) => readExpression(dialect, columnOf(table, column.name)))
  const order = table.key.map(({ column }) => column).join(", ")
  const beyond = table.key.map(({ type }, index) => (dialect === "pg" ? `cast($${index + 1}::text as ${type})` : "?")).join(", ")
  const where = after === undefined ? "" : `where (${order}) > (${beyond})`
  const statement = `select ${[...key, ...values].join(", ")} from ${table.place} ${where} order by ${order} limit ${limit}`
  return Effect.map(sql.unsafe<Row>(statement, after ?? []), (rows) => ({
    rows: rows.map((row) => columns.map(({ name, kind }) => carried(kind, row[name]))),
    last: keyOf(rows.at(-1), table.key.length),
  }))
}

const keyOf = (row: Row | undefined, length: number): KeyValues | undefined =>
  row === undefined
    ? undefined
    : Array.from({ length }, (_, index) => {
        const value = row[`~${index}`]
        return typeof value === "number" ? value : String(value)
      })

/** Types that the client of PostgreSQL decodes. All others are read as text. */
const decoded = new Set(["smallint", "integer", "bigint", "boolean", "text", "bytea"])

const readExpression = (dialect: DialectName, { name, type }: Column): string =>
  dialect === "pg" && !decoded.has(type) ? `${quoted(name)}::text as ${quoted(name)}` : quoted(name)

const carried = (kind: Kind, value: unknown): Value => {
  if (value === null || value === undefined) return null
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex")
  if (typeof value === "boolean") return Number(value)
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (kind === "json") return JSON.stringify(sorted(JSON.parse(String(value))))
  if (kind === "bytes") return String(value).replaceAll("-", "").toLowerCase()
  if (kind === "number") return Number(value)
  return kind === "text" ? String(value) : (value as Value)
}

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, one]) => [name, sorted(one)]),
  )
}

/** Writes a page to the target, in one statement. */
export const writePage = ({ target, columns }: TablePair, rows: ReadonlyArray<CopiedRow>): Effect.Effect<unknown, SqlError> => {
  const { sql, dialect, table } = target
  const filled = table.columns.filter(({ kind, isRequired }) => kind === "derived" && isRequired)
  const names = [...columns, ...filled].map(({ name }) => quoted(name)).join(", ")
  const values = [
    ...columns.map(({ name }, index) => writeExpression(dialect, columnOf(table, name), index)),
    ...filled.map(({ type }) => `''::${type}`),
  ].join(", ")
  const numbered = table.columns.some(({ isIdentity }) => isIdentity) ? "overriding system value" : ""
  const given = dialect === "pg" ? "json_array_elements($1::json) as one (value)" : "json_each(?)"
  return sql.unsafe(`insert into ${table.place} (${names}) ${numbered} select ${values} from ${given}`, [JSON.stringify(rows)])
}

const writeExpression = (dialect: DialectName, { type, kind }: Column, index: number): string => {
  const value = `value ->> ${index}`
  if (dialect === "sqlite") return kind === "bytes" ? `unhex(${value})` : value
  if (type === "boolean") return `(${value})::integer::boolean`
  return type === "bytea" ? `decode(${value}, 'hex')` : `(${value})::${type}`
}

export const countRows = ({ sql, table }: Side): Effect.Effect<number, SqlError> =>
  Effect.map(sql.unsafe<Row>(`select count(*) as rows from ${table.place}`), ([row]) => Number(row?.["rows"] ?? 0))

export const hasRows = ({ sql, table }: Side): Effect.Effect<boolean, SqlError> =>
  Effect.map(sql.unsafe<Row>(`select 1 as one from ${table.place} limit 1`), (rows) => rows.length > 0)

/**
 * Counts and digests rows independent of their order, which differs between databases: the sum of the digests of all rows, modulo 2 to the
 * power of 128.
 */
export class RowDigest {
  rows = 0
  #low = 0n
  #high = 0n

  add(row: CopiedRow): void {
    const digest = hash("sha256", JSON.stringify(row), "buffer")
    this.rows += 1
    this.#low = BigInt.asUintN(64, this.#low + digest.readBigUInt64LE(0))
    this.#high = BigInt.asUintN(64, this.#high + digest.readBigUInt64LE(8))
  }

  get text(): string {
    return this.#high.toString(16).padStart(16, "0") + this.#low.toString(16).padStart(16, "0")
  }
}
