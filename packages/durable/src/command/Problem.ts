/**
 * Why a command failed, as it is kept with the command for people to read: in words, and with the fields of the error where its
 * slot declares them. Fields that are marked as sensitive are not shown.
 */
import { hidden, isEffectSlot, isSensitive } from "@detent/machine/internal"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import type { Failure } from "./Executable.ts"

/** Longer texts are cut. */
const problemLimit = 2000

export const cut = (problem: string): string => (problem.length > problemLimit ? `${problem.slice(0, problemLimit)}…` : problem)

type Fields = { readonly [name: string]: Schema.Constraint }

export const problemOf = ({ error, problem }: Failure, slot: unknown): string => {
  if (!isEffectSlot(slot)) return cut(problem)
  const encoded = Schema.encodeUnknownExit(Schema.toCodecJson(slot.failure as unknown as Schema.Codec<unknown>))(error)
  // Not an error the slot declares, or one with content that is not to be written down.
  if (Exit.isFailure(encoded) || typeof encoded.value !== "object" || encoded.value === null) return cut(problem)
  const fields: { readonly [name: string]: unknown } = { ...encoded.value, ...secrets(slot.failure, encoded.value) }
  const isTold = problem === fields["_tag"] || problem === fields["message"]
  return cut(isTold ? JSON.stringify(fields) : `${problem} ${JSON.stringify(fields)}`)
}

const secrets = (schema: object, value: object): { readonly [name: string]: string } =>
  Object.fromEntries(fieldsOf(schema).flatMap(([name, field]) => (name in value && isSensitive(field) ? [[name, hidden]] : [])))

const fieldsOf = (schema: object): ReadonlyArray<[name: string, field: Schema.Constraint]> => {
  if ("members" in schema) return (schema.members as ReadonlyArray<object>).flatMap(fieldsOf)
  return "fields" in schema ? Object.entries(schema.fields as Fields) : []
}
