/** Writes JSON for readers: a value that fits on one line is written on one line. */

const widest = 140

/** The value as JSON text, with a line break at its end. */
export const layout = (value: unknown): string => `${lay(value, "", 0)}\n`

/** `around`: the number of characters on the same line before and after the value. */
const lay = (value: unknown, indent: string, around: number): string => {
  const inline = onOneLine(value)
  if (typeof value !== "object" || value === null || indent.length + around + inline.length <= widest) return inline
  const inner = `${indent}  `
  if (Array.isArray(value))
    return block(
      "[",
      value.map((one) => inner + lay(one, inner, 1)),
      `${indent}]`,
    )
  const fields = entriesOf(value).map(([name, field]) => {
    const key = `${JSON.stringify(name)}: `
    return inner + key + lay(field, inner, key.length + 1)
  })
  return block("{", fields, `${indent}}`)
}

const block = (opening: string, lines: ReadonlyArray<string>, closing: string): string => `${opening}\n${lines.join(",\n")}\n${closing}`

const onOneLine = (value: unknown): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(", ")}]`
  const fields = entriesOf(value).map(([name, field]) => `${JSON.stringify(name)}: ${onOneLine(field)}`)
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`
}

const entriesOf = (value: object): ReadonlyArray<readonly [string, unknown]> =>
  Object.entries(value).filter(([, field]) => field !== undefined)
