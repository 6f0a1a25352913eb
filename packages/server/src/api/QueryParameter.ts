/**
 * Query parameters of endpoints that had none before: the typed client calls these without a `query`, and must still be able to. The
 * handler reads them from the request, and the OpenAPI document describes them.
 */
import * as Schema from "effect/Schema"
import type { OpenAPISpecOperation } from "effect/unstable/httpapi/OpenApi"

export interface QueryParameter<A> {
  readonly name: string
  readonly description: string
  readonly schema: Schema.Codec<A, string>
}

export const queryParameter = <A>(name: string, schema: Schema.Codec<A, string>, description: string): QueryParameter<A> => ({
  name,
  schema,
  description,
})

/** An OpenAPI transform: the operation takes this parameter. */
export const takes =
  ({ name, description, schema }: QueryParameter<never> | QueryParameter<unknown>) =>
  (operation: Record<string, unknown>): Record<string, unknown> => {
    const { parameters } = operation as unknown as OpenAPISpecOperation
    const described = Schema.toJsonSchemaDocument(Schema.toEncoded(schema)).schema
    return { ...operation, parameters: [...parameters, { name, in: "query", required: false, schema: described, description }] }
  }
