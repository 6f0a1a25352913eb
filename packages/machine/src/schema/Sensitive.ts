/**
 * Fields that must not be shown: card numbers, tokens, personal data. They are stored like any other field, but
 * diagrams, traces and log lines print `•••` in their place.
 */
import type * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type { Fields } from "./Variant.ts"

const annotation = "detent/sensitive"

/** Printed in place of a sensitive value. */
export const hidden = "•••"

/** Marks the schema of a field as sensitive. */
export const sensitive = <S extends Schema.Top>(schema: S): S["Rebuild"] => schema.annotate({ [annotation]: true })

/** Whether a schema was marked with {@link sensitive}. */
export const isSensitive = (schema: Schema.Constraint): boolean => SchemaAST.resolve(schema.ast)?.[annotation] === true

/** A copy of a value's fields that is safe to show. */
export const redact = (fields: Fields, value: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== "_tag")
      .map(([name, content]) => {
        const schema = Object.hasOwn(fields, name) ? fields[name] : undefined
        return [name, schema !== undefined && isSensitive(schema) ? hidden : content]
      }),
  )
