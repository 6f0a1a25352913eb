/** The procedures on executions. */

import { getStatus, sendEvent, start } from "@detent/api/ExecutionRpc"
import * as executions from "@detent/workspace/operations/executions"
import { changeOnce } from "@detent/workspace/RequestKeys"
import * as Effect from "effect/Effect"
import * as RpcGroup from "effect/rpc/RpcGroup"
import * as Schema from "effect/Schema"
import { makeOperating } from "../serve/Operating.ts"
import { payloadOf } from "../serve/RpcPayload.ts"

/** Takes payloads undecoded, so that the handler can refuse unknown keys, which the schema would drop. */
export class ReceivedExecutionRpc extends RpcGroup.make(
  start.setPayload(Schema.Unknown),
  sendEvent.setPayload(Schema.Unknown),
  getStatus.setPayload(Schema.Unknown),
) {}

export const executionProcedures = ReceivedExecutionRpc.toLayer(
  Effect.gen(function* () {
    const operating = yield* makeOperating()
    const [startOf, executionOf] = [payloadOf(start.payloadSchema), payloadOf(getStatus.payloadSchema)]
    const eventOf = payloadOf(sendEvent.payloadSchema)
    return ReceivedExecutionRpc.of({
      execution_start: (sent) =>
        Effect.flatMap(startOf(sent), ({ idempotencyKey: key, workflow, ...content }) =>
          operating(
            changeOnce({ operation: "executions.start", params: { workflow }, content, key }, executions.start({ workflow, ...content })),
          ),
        ),
      execution_sendEvent: (sent) =>
        Effect.flatMap(eventOf(sent), ({ idempotencyKey: key, workflow, id, ...content }) => {
          const change = { operation: "executions.send", params: { workflow, id }, content, key }
          return operating(changeOnce(change, executions.send({ workflow, id, ...content })))
        }),
      execution_getStatus: (sent) => Effect.flatMap(executionOf(sent), ({ workflow, id }) => operating(executions.get(workflow, id))),
    })
  }),
)
