/** The role that the caller of a procedure needs. The middleware also refuses calls beyond the limit in flight, and ends late ones. */

import * as RpcMiddleware from "effect/rpc/RpcMiddleware"
import * as Schema from "effect/Schema"
import { Forbidden, TimedOut, Unavailable } from "../contract/Problem.ts"

const error = Schema.Union([Forbidden, Unavailable, TimedOut])

/** For procedures that change something. */
export class Operating extends RpcMiddleware.Service<Operating>()("@detent/server/Operating", { error }) {}

/** For procedures that only read. */
export class Reading extends RpcMiddleware.Service<Reading>()("@detent/server/Reading", { error }) {}
