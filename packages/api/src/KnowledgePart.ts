/** The part of the API that a server with knowledge offers. */
import * as HttpApi from "effect/http-api/HttpApi"
import { Refusing } from "./contract/Refusing.ts"
import { ActivityApi } from "./groups/ActivityApi.ts"
import { BatchApi } from "./groups/BatchApi.ts"
import { KnowledgeApi } from "./groups/KnowledgeApi.ts"

export class KnowledgePart extends HttpApi.make("detent").add(BatchApi, KnowledgeApi, ActivityApi).middleware(Refusing) {}
