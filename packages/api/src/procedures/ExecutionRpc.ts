/** The operations on executions as remote procedures, over HTTP and WebSocket. */

import * as Rpc from "effect/rpc/Rpc"
import * as RpcGroup from "effect/rpc/RpcGroup"
import * as Schema from "effect/Schema"
import { IdempotencyKey } from "../contract/Headers.ts"
import { type Problem, problems } from "../contract/Problem.ts"
import { Execution, SendToExecution, StartExecution } from "../groups/ExecutionApi.ts"
import { Operating, Reading } from "./RpcRoles.ts"

const error = Schema.Union(problems) satisfies Schema.Codec<Problem, unknown>

const name = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(500))

export const start = Rpc.make("execution_start", {
  payload: { workflow: name, ...StartExecution.fields, idempotencyKey: Schema.optionalKey(IdempotencyKey) },
  success: Execution,
  error,
}).middleware(Operating)

export const sendEvent = Rpc.make("execution_sendEvent", {
  payload: { workflow: name, id: name, ...SendToExecution.fields, idempotencyKey: Schema.optionalKey(IdempotencyKey) },
  success: Execution,
  error,
}).middleware(Operating)

export const getStatus = Rpc.make("execution_getStatus", {
  payload: { workflow: name, id: name },
  success: Execution,
  error,
}).middleware(Reading)

export class ExecutionRpc extends RpcGroup.make(start, sendEvent, getStatus) {}
