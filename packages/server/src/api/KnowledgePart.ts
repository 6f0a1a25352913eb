/** The part of the API that a server with knowledge offers. */
import * as HttpApi from "effect/http-api/HttpApi"
import { ActivityApi } from "../activities/Api.ts"
import { BatchApi } from "../batches/Api.ts"
import { KnowledgeApi } from "../knowledge/Api.ts"
import { Refusing } from "./Refusing.ts"

export class KnowledgePart extends HttpApi.make("detent").add(BatchApi, KnowledgeApi, ActivityApi).middleware(Refusing) {}
