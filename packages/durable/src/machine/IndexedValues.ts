/** The values of a machine's indexed fields in a state, as commits store them. */
import type { IndexBlueprint } from "@detent/machine"
import type { Tagged } from "@detent/machine/internal"
import { textProblem } from "@detent/store/internal"

type Value = string | number | boolean

/** The indexed fields of one machine. */
export class IndexedValues {
  readonly #fields: ReadonlyArray<IndexBlueprint>
  /** The same for the same indexes: a change means that stored instances lack values. */
  readonly definition: string

  constructor(fields: ReadonlyArray<IndexBlueprint>) {
    this.#fields = fields.toSorted((left, right) => (left.name < right.name ? -1 : 1))
    this.definition = JSON.stringify(this.#fields.map(({ name, kind, path }) => [name, kind, ...path]))
  }

  /** As JSON. A value that cannot be indexed is left out. */
  encode(state: Tagged): string {
    const values: Record<string, Value> = {}
    for (const field of this.#fields) {
      const value = valueIn(state, field)
      if (value === undefined || (typeof value === "string" && textProblem("", value) !== undefined)) continue
      values[field.name] = value
    }
    return JSON.stringify(values)
  }

  /** Why the state cannot be stored with its values; undefined where it can. Values that `before` has already are no reason. */
  problem(state: Tagged, before?: Tagged): string | undefined {
    for (const field of this.#fields) {
      if (field.kind !== "text") continue
      const value = valueIn(state, field)
      if (typeof value !== "string" || (before !== undefined && valueIn(before, field) === value)) continue
      const problem = textProblem(`indexed field ${field.path.join(".")}`, value)
      if (problem !== undefined) return problem
    }
    return undefined
  }
}

/** Undefined where the state lacks the field, and for a number or an instant that is not finite. */
const valueIn = (state: Tagged, { path, kind }: IndexBlueprint): Value | undefined => {
  let value: unknown = state
  for (const name of path) {
    if (typeof value !== "object" || value === null) return undefined
    value = (value as Readonly<Record<string, unknown>>)[name]
  }
  if (value === undefined || value === null) return undefined
  switch (kind) {
    case "text":
      return typeof value === "string" ? value : undefined
    case "boolean":
      return typeof value === "boolean" ? value : undefined
    case "number":
      return typeof value === "number" && Number.isFinite(value) ? value : undefined
    case "instant": {
      const millis = millisOf(value)
      return millis !== undefined && Number.isFinite(millis) ? millis : undefined
    }
  }
}

/** Milliseconds since 1970 of a date, an instant of Effect, an ISO text or a number. */
export const millisOf = (value: unknown): number | undefined => {
  if (typeof value === "number") return value
  if (typeof value === "string") return Date.parse(value)
  if (value instanceof Date) return value.getTime()
  if (typeof value === "object" && value !== null && "epochMilliseconds" in value) return Number(value.epochMilliseconds)
  return undefined
}
