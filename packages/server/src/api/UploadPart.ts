/** The part of the API that a server with uploads offers. */
import * as HttpApi from "effect/http-api/HttpApi"
import { UploadApi } from "../uploads/Api.ts"
import { Refusing } from "./Refusing.ts"

export class UploadPart extends HttpApi.make("detent").add(UploadApi).middleware(Refusing) {}
