/** Requests made up from an OpenAPI document: right ones as it describes them, and wrong ones as it does not. */
import type * as api from "@detent/api"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import type { OpenAPISpecOperation } from "effect/http-api/OpenApi"
import type * as JsonSchema from "effect/JsonSchema"
import * as Schema from "effect/Schema"
import * as SchemaRepresentation from "effect/SchemaRepresentation"

type Document = ReturnType<typeof api.openApi>

export interface MadeRequest {
  readonly path: string
  readonly init: RequestInit
}

export interface Operation {
  readonly name: string
  readonly path: string
  readonly method: string
  /** Requests that fit the description. */
  readonly right: Arbitrary.Arbitrary<MadeRequest>
  /** Requests of which some part does not. */
  readonly wrong: Arbitrary.Arbitrary<MadeRequest>
  /** What is wrong with an answer by the description; undefined where nothing is. */
  readonly check: (status: number, type: string, text: string) => string | undefined
}

const local = <A>(value: A): A => JSON.parse(JSON.stringify(value).replaceAll("#/components/schemas/", "#/$defs/"))

export const operationsOf = (document: Document): ReadonlyArray<Operation> => {
  const definitions = local(document.components.schemas) as JsonSchema.Definitions
  const imported = (schema: unknown): Schema.Codec<unknown> =>
    SchemaRepresentation.fromJsonSchemaDocument(
      { dialect: "draft-2020-12", schema: local(schema) as JsonSchema.JsonSchema, definitions },
      { patterns: "apply" },
    ) as never

  return Object.entries(document.paths).flatMap(([path, item]) =>
    (Object.entries(item) as ReadonlyArray<[string, OpenAPISpecOperation]>).map(([method, operation]): Operation => {
      const parameters = operation.parameters.map((parameter) => ({
        ...parameter,
        fitting: Arbitrary.schema(named[parameter.name] ?? imported(parameter.schema)),
      }))
      const [contentType, media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? []
      const body = media === undefined ? Arbitrary.Constant(undefined) : Arbitrary.schema(imported(media.schema))
      const values = (of: (parameter: (typeof parameters)[number]) => Arbitrary.Arbitrary<unknown>) =>
        Arbitrary.all(Object.fromEntries(parameters.map((parameter) => [parameter.name, of(parameter)])))

      const made = (given: Readonly<Record<string, unknown>>, content: unknown, type: string | undefined): MadeRequest => {
        let filled = path
        const query = new URLSearchParams()
        const headers = new Headers(type === undefined || type.startsWith("multipart") ? {} : { "content-type": type })
        for (const { name, in: place } of parameters) {
          const value = given[name]
          if (value === undefined) continue
          const text = (typeof value === "string" ? value : JSON.stringify(value)).toWellFormed()
          if (place === "path") filled = filled.replace(`{${name}}`, encodeURIComponent(text === "" || /^\.+$/.test(text) ? "_" : text))
          else if (place === "query") query.set(name, text)
          else if (/^[\x20-\x7e]+$/.test(text)) headers.set(name, text)
        }
        const init: RequestInit = { method: method.toUpperCase(), headers }
        if (type?.startsWith("multipart")) {
          const form = new FormData()
          form.append("file", new Blob([JSON.stringify([content])]), "items.json")
          init.body = form
        } else if (content !== undefined)
          init.body =
            type === "application/json" ? JSON.stringify(content) : typeof content === "string" ? content : JSON.stringify(content)
        const search = query.toString()
        return { path: search === "" ? filled : `${filled}?${search}`, init }
      }

      const maybe = (parameter: (typeof parameters)[number]) =>
        parameter.required
          ? parameter.fitting
          : Arbitrary.flatMap(coin, (heads) => (heads ? parameter.fitting : Arbitrary.Constant(undefined)))
      return {
        name: operation.operationId,
        path,
        method,
        right: Arbitrary.map(Arbitrary.all({ given: values(maybe), content: body }), ({ given, content }) =>
          made(given, content, contentType),
        ),
        wrong: Arbitrary.map(
          Arbitrary.all({ given: values(() => anything), content: media === undefined ? body : anything }),
          ({ given, content }) => made(given, content, contentType),
        ),
        check: (status, type, text) => {
          const response = operation.responses[status]
          const known = Object.entries(response?.content ?? {}).find(([name]) => type.split(";")[0] === name.split(";")[0])
          if (response === undefined) return `${status} is not described`
          if (known === undefined) return Object.keys(response.content ?? {}).length === 0 ? undefined : `type ${type}`
          if (!type.includes("json")) return undefined
          const result = Schema.decodeUnknownResult(imported(known[1].schema))(JSON.parse(text))
          return result._tag === "Failure" ? result.failure.message : undefined
        },
      }
    }),
  )
}

const coin = Arbitrary.schema(Schema.Boolean)

/** Names that are there, so that not everything is unknown. */
const named: Readonly<Record<string, Schema.Codec<unknown>>> = {
  machine: Schema.Literals(["tally", "batch", "UploadBatch", "workflow/extraction", "nothing"]),
  id: Schema.Union([Schema.Literals(["one", "two/three"]), Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(20))]),
}

/** Values a careless or a malicious client sends. */
const anything = Arbitrary.schema(
  Schema.Union([
    Schema.String,
    Schema.Json,
    Schema.Finite,
    Schema.Literals([
      "",
      "null",
      "-1",
      "1e309",
      "NaN",
      "../../etc/passwd",
      "%00",
      "\u0000",
      "' OR 1=1 --",
      "<script>alert(1)</script>",
      "{{7*7}}",
      "__proto__",
      "\ud800",
      "💥".repeat(50),
      "a".repeat(3000),
    ]),
  ]),
)

export const samples = <A>(arbitrary: Arbitrary.Arbitrary<A>, count: number, seed: number): Effect.Effect<ReadonlyArray<A>> =>
  Effect.orDie(Arbitrary.sampleEffect(arbitrary, { count, seed }))
