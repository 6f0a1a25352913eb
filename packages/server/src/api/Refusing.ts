/** Input that does not fit its schema is refused as a problem that says which part of the request, and why. */
import * as HttpApiMiddleware from "effect/unstable/httpapi/HttpApiMiddleware"
import { problems } from "./Problem.ts"

export class Refusing extends HttpApiMiddleware.Service<Refusing>()("@detent/server/Refusing", { error: problems }) {}
