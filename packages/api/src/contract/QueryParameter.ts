/**
 * Query parameters that were added to endpoints without a `query`. Callers of the typed client pass no `query` to these endpoints, and
 * their code must still compile. So the handler reads the parameters from the request, and the OpenAPI document describes them.
 */

import type { OpenAPISpecOperation } from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"

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

/** An OpenAPI transform that adds this parameter to the operation. */
export const takes =
  ({ name, description, schema }: QueryParameter<never> | QueryParameter<unknown>) =>
  (operation: Record<string, unknown>): Record<string, unknown> => {
    const { parameters } = operation as unknown as OpenAPISpecOperation
    const described = Schema.toJsonSchemaDocument(Schema.toEncoded(schema)).schema
    return { ...operation, parameters: [...parameters, { name, in: "query", required: false, schema: described, description }] }
  }
