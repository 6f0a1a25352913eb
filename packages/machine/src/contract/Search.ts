/** The types of indexed fields, and of the conditions by which instances are found. */
import type { DateTime } from "effect/DateTime"

/** How the values of an indexed field are stored and compared. Instants are milliseconds since 1970. */
export type IndexKind = "text" | "number" | "instant" | "boolean"

/** The values that can be indexed. A field that is null, undefined or missing has no value. */
export type IndexValue = string | number | boolean | Date | DateTime

/** The fields of all states. Where a state lacks one, it is undefined. */
export type FieldsOfAll<S> = {
  readonly [K in S extends unknown ? Exclude<keyof S, "_tag"> : never]: S extends unknown ? (K extends keyof S ? S[K] : undefined) : never
}

/** The types of the values of indexed fields, by name. */
export type IndexTypes<F> = { readonly [K in keyof F]: F[K] extends (state: never) => infer V ? Exclude<V, null | undefined> : never }

type Instant = Date | DateTime

/** A value as a condition names it. For an instant also an ISO text or milliseconds since 1970. */
type Compared<V> = V extends Instant ? Instant | string | number : V

interface Range<V> {
  readonly above?: V
  readonly atLeast?: V
  readonly below?: V
  readonly atMost?: V
}

/** What an indexed field must be: a value, or limits of it. */
export type Condition<V> = [V] extends [boolean]
  ? boolean
  : [V] extends [string]
    ? V | (Range<string> & { readonly startsWith?: string })
    : Compared<V> | Range<Compared<V>>

/** Conditions on indexed fields. All must hold. */
export type Where<X> = [keyof X] extends [never] ? None : { readonly [K in keyof X]?: Condition<X[K]> }

/** A machine without indexed fields has no conditions on them. */
interface None {
  readonly [name: string]: never
}

/** Conditions on labels. All must hold. */
export interface WhereLabels {
  readonly [label: string]: string | (Range<string> & { readonly startsWith?: string })
}

/** By the values of one indexed field. Instances without a value are left out. */
export type FieldOrder<X> = [keyof X] extends [never] ? None : { readonly [K in keyof X]?: "ascending" | "descending" }

/** An indexed field as data. */
export interface IndexBlueprint {
  readonly name: string
  readonly kind: IndexKind
  /** Where the value stands in the state, such as `["address", "city"]`. */
  readonly path: ReadonlyArray<string>
}
