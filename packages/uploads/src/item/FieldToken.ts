/** Tokens for the values of searched fields: both databases index a token like a word. */
import { hash } from "node:crypto"

/** A value that `where` compares a field with. */
export type FieldValue = string | number | boolean

/** The token of a field's value: a hash, unique for the field and the value. */
export const tokenOf = (field: string, value: FieldValue): string => `f${hash("md5", JSON.stringify([field, String(value)]), "hex")}`

/** The tokens of a field's value; for a list, one per element. */
export const tokensOf = (field: string, value: unknown): ReadonlyArray<string> => valuesIn(value).map((one) => tokenOf(field, one))

const valuesIn = (value: unknown): ReadonlyArray<FieldValue> => {
  if (Array.isArray(value)) return value.flatMap(valuesIn)
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? [value] : []
}
