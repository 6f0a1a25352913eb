/** Handlers of the upload API. */
import { FileMissing } from "@detent/workspace/errors"
import * as uploads from "@detent/workspace/operations/uploads"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Multipart from "effect/unstable/http/Multipart"
import * as HttpApiBuilder from "effect/unstable/httpapi/HttpApiBuilder"
import { Api } from "../api/Api.ts"
import { pageSize } from "../api/Paging.ts"
import { makeChanging, makeOperating } from "../serve/Operating.ts"

export const uploadHandlers = HttpApiBuilder.group(
  Api,
  "uploads",
  Effect.fnUntraced(function* (handlers) {
    const operating = yield* makeOperating
    const changing = yield* makeChanging
    return handlers
      .handle("send", ({ payload, headers, query: { force } }) =>
        operating(
          Effect.gen(function* () {
            const key = headers["idempotency-key"]
            // The file is read as it comes, so it is taken the moment it begins.
            const received = yield* payload.pipe(
              Stream.filter(Multipart.isFile),
              Stream.mapEffect(({ name: fileName, content }) => uploads.receive({ fileName, content }, { key, force: force === "true" })),
              Stream.runHead,
            )
            if (Option.isNone(received)) return yield* new FileMissing()
            return received.value
          }),
        ),
      )
      .handle("list", ({ query: { limit = pageSize, after } }) => operating(uploads.list({ limit, after })))
      .handle("get", ({ params }) => operating(uploads.status(params.batchId)))
      .handle("items", ({ params, query }) => operating(uploads.items(params.batchId, query)))
      .handle("correct", (input) => {
        const {
          params: { batchId, index },
          payload,
        } = input
        return changing(input, uploads.correct(batchId, index, payload))
      })
      .handle("retry", (input) => {
        const { params } = input
        return changing(input, uploads.retry(params.batchId))
      })
      .handle("cancel", (input) => {
        const { params } = input
        return changing(input, uploads.cancel(params.batchId))
      })
      .handle("search", ({ query: { afterTime, afterId, ...query } }) =>
        operating(uploads.search({ ...query, ...(afterId === undefined ? {} : { after: { time: afterTime ?? 0, hnId: afterId } }) })),
      )
  }),
)
