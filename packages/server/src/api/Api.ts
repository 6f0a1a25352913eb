/** Everything a server with all systems answers over HTTP. The typed client and the OpenAPI file are made from this one definition. */
import * as OpenApi from "effect/unstable/httpapi/OpenApi"
import { CoreApi } from "./CoreApi.ts"
import { KnowledgePart } from "./KnowledgePart.ts"
import { UploadPart } from "./UploadPart.ts"

export class Api extends CoreApi.addHttpApi(KnowledgePart).addHttpApi(UploadPart) {}

/** The OpenAPI 3.1 document of the API. */
export const openApi = (): OpenApi.OpenAPISpec => OpenApi.fromApi(Api)
