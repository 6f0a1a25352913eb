/** Objects for paths such as `address.city`. */

/** More parts of a path than any nested field has. */
export const mostParts = 10

type Nested = Map<string, Nested | { readonly value: unknown }>

/** Objects for keys such as `address.city`. A key that is a value and an object keeps its name. */
export const nestedValues = (entries: ReadonlyArray<readonly [string, unknown]>): object => {
  const root: Nested = new Map()
  let names: Set<string> | undefined
  for (const [name, value] of entries) {
    const path = name.includes(".") ? name.split(".") : [name]
    const isPath = path.length > 1 && path.length <= mostParts && !path.includes("")
    names ??= isPath ? new Set(entries.map(([one]) => one)) : undefined
    const isInValue = isPath && path.some((_, end) => end > 0 && names?.has(path.slice(0, end).join(".")))
    if (!isPath || isInValue || !place(root, path, value)) root.set(name, { value })
  }
  return objectOf(root)
}

const place = (root: Nested, path: ReadonlyArray<string>, value: unknown): boolean => {
  let at = root
  for (const part of path.slice(0, -1)) {
    const next = at.get(part) ?? new Map()
    if (!(next instanceof Map)) return false
    at.set(part, next)
    at = next
  }
  const last = path.at(-1) ?? ""
  if (at.has(last)) return false
  at.set(last, { value })
  return true
}

const objectOf = (nested: Nested): object =>
  Object.fromEntries([...nested].map(([name, value]) => [name, value instanceof Map ? objectOf(value) : value.value]))

/** The value under a key, or under the path of nested keys. */
export const valueAt = (values: Readonly<Record<string, unknown>>, name: string): unknown => {
  if (Object.hasOwn(values, name)) return values[name]
  if (!name.includes(".")) return undefined
  let at: unknown = values
  for (const part of name.split(".")) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, part)) return undefined
    at = (at as Readonly<Record<string, unknown>>)[part]
  }
  return at
}
