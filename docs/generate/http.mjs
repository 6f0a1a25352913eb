/** The reference of the HTTP API, from the description that the server answers at `/openapi.json`. */
import { readFileSync } from "node:fs"
import { document, escaped, generatedNote, sentence, table } from "./markdown.mjs"

/**
 * The parts of an OpenAPI description that the page shows.
 *
 * @typedef {{
 *   readonly $ref?: string
 *   readonly type?: string
 *   readonly enum?: ReadonlyArray<string>
 *   readonly properties?: Readonly<Record<string, Schema>>
 *   readonly required?: ReadonlyArray<string>
 *   readonly items?: Schema
 *   readonly anyOf?: ReadonlyArray<Schema>
 *   readonly description?: string
 * }} Schema
 * @typedef {{ readonly name: string, readonly in: string, readonly required: boolean, readonly schema: Schema, readonly description?: string }} Parameter
 * @typedef {Readonly<Record<string, { readonly schema?: Schema }>>} Content
 * @typedef {{
 *   readonly tags: ReadonlyArray<string>
 *   readonly summary?: string
 *   readonly description?: string
 *   readonly parameters: ReadonlyArray<Parameter>
 *   readonly requestBody?: { readonly content: Content }
 *   readonly responses: Readonly<Record<string, { readonly description: string, readonly content?: Content }>>
 * }} Operation
 * @typedef {{
 *   readonly tags: ReadonlyArray<{ readonly name: string, readonly description: string }>
 *   readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
 *   readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
 * }} Description
 */

/** @returns {Description} */
export function apiDescription() {
  return JSON.parse(readFileSync(new URL("../../packages/api/openapi.json", import.meta.url), "utf8"))
}

export function httpPage() {
  const api = apiDescription()
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  return document([
    "# HTTP API",
    `${generatedNote("the OpenAPI description of `@detent/api`")} A running server answers the description itself at \`/openapi.json\`, and shows it as a page at \`/docs\`.`,
    "## Rules of every request",
    [
      "- A request with a body sends `content-type: application/json`.",
      "- A server with a token requires `Authorization: Bearer TOKEN`. A token in an address is refused.",
      "- Every request that changes something takes an `Idempotency-Key`. A key belongs to one operation on one object, such as events of one instance: the same request under its key gets the first answer, and another request for the same operation and object is refused with 422. The same key for another operation or object is another key.",
      "- Lists have at most 1000 entries a page. Pass `next` of a page as `after` of the next request.",
      "- A refusal is `application/problem+json` with `title`, `status` and `detail`; `detail` contains the next step. [Errors](errors.md) has the status of each.",
    ].join("\n"),
    ...api.tags.flatMap(({ name, description }) => [
      `## ${name.charAt(0).toUpperCase()}${name.slice(1)}`,
      sentence(escaped(description)),
      ...operations.filter(({ operation }) => operation.tags.includes(name)).map((one) => section(api, one)),
    ]),
  ])
}

/**
 * @param {Description} api
 * @param {{ readonly path: string, readonly method: string, readonly operation: Operation }} found
 */
function section(api, { path, method, operation }) {
  const parameters = operation.parameters.filter(({ in: place, name }) => !(place === "header" && name === "idempotency-key"))
  const body = Object.entries(operation.requestBody?.content ?? {})
  const answers = Object.entries(operation.responses).filter(([status]) => Number(status) < 300)
  return document([
    `### ${escaped(operation.summary ?? path)}`,
    `\`\`\`http\n${method.toUpperCase()} ${path}\n\`\`\``,
    operation.description === undefined ? "" : escaped(operation.description),
    table(
      ["parameter", "in", "type", "meaning"],
      parameters.map((one) => [
        `\`${one.name}\`${one.required ? "" : " (optional)"}`,
        one.in,
        escaped(typeOf(api, one.schema)),
        escaped(one.description ?? ""),
      ]),
    ),
    ...body.map(([type, { schema }]) => fieldsOf(api, `Body, \`${type}\``, schema)),
    `Answers ${answers.map(([status, { content }]) => `${status}${contentTypes(content)}`).join(" or ")}.`,
  ]).trimEnd()
}

/** @param {Content | undefined} content */
function contentTypes(content) {
  return content === undefined ? "" : ` with \`${Object.keys(content).join("`, `")}\``
}

/**
 * @param {Description} api
 * @param {string} title
 * @param {Schema | undefined} schema
 */
function fieldsOf(api, title, schema) {
  const { properties = {}, required = [] } = resolved(api, schema ?? {})
  const rows = Object.entries(properties).map(([name, field]) => [
    `\`${name}\`${required.includes(name) ? "" : " (optional)"}`,
    escaped(typeOf(api, field)),
    escaped(field.description ?? ""),
  ])
  return rows.length === 0 ? `${title}.` : `${title}:\n\n${table(["field", "type", "meaning"], rows)}`
}

/**
 * @param {Description} api
 * @param {Schema} schema
 * @returns {string}
 */
function typeOf(api, schema) {
  const { type, enum: choices, items, anyOf } = resolved(api, schema)
  if (choices !== undefined) return choices.map((choice) => `\`${choice}\``).join(", ")
  if (anyOf !== undefined) return [...new Set(anyOf.map((one) => typeOf(api, one)))].join(" or ")
  if (type === "array") return `list of ${typeOf(api, items ?? {})}`
  return type ?? "any JSON"
}

/**
 * @param {Description} api
 * @param {Schema} schema
 * @returns {Schema}
 */
function resolved(api, schema) {
  const name = schema.$ref?.replace("#/components/schemas/", "")
  return name === undefined ? schema : resolved(api, api.components.schemas[name] ?? {})
}
