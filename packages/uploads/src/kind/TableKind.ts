/**
 * The kind of items that are rows of a table, whose cells are texts: the schema reads numbers, truth values and dates from them, and a
 * column such as `address.city` is a field of a field. An empty cell is a missing field.
 */
import type { TableFormat } from "@detent/tables"
import type { ItemKind } from "./ItemKind.ts"

/** The kind for the items of a file with this format. */
export const kindOfFormat = <K extends ItemKind>(kind: K, table: TableFormat | undefined): K =>
  table === undefined || table.format === "json" || table.format === "json-lines" ? kind : kindOfTable(kind)

export const kindOfTable = <K extends ItemKind>(kind: K): K => ({
  ...kind,
  isTable: true,
  read: kind.readCells,
  unknownKeys: (value) => kind.unknownKeys(nestedCells(filledCells(value))),
})

/** The cells of a row that are not empty. */
export const filledCells = (row: object): object =>
  Object.fromEntries(Object.entries(row).filter(([, cell]) => cell !== "" && cell !== null))

/** More parts of a name than any nested field has. */
const mostParts = 10

type Nested = Map<string, Nested | { readonly cell: unknown }>

/** Objects for columns such as `address.city`. A column that is a value and an object keeps its name. */
export const nestedCells = (row: object): object => {
  const root: Nested = new Map()
  for (const [name, cell] of Object.entries(row)) {
    const path = name.split(".")
    const isPath = path.length > 1 && path.length <= mostParts && !path.includes("")
    if (!isPath || !place(root, path, cell)) root.set(name, { cell })
  }
  return objectOf(root)
}

const place = (root: Nested, path: ReadonlyArray<string>, cell: unknown): boolean => {
  let at = root
  for (const part of path.slice(0, -1)) {
    const next = at.get(part) ?? new Map()
    if (!(next instanceof Map)) return false
    at.set(part, next)
    at = next
  }
  const last = path.at(-1) ?? ""
  if (at.has(last)) return false
  at.set(last, { cell })
  return true
}

const objectOf = (nested: Nested): object =>
  Object.fromEntries([...nested].map(([name, value]) => [name, value instanceof Map ? objectOf(value) : value.cell]))

/** Cells as texts: a schema reads the number 7 of a sheet as a text where it wants one. */
export const textCells = (value: unknown): unknown => {
  if (typeof value === "number" || typeof value === "boolean") return String(value)
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(textCells)
  return Object.fromEntries(Object.entries(value).map(([name, cell]) => [name, textCells(cell)]))
}
