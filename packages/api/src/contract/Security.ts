/** How the OpenAPI document describes tokens and idempotency keys. */
import type * as OpenApi from "effect/http-api/OpenApi"
import { type Access, takeAccess } from "./Access.ts"

/** Describes the token. RequestGuard checks it before any operation. */
export const withSecurity = (document: Record<string, unknown>): Record<string, unknown> => {
  const { components, paths } = document as unknown as OpenApi.OpenAPISpec
  const secured = Object.entries(paths).map(([path, item]) => [
    path,
    Object.fromEntries(
      (Object.entries(item) as ReadonlyArray<[string, OpenApi.OpenAPISpecOperation]>).map(([method, described]) => {
        const { access, operation } = takeAccess(method, described)
        return [method, { ...withKey(method, access, operation), security: access === "everyone" ? [] : [{ token: [] }, { cookie: [] }] }]
      }),
    ),
  ])
  return { ...document, components: { ...components, securitySchemes: { token, cookie } }, paths: Object.fromEntries(secured) }
}

/** Describes the Idempotency-Key of an operation that changes something. The handlers read it from the request. */
const withKey = (method: string, access: Access, operation: OpenApi.OpenAPISpecOperation): OpenApi.OpenAPISpecOperation => {
  const changes = (method === "post" || method === "put") && access !== "reader"
  if (!changes || operation.parameters.some(({ name }) => name === idempotencyKey.name)) return operation
  return { ...operation, parameters: [...operation.parameters, idempotencyKey] }
}

const idempotencyKey: OpenApi.OpenAPISpecOperation["parameters"][number] = {
  name: "idempotency-key",
  in: "header",
  required: false,
  schema: { type: "string", pattern: "^[\\x21-\\x7e]{1,200}$" },
  description:
    "A key belongs to one operation on one object. A repeated request with the same key gets the first answer; a different request for the " +
    "same operation and object is refused with 422.",
}

const token = {
  type: "http",
  scheme: "bearer",
  description: "A token of the role `read` for reading, or of the role `operate` for everything.",
}

const cookie = { type: "apiKey", in: "cookie", name: "detent-4400", description: "The session of a browser, see POST /api/v1/session." }
