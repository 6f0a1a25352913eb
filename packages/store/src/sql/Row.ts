/**
 * Reads columns of database rows. Written by hand because this runs once per row of every load; an invalid row throws a `RowProblem`, which
 * `persisting` turns into a typed failure.
 */
import type { InstanceStatus } from "../contract/Commit.ts"
import { RowProblem } from "./StoreFailure.ts"

export interface Row {
  readonly [column: string]: unknown
}

export const textOf = (row: Row, column: string): string => {
  const value = row[column]
  return typeof value === "string" ? value : unreadable(row, column, "text")
}

export const optionalTextOf = (row: Row, column: string): string | undefined => {
  const value = row[column]
  return value === null || value === undefined ? undefined : textOf(row, column)
}

/** Whole numbers come as number from SQLite and from PostgreSQL's integer, as bigint from its bigint. */
export const wholeOf = (row: Row, column: string): number => {
  const value = row[column]
  const number = typeof value === "bigint" ? Number(value) : value
  return typeof number === "number" && Number.isSafeInteger(number) ? number : unreadable(row, column, "a whole number")
}

/** Any number. */
export const numberOf = (row: Row, column: string): number => {
  const value = row[column]
  const number = typeof value === "bigint" ? Number(value) : value
  return typeof number === "number" ? number : unreadable(row, column, "a number")
}

/** SQLite stores booleans as 0 and 1. */
export const flagOf = (row: Row, column: string): boolean => {
  const value = row[column]
  if (value === true || value === 1 || value === 1n) return true
  if (value === false || value === 0 || value === 0n) return false
  return unreadable(row, column, "true or false")
}

export const statusOf = (row: Row, column: string): InstanceStatus => {
  const value = row[column]
  return value === "running" || value === "final" || value === "stopped" || value === "held" ? value : unreadable(row, column, "a status")
}

/** The content is not shown: it may be secret. */
const unreadable = (row: Row, column: string, expected: string): never => {
  throw new RowProblem(`column ${column} should hold ${expected} but holds ${row[column] === null ? "nothing" : `a ${typeof row[column]}`}`)
}
