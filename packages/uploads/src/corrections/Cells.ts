/**
 * The content of an item as cells of a table, and back. A field of a field has the column `address.city`; a list is JSON in its cell. A
 * cell that comes back unchanged is the value that it was made of, so that a table loses nothing of an item.
 */

/** A field of an item. */
interface Field {
  /** The keys from the item to the field. */
  readonly path: ReadonlyArray<string>
  readonly value: unknown
}

/** The fields of an item by their columns. */
export type Fields = ReadonlyMap<string, Field>

/** Deeper fields stay together as JSON. */
const deepest = 10

/** The fields of the JSON text of an item; undefined where it is no object. */
export const fieldsOf = (content: string | undefined): Fields | undefined => {
  const value = parsed(content)
  if (!isObject(value)) return undefined
  const fields = new Map<string, Field>()
  addFields(fields, value, [])
  return fields
}

const parsed = (content: string | undefined): unknown => {
  if (content === undefined) return undefined
  try {
    return JSON.parse(content)
  } catch {
    // It is a text, or an item that is not JSON and is shown as a whole.
    return undefined
  }
}

const addFields = (fields: Map<string, Field>, value: object, before: ReadonlyArray<string>) => {
  for (const [key, one] of Object.entries(value)) {
    const path = [...before, key]
    if (isObject(one) && path.length < deepest && Object.keys(one).length > 0) addFields(fields, one, path)
    else fields.set(path.join("."), { path, value: one })
  }
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null && !Array.isArray(value)

/** The text of a cell. Programs that show tables run a text such as `=1+1`, unless a quote precedes it. */
export const cellOf = (value: unknown): string => {
  if (value === undefined || value === null) return ""
  const text = typeof value === "object" ? JSON.stringify(value) : String(value)
  return isFormula(text) ? `'${text}` : text
}

const isFormula = (text: string): boolean => /^[=@\t\r\n]/.test(text) || (/^[+-]/.test(text) && !/^[+-][\d.,]+$/.test(text))

/** The text that a cell was made of. */
export const uncell = (text: string): string => (text.startsWith("'") && isFormula(text.slice(1)) ? text.slice(1) : text)

/** A corrected item, and whether one of its cells differs from the original. */
export interface Corrected {
  readonly item: object
  /** The same with the values that changed cells are JSON of, such as numbers and lists; undefined where none is. */
  readonly parsedItem: object | undefined
  readonly isChanged: boolean
}

/**
 * The item of corrected cells. Columns that are missing keep their values; an empty cell removes its field, except where it was empty
 * before. `isNested`: a new column `address.city` is the field `city` of `address`; columns of a table are not taken apart here.
 */
export const correctedItem = (original: Fields, cells: ReadonlyMap<string, string>, isNested: boolean): Corrected => {
  const item: Record<string, unknown> = {}
  const parsedItem: Record<string, unknown> = {}
  let isChanged = false
  let isParsed = false
  const change = (path: ReadonlyArray<string>, cell: string) => {
    isChanged = true
    if (cell === "") return
    const text = uncell(cell)
    const value = parsed(text)
    isParsed ||= value !== undefined
    place(item, path, text)
    place(parsedItem, path, value ?? text)
  }
  for (const [column, { path, value }] of original) {
    const cell = cells.get(column)
    if (cell !== undefined && cell !== cellOf(value)) change(path, cell)
    else for (const one of [item, parsedItem]) place(one, path, value)
  }
  for (const [column, cell] of cells) {
    if (cell === "" || original.has(column)) continue
    const path = isNested ? column.split(".") : [column]
    change(path.length <= deepest && !path.includes("") ? path : [column], cell)
  }
  return { item, parsedItem: isParsed ? parsedItem : undefined, isChanged }
}

const place = (item: Record<string, unknown>, path: ReadonlyArray<string>, value: unknown) => {
  let at = item
  for (const [depth, key] of path.slice(0, -1).entries()) {
    const next = at[key]
    if (next !== undefined && !isObject(next)) return define(at, path.slice(depth).join("."), value)
    const inner: Record<string, unknown> = next === undefined ? {} : (next as Record<string, unknown>)
    if (next === undefined) define(at, key, inner)
    at = inner
  }
  define(at, path.at(-1) ?? "", value)
}

/** An assignment to `__proto__` would not make a field. */
const define = (item: object, key: string, value: unknown) => {
  Object.defineProperty(item, key, { value, enumerable: true, configurable: true, writable: true })
}
