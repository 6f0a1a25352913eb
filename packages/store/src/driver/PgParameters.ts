/**
 * Parameters as text, with the PostgreSQL type that follows from the JavaScript value. A string has no type: PostgreSQL derives it from the
 * statement. node-postgres would send every parameter without a type, and `$1 + 1` would then not be a statement.
 */
import * as Predicate from "effect/Predicate"

/** A value with an explicit type, such as JSON. */
export class TypedText {
  readonly oid: number
  readonly text: string

  constructor(oid: number, text: string) {
    this.oid = oid
    this.text = text
  }
}

export const jsonb = (value: unknown): TypedText => new TypedText(3802, JSON.stringify(value))

export type Encoded = string | Buffer | null

const oids = { bool: 16, bytea: 17, int8: 20, int4: 23, text: 25, float8: 701, timestamptz: 1184 }

const arrayOids: { readonly [element: number]: number } = {
  [oids.bool]: 1000,
  [oids.bytea]: 1001,
  [oids.int8]: 1016,
  [oids.int4]: 1007,
  [oids.text]: 1009,
  [oids.float8]: 1022,
  [oids.timestamptz]: 1185,
}

/** The type of a value; 0 if PostgreSQL is to derive it. */
export const oidOf = (value: unknown): number => {
  switch (typeof value) {
    case "string":
    case "undefined":
      return 0
    case "boolean":
      return oids.bool
    case "bigint":
      return oids.int8
    case "number":
      if (!Number.isSafeInteger(value)) return oids.float8
      return value >= -2147483648 && value <= 2147483647 ? oids.int4 : oids.int8
  }
  if (value === null) return 0
  if (value instanceof TypedText) return value.oid
  if (value instanceof Date) return oids.timestamptz
  if (value instanceof Uint8Array) return oids.bytea
  if (Array.isArray(value)) return arrayOidOf(value)
  throw new TypeError(`a ${typeof value} is not a parameter of PostgreSQL: give JSON with sql.json`)
}

/** From narrow to wide: each value of one is a value of the next. */
const numbers = [oids.int4, oids.int8, oids.float8]

/** PostgreSQL derives the type of an array without elements from the statement. */
const arrayOidOf = (values: ReadonlyArray<unknown>): number => {
  const kinds = [...new Set(values.filter(Predicate.isNotNullish).map((value) => oidOf(value) || oids.text))]
  if (kinds.length === 0) return 0
  const widest = kinds.every((kind) => numbers.includes(kind)) ? numbers.findLast((kind) => kinds.includes(kind)) : undefined
  const oid = arrayOids[widest ?? (kinds.length === 1 ? (kinds[0] ?? 0) : 0)]
  if (oid === undefined) throw new TypeError("the elements of an array are values of one type")
  return oid
}

export const encode = (value: unknown): Encoded => {
  if (typeof value === "string") return value
  if (value === null || value === undefined) return null
  if (value instanceof TypedText) return value.text
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  if (Array.isArray(value)) return `{${value.map(elementOf).join(",")}}`
  return String(value)
}

const elementOf = (value: unknown): string => {
  const encoded = encode(value)
  if (encoded === null) return "NULL"
  const text = typeof encoded === "string" ? encoded : `\\x${encoded.toString("hex")}`
  return `"${text.replace(/["\\]/g, "\\$&")}"`
}
