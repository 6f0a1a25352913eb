/** Handlers of the batch API. */

import { artifactType, LargerBudget, RetryBatch, ReviewDecision, Withdrawal } from "@detent/api/BatchApi"
import { KnowledgePart } from "@detent/api/KnowledgePart"
import { pageLimit, pageSize } from "@detent/api/Paging"
import type { ReviewSelection } from "@detent/knowledge"
import * as batches from "@detent/workspace/operations/batches"
import type { KnowledgeServices } from "@detent/workspace/Systems"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { frameOf } from "../serve/live/Channel.ts"
import { endingResponse, liveResponse } from "../serve/live/liveResponse.ts"
import { makeChanging, makeOperating, operator, refuseUnknownKeys } from "../serve/Operating.ts"
import { BatchFeed } from "./BatchFeed.ts"
import { withStart } from "./StartBody.ts"

const selectionOf = ({ facts, all: _, by: __, ...filter }: ReviewDecision): ReviewSelection =>
  facts === undefined ? { all: true, ...filter } : { facts }

export const batchHandlers = HttpApiBuilder.group(
  KnowledgePart,
  "batches",
  Effect.fnUntraced(function* (handlers) {
    const operating = yield* makeOperating<KnowledgeServices>()
    const changing = yield* makeChanging<KnowledgeServices>()
    const feed = yield* BatchFeed
    const decisionKeys = refuseUnknownKeys(ReviewDecision)
    const budgetKeys = refuseUnknownKeys(LargerBudget)
    const retryKeys = refuseUnknownKeys(RetryBatch)
    const withdrawalKeys = refuseUnknownKeys(Withdrawal)
    return handlers
      .handleRaw("start", ({ request, headers }) =>
        withStart(request, (start) => operating(batches.start(start, headers["idempotency-key"]))),
      )
      .handleRaw("estimate", ({ request }) => withStart(request, (start) => operating(batches.estimate(start))))
      .handleRaw("previewMapping", ({ request }) => withStart(request, (start) => operating(batches.previewMapping(start))))
      .handle("list", ({ query }) => operating(batches.list(query)))
      .handle("get", ({ params }) => operating(batches.status(params.batchId)))
      .handle("cancel", (input) => {
        const { params } = input
        return changing(input, batches.cancel(params.batchId))
      })
      .handle("retry", (input) => {
        const { request, params, payload } = input
        const retrying = changing(input, batches.retry(params.batchId, payload ?? {}))
        return payload === undefined ? retrying : Effect.andThen(retryKeys(request), retrying)
      })
      .handle("resume", (input) => {
        const { params } = input
        return changing(input, batches.resume(params.batchId))
      })
      .handle("raiseBudget", (input) => {
        const { request, params, payload } = input
        return Effect.andThen(budgetKeys(request), changing(input, batches.resume(params.batchId, payload)))
      })
      .handle("withdraw", (input) => {
        const { request, params, payload } = input
        const withdrawing = changing(input, batches.withdraw(params.batchId, payload ?? {}))
        return payload === undefined ? withdrawing : Effect.andThen(withdrawalKeys(request), withdrawing)
      })
      .handle("review", ({ params, query: { limit = pageSize, ...query } }) =>
        operating(batches.review(params.batchId, { ...query, limit })),
      )
      .handle("accept", (input) => {
        const { request, params, payload } = input
        return Effect.andThen(
          decisionKeys(request),
          changing(input, batches.accept(params.batchId, selectionOf(payload), payload.by ?? operator)),
        )
      })
      .handle("reject", (input) => {
        const { request, params, payload } = input
        return Effect.andThen(
          decisionKeys(request),
          changing(input, batches.reject(params.batchId, selectionOf(payload), payload.by ?? operator)),
        )
      })
      .handle("reopen", (input) => {
        const { request, params, payload } = input
        return Effect.andThen(
          decisionKeys(request),
          changing(input, batches.reopen(params.batchId, selectionOf(payload), payload.by ?? operator)),
        )
      })
      .handle("documents", ({ params, query: { limit = pageSize, ...query } }) =>
        operating(batches.documents(params.batchId, { ...query, limit })),
      )
      .handle("failures", ({ params }) => operating(batches.failures(params.batchId)))
      .handle("changes", ({ params, query: { limit = pageLimit } }) => operating(batches.changes(params.batchId, limit)))
      .handle("artifacts", ({ params }) => operating(batches.artifacts(params.batchId)))
      .handleRaw("artifact", ({ params: { batchId, name } }) =>
        operating(
          Effect.map(batches.artifact(batchId, name), ({ bytes, content }) =>
            HttpServerResponse.stream(content, {
              contentType: artifactType(name),
              contentLength: bytes,
              // A browser must not execute content of a document.
              headers: { "content-security-policy": "sandbox", "x-content-type-options": "nosniff" },
            }),
          ),
        ),
      )
      .handleRaw("events", ({ params: { batchId }, headers }) =>
        operating(
          Effect.gen(function* () {
            const last = headers["last-event-id"]
            // The position is read first: an event between the two reads is sent twice rather than missed.
            const position = yield* feed.position
            const status = yield* batches.status(batchId)
            if (last !== undefined) {
              const after = Math.min(Number(last), position)
              // 204 tells an EventSource not to reconnect. A client that reads from the start gets all events first.
              if (after > 0 && (yield* feed.isOver(batchId, after))) return HttpServerResponse.empty({ status: 204 })
              return liveResponse(feed.reader(batchId, after))
            }
            const standing = frameOf(position, "status", status)
            return status.isTerminal ? endingResponse(standing) : liveResponse(feed.reader(batchId, position, standing))
          }),
        ),
      )
  }),
)
