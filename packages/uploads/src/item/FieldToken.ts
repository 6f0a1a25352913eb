/** Values of fields that searches compare, as words: both databases index them like any word. */
import { hash } from "node:crypto"

/** A value that `where` compares a field with. */
export type FieldValue = string | number | boolean

/** A value of a field as one word that stands for no other. */
export const tokenOf = (field: string, value: FieldValue): string => `f${hash("md5", JSON.stringify([field, String(value)]), "hex")}`

/** The words of a field's value: of a list, one for each element. */
export const tokensOf = (field: string, value: unknown): ReadonlyArray<string> => valuesIn(value).map((one) => tokenOf(field, one))

const valuesIn = (value: unknown): ReadonlyArray<FieldValue> => {
  if (Array.isArray(value)) return value.flatMap(valuesIn)
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? [value] : []
}
