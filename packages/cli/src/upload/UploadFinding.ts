/** The upload that people mean by an id. */
import { Uploads } from "@detent/uploads"
import * as Effect from "effect/Effect"
import { NotAllowed, NothingFound } from "../Failure.ts"

export const findUpload = (id: string) =>
  Effect.flatMap(Uploads, (uploads) =>
    Effect.catchTag(uploads.status(id), "BatchNotFound", () =>
      Effect.fail(new NothingFound({ what: `upload ${id}`, nextStep: "see `detent upload list`" })),
    ),
  )

/** One of which something is left to do. */
export const findUnfinished = (id: string) =>
  Effect.gen(function* () {
    const status = yield* findUpload(id)
    if (status.state !== "completed") return status
    return yield* new NotAllowed({
      problem: `upload ${id} is complete: all ${status.items.stored} items are stored`,
      nextStep: "nothing is left to retry",
    })
  })
