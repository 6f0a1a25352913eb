/** Results of steps and workflows that declare no schema: plain data, stored as JSON. */
import * as Schema from "effect/Schema"

/** The JSON form of a type: the type itself if it is plain data. */
type Plain<A> = A extends string | number | boolean | null | undefined | void
  ? A
  : A extends bigint | symbol | Date | RegExp | Error | ((...args: never) => unknown) | ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
    ? never
    : A extends object
      ? { [K in keyof A]: Plain<A[K]> }
      : never

/** The result type, if JSON can hold it. JSON cannot hold `unknown`: decode the value, or give a schema. */
export type PlainOf<A> = [A] extends [Plain<A>] ? A : { readonly "JSON cannot hold this result: pass { success: schema }": never }

/** Distinguishes `undefined`, which JSON does not have, from `null`. */
export const plainResult = Schema.Struct({ value: Schema.optionalKey(Schema.Json) })

export type PlainResult = typeof plainResult.Type

/** Leaves out fields that are undefined, as JSON does. Throws if anything else would be lost. */
export const toPlainResult = (what: string, result: unknown): PlainResult =>
  result === undefined ? {} : { value: plainOf(what, result, "") }

const plainOf = (what: string, value: unknown, path: string): Schema.Json => {
  const refuse = (held: string): never => {
    const place = path === "" ? "" : ` in ${path}`
    throw new TypeError(`${what} returned ${held}${place}, which JSON would lose; return plain data, or pass { success: schema }`)
  }
  if (value === null || typeof value === "string" || typeof value === "boolean") return value
  if (typeof value === "number") return Number.isFinite(value) ? value : refuse(String(value))
  if (typeof value !== "object") return refuse(value === undefined ? "undefined" : `a ${typeof value}`)
  if (Array.isArray(value)) return value.map((item, index) => plainOf(what, item, `${path}[${index}]`))
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return refuse(`an instance of ${value.constructor?.name ?? "a class"}`)
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, content]) => content !== undefined)
      .map(([name, content]) => [name, plainOf(what, content, path === "" ? name : `${path}.${name}`)]),
  )
}
