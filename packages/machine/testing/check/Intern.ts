/** Gives values numbers: equal values have the same one, so that situations are compared by short lists of numbers. */
import { memoryOf } from "../../src/decision/GroupMemory.ts"

export class Intern<A> {
  readonly values: Array<A> = []
  readonly #numbers = new Map<string, number>()
  readonly #keyOf: (value: A) => string

  constructor(keyOf: (value: A) => string) {
    this.#keyOf = keyOf
  }

  /** The number of a value. A value that is seen for the first time gets the next one. */
  number(value: A): number {
    const key = this.#keyOf(value)
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    const next = this.values.length
    this.#numbers.set(key, next)
    this.values.push(value)
    return next
  }

  value(number: number): A {
    return this.values[number] as A
  }
}

/** A text that equal values share, whatever the order of their fields. A state carries the memory of its groups. */
export const keyOf = (value: unknown): string => {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value)
    case "number":
      return Object.is(value, -0) ? "-0" : `${value}`
    case "bigint":
      return `${value}n`
    case "object":
      return value === null ? "null" : objectKey(value)
    default:
      return String(value)
  }
}

const objectKey = (value: object): string => {
  if (Array.isArray(value)) return `[${value.map(keyOf).join()}]`
  if (value instanceof Date) return `Date(${value.getTime()})`
  if (value instanceof Map) return `Map(${[...value].map(([key, part]) => `${keyOf(key)}:${keyOf(part)}`).join()})`
  if (value instanceof Set) return `Set(${[...value].map(keyOf).join()})`
  const memory = "_tag" in value ? memoryOf(value as { readonly _tag: string }) : undefined
  let text = "{"
  for (const name of Object.keys(value).sort()) text += `${name}:${keyOf((value as { readonly [name: string]: unknown })[name])},`
  return memory === undefined ? `${text}}` : `${text}}@${[...memory].map(([group, left]) => `${group}:${keyOf(left)}`).join()}`
}
