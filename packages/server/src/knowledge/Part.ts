/** The routes of a server with knowledge: batches, the graph, live streams of batches, procedures. Imported only where knowledge is on. */

import { KnowledgePart } from "@detent/api/KnowledgePart"
import { Systems } from "@detent/workspace/Systems"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import { activityHandlers } from "../activities/Http.ts"
import { BatchFeed } from "../batches/BatchFeed.ts"
import { batchHandlers } from "../batches/Http.ts"
import { batchProcedures, ReceivedBatchRpc } from "../batches/RpcHandlers.ts"
import { commandProcedures, ReceivedCommandRpc } from "../commands/RpcHandlers.ts"
import { executionProcedures, ReceivedExecutionRpc } from "../executions/RpcHandlers.ts"
import { rpcRoutes, rpcServices } from "../serve/RpcRoutes.ts"
import { knowledgeHandlers } from "./Http.ts"

export const api = KnowledgePart

export const routes = Layer.mergeAll(
  HttpApiBuilder.layer(KnowledgePart).pipe(Layer.provide(Layer.mergeAll(batchHandlers, knowledgeHandlers, activityHandlers))),
  rpcRoutes(ReceivedExecutionRpc.merge(ReceivedCommandRpc, ReceivedBatchRpc)).pipe(
    Layer.provide(Layer.mergeAll(batchProcedures, commandProcedures, executionProcedures)),
    Layer.provide(rpcServices),
  ),
).pipe(
  Layer.provide(BatchFeed.layer),
  // This part is loaded only where knowledge is on.
  Layer.provide(Layer.orDie(Systems.knowledge)),
)
