/** The part of the API that a server with uploads offers. */
import * as HttpApi from "effect/http-api/HttpApi"
import { Refusing } from "./contract/Refusing.ts"
import { UploadApi } from "./groups/UploadApi.ts"

export class UploadPart extends HttpApi.make("detent").add(UploadApi).middleware(Refusing) {}
