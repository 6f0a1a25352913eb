import * as operations from "@detent/workspace/operations/uploads"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { uploads as opening, placeText } from "../../workspace/Opening.ts"
import { findUpload, numberOf, upload } from "./shared.ts"

const { observing } = opening

export default command(
  {
    name: "upload failures",
    summary: "write the refused items of an upload as a file, to correct them",
    detail:
      "Each with its number, line, id, reason and content. CSV has a byte order mark, so that spreadsheets read its letters right.\n" +
      "Correct the cells, leave the column detent:item as it is, and give the file to `detent upload correct UPLOAD --from FILE`.",
    arguments: [upload],
    options: [
      {
        name: "format",
        kind: "text",
        value: "FORMAT",
        choices: ["csv", "jsonl"],
        default: "csv",
        summary: "csv for spreadsheets, or jsonl for programs",
      },
      { name: "limit", kind: "integer", value: "N", minimum: 1, summary: "at most this many. Default: all" },
      { name: "after", kind: "text", value: "ITEM", summary: "only refused items after this one" },
    ],
    examples: [
      { line: "detent upload failures batch-09ab41cc02 > bad.csv", says: "then: detent upload correct batch-09ab41cc02 --from bad.csv" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { items } = yield* findUpload(input.upload)
      const range = { ...(yield* numberOf(input.after)), ...optional({ limit: input.limit }) }
      const { text } = yield* operations.failures(input.upload, { format: input.format, ...range })
      yield* Stream.runForEach(text, (some) => output.write(some))
      const next =
        items.failed === 0
          ? `no item of ${input.upload} has failed`
          : `Correct them: detent upload correct ${input.upload} --from FILE${placeText(input)}`
      yield* output.note(output.noteStyle.dim(next))
    }).pipe(Effect.provide(observing(input))),
)
