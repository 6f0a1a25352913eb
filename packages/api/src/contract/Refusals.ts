/** How the OpenAPI document describes refusals before routing, which every operation can answer with, and the types of answers. */
import type * as OpenApi from "effect/http-api/OpenApi"
import { problemType } from "./Problem.ts"

type Responses = OpenApi.OpenAPISpecOperation["responses"]

/** Adds the refusals before routing to each operation, and names types of answers without their parameters. */
export const withRefusals = (document: Record<string, unknown>): Record<string, unknown> => {
  const { components, paths } = document as unknown as OpenApi.OpenAPISpec
  const described = Object.entries(paths).map(([path, item]) => [
    path,
    Object.fromEntries(
      (Object.entries(item) as ReadonlyArray<[string, OpenApi.OpenAPISpecOperation]>).map(([method, operation]) => [
        method,
        { ...operation, responses: { ...plain(operation.responses), ...(method === "get" ? always : withBody) } },
      ]),
    ),
  ])
  return {
    ...document,
    components: { ...components, schemas: { ...components.schemas, ...schemas } },
    paths: Object.fromEntries(described),
  }
}

/** A type such as `text/turtle; charset=utf-8` is described as `text/turtle`. */
const plain = (responses: Responses): Responses =>
  Object.fromEntries(
    Object.entries(responses).map(([status, response]) => {
      if (response.content === undefined) return [status, response]
      const content = Object.entries(response.content).map(([type, media]) => [type.split(";", 1)[0], media])
      return [status, { ...response, content: Object.fromEntries(content) }]
    }),
  )

/** The refusals before routing whose status no operation has: the tag of each, and its description. */
const refusals = {
  408: ["RequestTimeout", "The request did not arrive in time"],
  411: ["LengthNeeded", "The length of the body is required"],
  421: ["OtherName", "The server does not answer to this host name"],
  431: ["HeadersTooLarge", "The headers are too large"],
} as const

const text = { type: "string" }

const schemas = Object.fromEntries(
  Object.values(refusals).map(([name]) => [
    name,
    {
      type: "object",
      required: ["_tag", "type", "title", "status", "detail"],
      properties: { _tag: { ...text, enum: [name] }, type: text, title: text, status: { type: "integer" }, detail: text },
      additionalProperties: false,
    },
  ]),
)

const withBody: object = Object.fromEntries(
  Object.entries(refusals).map(([status, [name, description]]) => [
    status,
    { description, content: { [problemType]: { schema: { $ref: `#/components/schemas/${name}` } } } },
  ]),
)

/** Without a body, its length is not needed. */
const always: object = Object.fromEntries(Object.entries(withBody).filter(([status]) => status !== "411"))
