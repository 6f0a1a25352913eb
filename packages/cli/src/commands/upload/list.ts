import type { Uploads } from "@detent/uploads"
import * as operations from "@detent/workspace/operations/uploads"
import * as Effect from "effect/Effect"
import { messageOf } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { stateLooks } from "../../upload/UploadView.ts"
import { uploads as opening } from "../../workspace/Opening.ts"
import { paging } from "../shared.ts"
import { noteUnfinished, numberOf } from "./shared.ts"

const { observing } = opening

export default command(
  {
    name: "upload list",
    summary: "uploads, newest first",
    arguments: [],
    options: [...paging],
    examples: [{ line: "detent upload list --limit 5 --json", says: "the five newest uploads, one JSON line each" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const after = yield* numberOf(input.after)
      const page = yield* operations.list({ limit: input.limit, ...after })
      const rows = yield* Effect.forEach(
        page.uploads,
        (batch): Effect.Effect<UploadRow, never, Uploads> =>
          Effect.match(operations.status(batch.batchId), {
            onSuccess: ({ state, items, isResting }) => ({ ...batch, state, total: items.total, isResting }),
            onFailure: (error) => ({ ...batch, problem: messageOf(error) }),
          }),
        { concurrency: 4 },
      )
      yield* output.rows(
        rows,
        [
          { title: "UPLOAD", of: ({ batchId }) => batchId },
          { title: "KIND", of: ({ kind }) => kind },
          { title: "FILE", of: ({ fileName }) => fileName },
          {
            title: "STATE",
            of: ({ state }) => state ?? "unreadable",
            looks: (text, { state }, style) => (state === undefined ? style.red(text) : stateLooks(text, state, style)),
          },
          { title: "IN ALL", of: ({ total }) => total ?? "" },
          { title: "STORED", of: ({ stored }) => stored },
          { title: "REFUSED", of: ({ failed }) => failed },
          { title: "STARTED", of: ({ createdAt }) => momentText(createdAt) },
        ],
        "no uploads here; start one with `detent upload run FILE`",
      )
      for (const { batchId, problem } of rows) if (problem !== undefined) yield* output.note(`upload ${batchId} cannot be read: ${problem}`)
      yield* noteUnfinished(input, rows)
      if (page.next !== undefined) yield* output.note(`more with --after ${page.next}`)
    }).pipe(Effect.provide(observing(input))),
)

type Listed = Effect.Success<ReturnType<typeof operations.list>>["uploads"][number]

/** An upload of the list: with its state, or with the reason why that cannot be read. */
type UploadRow = Listed & { readonly state?: string; readonly total?: number; readonly isResting?: boolean; readonly problem?: string }
