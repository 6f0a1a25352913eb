/** The procedures on commands. */

import { retry } from "@detent/api/CommandRpc"
import * as commands from "@detent/workspace/operations/commands"
import * as Effect from "effect/Effect"
import * as RpcGroup from "effect/rpc/RpcGroup"
import * as Schema from "effect/Schema"
import { makeOperating } from "../serve/Operating.ts"
import { payloadOf } from "../serve/RpcPayload.ts"

/** Takes payloads undecoded, so that the handler can refuse unknown keys, which the schema would drop. */
export class ReceivedCommandRpc extends RpcGroup.make(retry.setPayload(Schema.Unknown)) {}

export const commandProcedures = ReceivedCommandRpc.toLayer(
  Effect.gen(function* () {
    const operating = yield* makeOperating()
    const retryOf = payloadOf(retry.payloadSchema)
    return ReceivedCommandRpc.of({
      command_retry: (sent) =>
        Effect.flatMap(retryOf(sent), ({ key, idempotencyKey, ...options }) =>
          operating(commands.retryOnce({ command: key, key: idempotencyKey, ...options })),
        ),
    })
  }),
)
