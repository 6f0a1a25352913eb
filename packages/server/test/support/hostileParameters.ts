/** Hostile requests of every endpoint that the API describes: a new endpoint is attacked without an entry here. */
import type { Part } from "./hostileRequests.ts"

interface Described {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly anyOf?: ReadonlyArray<Described>
  readonly properties?: Readonly<Record<string, Described>>
  readonly items?: Described
}

interface Operation {
  readonly parameters?: ReadonlyArray<{ readonly name: string; readonly in: string }>
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Described }>> }
}

/** The part of an OpenAPI document that is read here. */
export interface Endpoints {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Described>> }
}

const long = (part: string, length: number) => part.repeat(Math.ceil(length / part.length))

/** Texts that cost patterns, parsers and decoders the most. */
const texts: ReadonlyArray<string> = [
  "a-",
  "a.",
  " ",
  "(a*)*",
  "[",
  '{"a":',
  "a://b",
  "\u0301",
  '"\\',
  "<",
  "%",
  "9",
  "0.",
  "1,",
  "../",
  "__proto__.",
  "2026-01-01T",
  "=",
]

/** Values that are read as what they look like. */
const values: ReadonlyArray<string> = [
  "-1",
  "1e309",
  "99999999999999999999",
  "NaN",
  "null",
  "true",
  "[]",
  "{}",
  "0x10",
  "\u{1f600}",
  "*",
  "''",
]

/** Names that exist on the attacked server, so that not every request ends at the first of them. */
export type Known = Readonly<Record<string, string>>

/** Several requests of each endpoint, always the same. Those of files have a body without a form. */
export const ofEveryEndpoint = ({ paths, components }: Endpoints, known: Known, rounds: number): ReadonlyArray<Part> => {
  let turn = 0
  const next = <A>(all: ReadonlyArray<A>): A => all[turn++ % all.length] as A
  const textOf = (length: number) => (turn % 4 === 3 ? next(values) : long(next(texts), length))

  const bodyOf = (schema: Described, depth = 0): unknown => {
    if (depth > 6) return textOf(100)
    if (schema.$ref !== undefined) return bodyOf(components.schemas[schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1)] ?? {}, depth + 1)
    if (schema.anyOf !== undefined) return bodyOf(next(schema.anyOf), depth + 1)
    if (schema.enum !== undefined) return next(schema.enum)
    switch (schema.type) {
      case "object":
        return schema.properties === undefined
          ? Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`${next(texts)}${at}`, next(values)]))
          : Object.fromEntries(Object.entries(schema.properties).map(([name, property]) => [name, bodyOf(property, depth + 1)]))
      case "array": {
        const one = bodyOf(schema.items ?? {}, depth + 1)
        return Array.from({ length: JSON.stringify(one).length > 1_000 ? 20 : 2_000 }, () => one)
      }
      case "integer":
      case "number":
        return next([0, -1, 1.5, 1e300, Number.MAX_SAFE_INTEGER])
      case "boolean":
        return next([true, false])
      default:
        return textOf(next([1_000, 60_000]))
    }
  }

  return Array.from({ length: rounds }, (_, round) =>
    Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { parameters = [], requestBody }]): Part => {
        const target = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
          encodeURIComponent((round % 2 === 0 ? known[name] : undefined) ?? textOf(400)),
        )
        const queries = parameters.filter((one) => one.in === "query")
        const query = queries.map(({ name }) => `${name}=${encodeURIComponent(textOf(600 / queries.length))}`).join("&")
        const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? []
        return {
          method: method.toUpperCase(),
          target: query === "" ? target : `${target}?${query}`,
          headers: type === undefined ? [] : [`content-type: ${type}`],
          body: content === undefined ? "" : JSON.stringify(bodyOf(content.schema)),
        }
      }),
    ),
  ).flat()
}
