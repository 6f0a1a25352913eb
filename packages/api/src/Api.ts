/** The HTTP API of a server with all systems. The typed client and the OpenAPI file are generated from this definition. */
import type * as HttpApi from "effect/http-api/HttpApi"
import * as OpenApi from "effect/http-api/OpenApi"
import { CoreApi } from "./CoreApi.ts"
import { KnowledgePart } from "./KnowledgePart.ts"
import { UploadPart } from "./UploadPart.ts"

type GroupsOf<A> = A extends HttpApi.HttpApi<"detent", infer Groups> ? Groups : never

/** The annotation names the parts: the inferred type is too long for a declaration file. */
const whole: HttpApi.HttpApi<"detent", GroupsOf<typeof CoreApi> | GroupsOf<typeof KnowledgePart> | GroupsOf<typeof UploadPart>> =
  CoreApi.addHttpApi(KnowledgePart).addHttpApi(UploadPart)

export class Api extends whole {}

/** The OpenAPI 3.1 document of the API. */
export const openApi = (): OpenApi.OpenAPISpec => OpenApi.fromApi(Api)
