/** What the caller of a procedure must be allowed to do. */
import * as RpcMiddleware from "effect/unstable/rpc/RpcMiddleware"
import { Forbidden } from "./Problem.ts"

/** For procedures that change something. */
export class Operating extends RpcMiddleware.Service<Operating>()("@detent/server/Operating", { error: Forbidden }) {}

/** For procedures that only look. */
export class Reading extends RpcMiddleware.Service<Reading>()("@detent/server/Reading", { error: Forbidden }) {}
