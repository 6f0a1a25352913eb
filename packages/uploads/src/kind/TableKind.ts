/**
 * The kind of items that are rows of a table, whose cells are texts: the schema reads numbers, truth values and dates from them, and a
 * column such as `address.city` is a field of a field. An empty cell is a missing field.
 */
import { nestedValues, type TableFormat } from "@detent/tables"
import type { ItemKind } from "./ItemKind.ts"

/** The kind for the items of a file with this format. */
export const kindOfFormat = <K extends ItemKind>(kind: K, table: TableFormat | undefined): K =>
  table === undefined || table.format === "json" || table.format === "json-lines" ? kind : kindOfTable(kind)

export const kindOfTable = <K extends ItemKind>(kind: K): K => ({
  ...kind,
  isTable: true,
  read: kind.readCells,
  unknownKeys: (value) => kind.unknownKeys(nestedValues(filledCells(value))),
})

/** The cells of a row that are not empty. */
export const filledCells = (row: object): ReadonlyArray<readonly [string, unknown]> =>
  Object.entries(row).filter(([, cell]) => cell !== "" && cell !== null)

/** Cells as texts: a schema reads the number 7 of a sheet as a text where it wants one. */
export const textCells = (value: unknown): unknown => {
  if (typeof value === "number" || typeof value === "boolean") return String(value)
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(textCells)
  return Object.fromEntries(Object.entries(value).map(([name, cell]) => [name, textCells(cell)]))
}
