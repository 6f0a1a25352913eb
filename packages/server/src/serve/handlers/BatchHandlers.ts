/** Answers about batches, and what is asked of them. */
import type { InstanceRecord } from "@detent/durable"
import { BatchEventLog, type BatchId, blobIn, folderIn, RelativePath, Storage } from "@detent/knowledge"
import { Workspace } from "@detent/workspace/Workspace"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as HttpServerResponse from "effect/unstable/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/unstable/httpapi/HttpApiBuilder"
import { Api } from "../../api/Api.ts"
import { pageSize } from "../../api/Paging.ts"
import { BatchFeed } from "../live/BatchFeed.ts"
import { frameOf } from "../live/Channel.ts"
import { endingResponse, liveResponse } from "../live/liveResponse.ts"
import { ArtifactNotFound } from "../NotThere.ts"
import { optional } from "../optional.ts"
import { answering } from "../ProblemOf.ts"
import { paged } from "../paged.ts"
import { BatchOperations, folderOfWorkspace } from "./BatchOperations.ts"

const listingOf = ({ id, tag, status, reason, startedAt, updatedAt }: InstanceRecord) => ({
  batchId: id,
  state: tag,
  status,
  ...optional({ reason }),
  startedAt,
  updatedAt,
})

export const batchHandlers = HttpApiBuilder.group(
  Api,
  "batches",
  Effect.fnUntraced(function* (handlers) {
    const operations = yield* BatchOperations
    const log = yield* BatchEventLog
    const storage = yield* Storage
    const feed = yield* BatchFeed
    const home = folderOfWorkspace(yield* Workspace)

    const folderOfBatch = (batch: BatchId) => folderIn(home, `batches/${batch}`)

    /** Its name is a path below the batch's folder, and no path that leaves it. */
    const addressOf = (batchId: BatchId, name: string) => {
      const path = Schema.decodeUnknownOption(RelativePath)(name)
      return Option.isNone(path)
        ? Effect.fail(new ArtifactNotFound({ batchId, name }))
        : Effect.succeed(blobIn(folderOfBatch(batchId), path.value))
    }

    return handlers
      .handle("start", ({ payload, headers }) => answering(operations.start(payload, headers["idempotency-key"])))
      .handle("list", ({ query }) =>
        answering(Effect.map(operations.list(query), ({ instances, next }) => paged({ batches: instances.map(listingOf) }, next))),
      )
      .handle("get", ({ params }) => answering(operations.status(params.batchId)))
      .handle("cancel", ({ params }) => answering(operations.cancel(params.batchId)))
      .handle("retry", ({ params }) => answering(operations.retry(params.batchId)))
      .handle("resume", ({ params }) => answering(operations.resume(params.batchId)))
      .handle("documents", ({ params: { batchId }, query: { limit = pageSize, ...query } }) =>
        answering(
          Effect.gen(function* () {
            yield* operations.status(batchId)
            const documents = yield* log.documents(batchId, { ...query, limit })
            return paged({ documents }, documents.length === limit ? documents.at(-1)?.documentId : undefined)
          }),
        ),
      )
      .handle("artifacts", ({ params: { batchId } }) =>
        answering(
          Effect.gen(function* () {
            yield* operations.status(batchId)
            const folder = folderOfBatch(batchId)
            const blobs = yield* Stream.runCollect(storage.list(folder))
            return { artifacts: blobs.map(({ uri, size }) => ({ name: decodeURIComponent(uri.slice(folder.length)), bytes: size })) }
          }),
        ),
      )
      .handleRaw("artifact", ({ params: { batchId, name } }) =>
        answering(
          Effect.gen(function* () {
            const uri = yield* addressOf(batchId, name)
            const info = yield* storage.info(uri)
            if (Option.isNone(info)) return yield* new ArtifactNotFound({ batchId, name })
            return HttpServerResponse.stream(storage.getStream(uri), {
              contentType: contentTypes[name.slice(name.lastIndexOf("."))] ?? "application/octet-stream",
              contentLength: info.value.size,
              // A browser must not run content that came from a document.
              headers: { "content-security-policy": "sandbox", "x-content-type-options": "nosniff" },
            })
          }),
        ),
      )
      .handleRaw("events", ({ params: { batchId }, headers }) =>
        answering(
          Effect.gen(function* () {
            const last = headers["last-event-id"]
            // An event between the two reads is sent twice rather than missed.
            const position = yield* feed.position
            const status = yield* operations.status(batchId)
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

const contentTypes: Readonly<Record<string, string>> = {
  ".json": "application/json",
  ".ttl": "text/turtle; charset=utf-8",
  ".nt": "application/n-triples; charset=utf-8",
}
