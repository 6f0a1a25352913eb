/** Everything the server answers over HTTP. Server, typed client and OpenAPI file are made from this one definition. */
import * as HttpApi from "effect/unstable/httpapi/HttpApi"
import * as OpenApi from "effect/unstable/httpapi/OpenApi"
import { BatchApi } from "../batches/Api.ts"
import { CommandApi } from "../commands/Api.ts"
import { InstanceApi } from "../instances/Api.ts"
import { KnowledgeApi } from "../knowledge/Api.ts"
import { MachineApi } from "../machines/Api.ts"
import { SystemApi } from "../system/Api.ts"
import { UploadApi } from "../uploads/Api.ts"
import { Refusing } from "./Refusing.ts"

/** Describes the token. RequestGuard checks it before any operation. */
const withSecurity = (document: Record<string, unknown>): Record<string, unknown> => {
  const { components, paths } = document as unknown as OpenApi.OpenAPISpec
  const secured = Object.entries(paths).map(([path, item]) => [
    path,
    Object.fromEntries(
      (Object.entries(item) as ReadonlyArray<[string, OpenApi.OpenAPISpecOperation]>).map(([method, operation]) => [
        method,
        { ...withKey(path, method, operation), security: isOpen(path) ? [] : [{ token: [] }] },
      ]),
    ),
  ])
  return { ...document, components: { ...components, securitySchemes: { token } }, paths: Object.fromEntries(secured) }
}

/** Describes the Idempotency-Key of an operation that changes something. The handlers read it from the request. */
const withKey = (path: string, method: string, operation: OpenApi.OpenAPISpecOperation): OpenApi.OpenAPISpecOperation => {
  const changes = (method === "post" || method === "put") && !path.endsWith("/sparql")
  if (!changes || operation.parameters.some(({ name }) => name === idempotencyKey.name)) return operation
  return { ...operation, parameters: [...operation.parameters, idempotencyKey] }
}

const idempotencyKey: OpenApi.OpenAPISpecOperation["parameters"][number] = {
  name: "idempotency-key",
  in: "header",
  required: false,
  schema: { type: "string", pattern: "^[\\x21-\\x7e]{1,200}$" },
  description: "The same request again under its key is answered with the first answer; another request under the key is refused.",
}

const token = { type: "http", scheme: "bearer", description: "A token of the role read to look, of the role operate for everything." }

/** What anybody may ask: load balancers have no token. */
export const isOpen = (path: string): boolean => path.startsWith("/health/")

export class Api extends HttpApi.make("detent")
  .add(BatchApi, UploadApi, MachineApi, InstanceApi, CommandApi, KnowledgeApi, SystemApi)
  .middleware(Refusing)
  .annotate(OpenApi.Title, "Detent")
  .annotate(OpenApi.Version, "1")
  .annotate(OpenApi.Description, "Durable state machines and batch workflows. Refusals are problem details that say what to do.")
  .annotate(OpenApi.Transform, withSecurity) {}

/** The OpenAPI 3.1 document of the API. */
export const openApi = (): OpenApi.OpenAPISpec => OpenApi.fromApi(Api)
