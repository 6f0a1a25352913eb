/** Handlers of the upload API. */

import { pageSize } from "@detent/api/Paging"
import { UploadPart } from "@detent/api/UploadPart"
import type { Uploads } from "@detent/uploads"
import * as uploads from "@detent/workspace/operations/uploads"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Stream from "effect/Stream"
import { frameOf } from "../serve/live/Channel.ts"
import { endingResponse, liveResponse } from "../serve/live/liveResponse.ts"
import { makeChanging, makeOperating } from "../serve/Operating.ts"
import { UploadFeed } from "./UploadFeed.ts"
import { readFile } from "./UploadForm.ts"

export const uploadHandlers = HttpApiBuilder.group(
  UploadPart,
  "uploads",
  Effect.fnUntraced(function* (handlers) {
    const operating = yield* makeOperating<Uploads>()
    const changing = yield* makeChanging<Uploads>()
    const feed = yield* UploadFeed
    return handlers
      .handle("send", ({ request, headers, query: { force, kind, existing, md5, ...table } }) => {
        const options = { key: headers["idempotency-key"], force: force === "true", kind, existing, md5, given: givenTable(table) }
        // The file is stored while it arrives: later parts of the form are not read first.
        return operating(
          Effect.scoped(Effect.flatMap(readFile(request), ({ file, mapping }) => uploads.receive(file, { ...options, mapping }))),
        )
      })
      .handle("preview", ({ request, query: { kind, locale, rows, isPart, ...table } }) => {
        const options = { kind, locale, rows, isPart: isPart === "true", given: givenTable(table) }
        return operating(
          Effect.scoped(Effect.flatMap(readFile(request), ({ file, mapping }) => uploads.preview(file, { ...options, mapping }))),
        )
      })
      .handle("plan", ({ request, query: { kind, existing, ...table } }) =>
        operating(
          Effect.scoped(
            Effect.flatMap(readFile(request), ({ file, mapping }) =>
              uploads.receivePlan(file, { kind, existing, mapping, given: givenTable(table) }),
            ),
          ),
        ),
      )
      .handle("list", ({ query: { limit = pageSize, after } }) => operating(uploads.list({ limit, after })))
      .handle("get", ({ params }) => operating(uploads.status(params.batchId)))
      .handleRaw("events", ({ params: { batchId }, headers }) =>
        operating(
          Effect.map(uploads.status(batchId), (status) => {
            if (!status.isResting) return liveResponse(feed.reader(batchId, status))
            // A client that reconnects has this status already.
            if (headers["last-event-id"] !== undefined) return HttpServerResponse.empty({ status: 204 })
            return endingResponse(frameOf(0, "status", status))
          }),
        ),
      )
      .handle("items", ({ params, query }) => operating(uploads.items(params.batchId, query)))
      .handle("history", ({ params: { batchId, index } }) => operating(uploads.history(batchId, index)))
      .handle("correct", (input) => {
        const {
          params: { batchId, index },
          payload,
        } = input
        return changing(input, uploads.correct(batchId, index, payload))
      })
      .handleRaw("failures", ({ params, query }) =>
        operating(
          Effect.map(uploads.failures(params.batchId, query), ({ fileName, contentType, text }) =>
            HttpServerResponse.stream(Stream.encodeText(text), {
              contentType,
              headers: {
                "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(fileName.toWellFormed())}`,
                "x-content-type-options": "nosniff",
              },
            }),
          ),
        ),
      )
      .handle("correctFrom", ({ params, request, query }) =>
        operating(
          Effect.scoped(
            Effect.flatMap(readFile(request), ({ file }) => uploads.receiveCorrections(params.batchId, file, givenTable(query))),
          ),
        ),
      )
      .handle("retry", (input) => {
        const { params } = input
        return changing(input, uploads.retry(params.batchId))
      })
      .handle("cancel", (input) => {
        const { params, query } = input
        return changing({ ...input, content: query }, uploads.cancel(params.batchId, query.reason))
      })
      .handle("kinds", () => operating(uploads.kinds))
      .handle("mapping", ({ params }) => operating(uploads.keptMapping(params.kind)))
      .handle("keepMapping", (input) => changing(input, uploads.keepMapping(input.params.kind, input.payload)))
      .handle("forgetMapping", (input) => changing(input, uploads.forgetMapping(input.params.kind)))
      .handle("searchKind", ({ params, query: { limit = pageSize, ...query } }) =>
        operating(uploads.searchKind(params.kind, { ...query, limit })),
      )
      .handle("itemOfKind", ({ params: { kind, id } }) => operating(uploads.itemOfKind(kind, id)))
  }),
)

/** The format of a file, as the query of its request says it. */
const givenTable = <T extends object>({ header, ...table }: T & { readonly header?: "true" | "false" }) => ({
  ...table,
  ...(header === undefined ? {} : { header: header === "true" }),
})
