/** Describes answers whose content type only the handler knows, such as exports and artifacts. */
import type { OpenAPISpecOperation } from "effect/http-api/OpenApi"

/** An OpenAPI transform that sets the content of the 200 answer, by content type. */
export const answersWith =
  (content: Readonly<Record<string, object>>) =>
  (operation: Record<string, unknown>): Record<string, unknown> => {
    const { responses } = operation as unknown as OpenAPISpecOperation
    const described = Object.entries(content).map(([type, schema]) => [type, { schema }])
    return { ...operation, responses: { ...responses, 200: { ...responses[200], content: Object.fromEntries(described) } } }
  }

/** An OpenAPI transform that marks the parts of a multipart form that are files. */
export const withFileParts =
  (...names: ReadonlyArray<string>) =>
  (operation: Record<string, unknown>): Record<string, unknown> => {
    const { requestBody } = operation as unknown as OpenAPISpecOperation
    const form = requestBody?.content["multipart/form-data"]
    if (form === undefined) throw new Error("the operation has no multipart form")
    const schema = form.schema as { readonly properties?: Record<string, object> }
    const files = names.map((name) => [
      name,
      { ...schema.properties?.[name], format: "binary", contentMediaType: "application/octet-stream" },
    ])
    const properties = { ...schema.properties, ...Object.fromEntries(files) }
    return {
      ...operation,
      requestBody: { ...requestBody, content: { "multipart/form-data": { ...form, schema: { ...schema, properties } } } },
    }
  }

export const text = { type: "string" }
export const bytes = { type: "string", format: "binary" }

const term = {
  type: "object",
  required: ["type", "value"],
  properties: {
    type: { type: "string", enum: ["uri", "bnode", "literal"] },
    value: { type: "string" },
    datatype: { type: "string" },
    "xml:lang": { type: "string" },
  },
}

const texts = { type: "array", items: text }

/** The JSON that SPARQL 1.1 defines for results: the rows of a SELECT, or the boolean of an ASK. */
export const sparqlResults = {
  type: "object",
  required: ["head"],
  properties: {
    head: { type: "object", properties: { vars: texts, link: texts } },
    results: {
      type: "object",
      required: ["bindings"],
      properties: { bindings: { type: "array", items: { type: "object", additionalProperties: term } } },
    },
    boolean: { type: "boolean" },
  },
}
