/** Conditions on indexed fields and labels, as the server reads them: `customer="ada",total>100`. */

/** An instant of the machine: a date, or one of Effect. */
type Instant = Date | { readonly epochMilliseconds: number }

type Compared<V> = V extends Instant ? Date | string | number : V

interface Range<V> {
  readonly above?: V
  readonly atLeast?: V
  readonly below?: V
  readonly atMost?: V
}

type Condition<V> = [V] extends [boolean]
  ? boolean
  : [V] extends [string]
    ? V | (Range<string> & { readonly startsWith?: string })
    : Compared<V> | Range<Compared<V>>

/** Conditions on indexed fields of the types `X`. All must hold. */
export type Where<X> = [keyof X] extends [never] ? None : { readonly [K in keyof X]?: Condition<X[K]> }

/** By the values of one indexed field. */
export type FieldOrder<X> = [keyof X] extends [never] ? None : { readonly [K in keyof X]?: "ascending" | "descending" }

/** A machine without indexed fields has no conditions on them. */
interface None {
  readonly [name: string]: never
}

/** The values of any field. */
export type Conditions = string | number | boolean | Date

const signs = { above: ">", atLeast: ">=", below: "<", atMost: "<=", startsWith: "^=" }

const valueText = (value: unknown): string =>
  value instanceof Date ? String(value.getTime()) : typeof value === "string" ? JSON.stringify(value) : String(value)

const conditionTexts = (name: string, condition: unknown): ReadonlyArray<string> => {
  if (condition === undefined) return []
  if (typeof condition !== "object" || condition === null || condition instanceof Date) return [`${name}=${valueText(condition)}`]
  return Object.entries(condition).flatMap(([operator, value]) =>
    value === undefined ? [] : [`${name}${signs[operator as keyof typeof signs] ?? `.${operator}=`}${valueText(value)}`],
  )
}

/** Undefined where there are no conditions. */
export const whereText = (where: object = {}, labels: Readonly<Record<string, string>> = {}): string | undefined => {
  const texts = [
    ...Object.entries(where).flatMap(([name, condition]) => conditionTexts(name, condition)),
    ...Object.entries(labels).flatMap(([name, value]) => conditionTexts(`label.${name}`, value)),
  ]
  return texts.length === 0 ? undefined : texts.join(",")
}

export const orderText = (order: object): string | undefined =>
  Object.entries(order)
    .map(([name, direction]) => `${name}:${direction === "descending" ? "desc" : "asc"}`)
    .at(0)
