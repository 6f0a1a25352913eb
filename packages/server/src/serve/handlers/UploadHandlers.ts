/** Answers about uploads, and the files that are sent. */
import { createHash } from "node:crypto"
import type { ReadError } from "@detent/durable"
import { type BatchStatus, type Entry, Uploads } from "@detent/uploads"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Multipart from "effect/unstable/http/Multipart"
import * as HttpApiBuilder from "effect/unstable/httpapi/HttpApiBuilder"
import { Api } from "../../api/Api.ts"
import { pageSize } from "../../api/Paging.ts"
import type { UploadStatus } from "../../api/UploadApi.ts"
import { FileMissing, UploadComplete } from "../NotThere.ts"
import { optional } from "../optional.ts"
import { answering } from "../ProblemOf.ts"
import { paged } from "../paged.ts"

/** The same key is the same batch, whichever process is asked. */
const batchOfKey = (key: string): string => `batch-${createHash("sha256").update(key).digest("hex").slice(0, 16)}`

const statusOf = (status: BatchStatus): UploadStatus => {
  const { batchId, state, step, isResting, items, itemsPerSecond, estimatedCompletionAt, canRetry, problem, batch } = status
  return {
    batchId,
    state,
    ...optional({ step }),
    isResting,
    fileName: batch.fileName,
    ...optional({ fileSize: batch.fileSize }),
    items,
    ...optional({ itemsPerSecond, estimatedCompletionAt }),
    canRetry,
    ...optional({ problem: batch.failure?.message ?? problem?.message }),
    errors: (batch.errorSummary?.groups ?? []).map(({ reason, count, examples: [first] }) => ({
      reason,
      count,
      ...optional({ example: first === undefined ? undefined : `item ${first.index}, line ${first.line}: ${first.message}` }),
    })),
  }
}

const itemOf = ({ index, line, state, hnId, problem, attempts, instanceId }: Entry) => ({
  index,
  line,
  state,
  ...optional({ hnId, problem }),
  attempts,
  instanceId,
})

export const uploadHandlers = HttpApiBuilder.group(
  Api,
  "uploads",
  Effect.fnUntraced(function* (handlers) {
    const uploads = yield* Uploads

    const receive = (file: Multipart.File, batchId: string | undefined, force: boolean) =>
      uploads.receive(file.content, { fileName: file.name, ...optional({ batchId }), force })

    /** Sent again under its key it is the batch that is there, and the file is not read a second time. */
    const known = (batchId: string | undefined): Effect.Effect<Option.Option<BatchStatus>, ReadError> => {
      if (batchId === undefined) return Effect.succeed(Option.none())
      return uploads.status(batchId).pipe(
        Effect.map((status) => Option.some(status)),
        Effect.catchTag("BatchNotFound", () => Effect.succeed(Option.none<BatchStatus>())),
      )
    }

    return handlers
      .handle("send", ({ payload, headers, query: { force } }) =>
        answering(
          Effect.gen(function* () {
            const key = headers["idempotency-key"]
            const batchId = key === undefined ? undefined : batchOfKey(key)
            const earlier = yield* known(batchId)
            if (Option.isSome(earlier)) return statusOf(earlier.value)
            // The file is read as it comes, so it is taken the moment it begins.
            const received = yield* payload.pipe(
              Stream.filter(Multipart.isFile),
              Stream.mapEffect((file) => receive(file, batchId, force === "true")),
              Stream.runHead,
            )
            if (Option.isNone(received)) return yield* new FileMissing()
            return statusOf(received.value)
          }),
        ),
      )
      .handle("list", ({ query: { limit = pageSize, after } }) =>
        answering(Effect.map(uploads.batches({ limit, ...optional({ after }) }), ({ batches, next }) => paged({ uploads: batches }, next))),
      )
      .handle("get", ({ params }) => answering(Effect.map(uploads.status(params.batchId), statusOf)))
      .handle("items", ({ params, query }) =>
        answering(Effect.map(uploads.items(params.batchId, query), ({ items, next }) => paged({ items: items.map(itemOf) }, next))),
      )
      .handle("correct", ({ params: { batchId, index }, payload }) => answering(uploads.correct(batchId, index, payload)))
      .handle("retry", ({ params: { batchId } }) =>
        answering(
          Effect.gen(function* () {
            const { state, items } = yield* uploads.status(batchId)
            if (state === "completed") return yield* new UploadComplete({ batchId, stored: items.stored })
            const retried: ReturnType<typeof uploads.retryBatch> =
              state === "failed" ? uploads.retryBatch(batchId) : uploads.retryFailed(batchId)
            return statusOf(yield* retried)
          }),
        ),
      )
      .handle("cancel", ({ params }) => answering(Effect.map(uploads.cancel(params.batchId), statusOf)))
      .handle("search", ({ query: { afterTime, afterId, ...query } }) =>
        answering(
          Effect.map(
            uploads.search({ ...query, ...(afterId === undefined ? {} : { after: { time: afterTime ?? 0, hnId: afterId } }) }),
            ({ items, next }) => paged({ items }, next),
          ),
        ),
      )
  }),
)
