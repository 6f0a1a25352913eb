/** How two JSON values differ, by path. */
import type { Json } from "../api/types.ts"

export interface Change {
  /** `items[2].price`. */
  readonly path: string
  readonly before: Json | undefined
  readonly after: Json | undefined
}

/** At most this many changes are listed: a state may have a megabyte, of which a user reads little. */
export const mostChanges = 200

type Entries = ReadonlyArray<readonly [string, Json]>

const isContainer = (value: Json | undefined): value is ReadonlyArray<Json> | { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null

const entriesOf = (value: ReadonlyArray<Json> | { readonly [key: string]: Json }): Entries =>
  Array.isArray(value) ? value.map((one, index) => [`[${index}]`, one] as const) : Object.entries(value)

const join = (path: string, name: string): string => (name.startsWith("[") || path === "" ? path + name : `${path}.${name}`)

export const changesBetween = (before: Json | undefined, after: Json | undefined): ReadonlyArray<Change> => {
  const changes: Array<Change> = []
  const compare = (path: string, one: Json | undefined, other: Json | undefined) => {
    if (one === other) return
    if (!isContainer(one) || !isContainer(other) || Array.isArray(one) !== Array.isArray(other)) {
      if (JSON.stringify(one) !== JSON.stringify(other)) changes.push({ path, before: one, after: other })
      return
    }
    const old = new Map(entriesOf(one))
    const young = new Map(entriesOf(other))
    for (const name of new Set([...old.keys(), ...young.keys()])) {
      if (changes.length >= mostChanges) return
      compare(join(path, name), old.get(name), young.get(name))
    }
  }
  compare("", before, after)
  return changes
}
