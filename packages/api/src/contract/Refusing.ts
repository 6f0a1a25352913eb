/** Refuses input that does not fit its schema, with a problem that names the part of the request and the reason. */
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import { problems } from "./Problem.ts"

export class Refusing extends HttpApiMiddleware.Service<Refusing>()("@detent/server/Refusing", { error: problems }) {}
