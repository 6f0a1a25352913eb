/** The methods of an address, for the Allow header of a 405 answer. */
import type { OpenAPISpec } from "effect/unstable/httpapi/OpenApi"

/** Routes beside the API. */
const others: ReadonlyArray<readonly [path: string, methods: ReadonlyArray<string>]> = [
  ["/", ["GET"]],
  ["/docs", ["GET"]],
  ["/openapi.json", ["GET"]],
  ["/rpc", ["POST"]],
]

/** None where nothing is. */
export const makeAllowedMethods = ({ paths }: OpenAPISpec): ((path: string) => ReadonlyArray<string>) => {
  const described = Object.entries(paths).map(([path, item]) => [path, Object.keys(item).map((method) => method.toUpperCase())] as const)
  const routes = [...others, ...described].map(([path, methods]) => ({ parts: path.split("/"), methods }))
  return (path) => {
    const asked = path.split("/")
    return [...new Set(routes.filter(({ parts }) => fits(parts, asked)).flatMap(({ methods }) => methods))].sort()
  }
}

/** A name in braces stands for any one part of the path. */
const fits = (parts: ReadonlyArray<string>, asked: ReadonlyArray<string>): boolean =>
  parts.length === asked.length && parts.every((part, index) => (part.startsWith("{") ? asked[index] !== "" : part === asked[index]))
