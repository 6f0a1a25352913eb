/** The procedures on batches where knowledge is off: each is refused with the next step. Does not load the code of knowledge. */

import { problems } from "@detent/api/Problem"
import { Reading } from "@detent/api/RpcRoles"
import { SystemOff } from "@detent/workspace/errors"
import * as Effect from "effect/Effect"
import * as Rpc from "effect/rpc/Rpc"
import * as RpcGroup from "effect/rpc/RpcGroup"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { problemOf } from "../serve/ProblemOf.ts"

const fields = { payload: Schema.Unknown, success: Schema.Never, error: Schema.Union(problems) }

export class BatchRpcOff extends RpcGroup.make(
  Rpc.make("batch_start", fields).middleware(Reading),
  Rpc.make("batch_cancel", fields).middleware(Reading),
  Rpc.make("batch_getStatus", fields).middleware(Reading),
  Rpc.make("batch_streamProgress", { ...fields, stream: true }).middleware(Reading),
) {}

const off = problemOf(new SystemOff({ system: "knowledge" }))

export const batchProceduresOff = BatchRpcOff.toLayer({
  batch_start: () => Effect.fail(off),
  batch_cancel: () => Effect.fail(off),
  batch_getStatus: () => Effect.fail(off),
  batch_streamProgress: () => Stream.fail(off),
})
