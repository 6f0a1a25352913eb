/** What the methods of a builder are called with, as they are called: one or many, with a decision or without. */
import type { Place, Predicate } from "./Declarations.ts"

export interface Named {
  readonly tag: string
  readonly tags?: ReadonlyArray<string>
  readonly reason?: string
}

export type OneOrMany = Named | ReadonlyArray<Named>

export interface Options {
  readonly override?: boolean
  readonly guard?: Predicate
  readonly guardName?: string
  readonly description?: string
  readonly name?: string
  readonly idle?: boolean
}

export type Decide = (context: unknown) => unknown

/** How a builder method is called when the decision may be left out. */
export type DecideOrOptions = Decide | Options | undefined

export const list = (given: OneOrMany): ReadonlyArray<Named> => (Array.isArray(given) ? (given as ReadonlyArray<Named>) : [given as Named])

export const splitArguments = (third: DecideOrOptions, fourth: Options | undefined): [Decide | undefined, Options] =>
  typeof third === "function" ? [third, fourth ?? {}] : [undefined, third ?? fourth ?? {}]

export const placeOf = (method: (...args: never) => unknown): Place => {
  const place: Place = {}
  // Only V8 offers this; elsewhere the message names the pair without its line.
  ;(Error as { captureStackTrace?: (target: object, above: unknown) => void }).captureStackTrace?.(place, method)
  return place
}

export const at = (place: Place | undefined): string => {
  const frame = place?.stack?.split("\n")[1]?.match(/([^\s()/\\]+:\d+:\d+)\)?$/)?.[1]
  return frame === undefined ? "" : ` at ${frame}`
}
