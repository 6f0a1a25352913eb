/** The operations on commands as remote procedures, over HTTP and WebSocket. */

import * as Rpc from "effect/rpc/Rpc"
import * as RpcGroup from "effect/rpc/RpcGroup"
import * as Schema from "effect/Schema"
import { IdempotencyKey } from "../contract/Headers.ts"
import { type Problem, problems } from "../contract/Problem.ts"
import { StoredCommand } from "../groups/StoredCommand.ts"
import { Operating } from "./RpcRoles.ts"

const error = Schema.Union(problems) satisfies Schema.Codec<Problem, unknown>

export const retry = Rpc.make("command_retry", {
  payload: {
    key: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(500)),
    /** Retries also where the instance has ended or would refuse the result. */
    force: Schema.optionalKey(Schema.Boolean),
    /** Only checks whether the command would be executed again. */
    dryRun: Schema.optionalKey(Schema.Boolean),
    idempotencyKey: Schema.optionalKey(IdempotencyKey),
  },
  success: StoredCommand,
  error,
}).middleware(Operating)

export class CommandRpc extends RpcGroup.make(retry) {}
