import * as operations from "@detent/workspace/operations/uploads"
import * as Effect from "effect/Effect"
import { WrongUsage } from "../../Failure.ts"
import { fieldsOf } from "../../instance/Fields.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { changedHere } from "../../workspace/Changing.ts"
import { uploads as opening, placeText } from "../../workspace/Opening.ts"
import { keyOption } from "../shared.ts"
import { itemArgument, itemNumber, upload } from "./shared.ts"

const { observing } = opening

/** Changes the database directly, without a server: a retry reads the content of the item from the database. */
export default command(
  {
    name: "upload correct",
    summary: "replace the content of a refused item for the next retry; invalid content is refused again",
    arguments: [upload, itemArgument],
    options: [{ name: "with", kind: "text", value: "JSON", summary: "the complete item" }, keyOption],
    examples: [
      {
        line: `detent upload correct batch-3f9c2a71b0d4e5f6 17 --with '{"id":"lathe-7","brand":"Acme","price":12.5}'`,
        says: "then: detent upload retry",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      if (input.with === undefined)
        return yield* new WrongUsage({
          problem: "the item is missing",
          nextStep: `give the complete item with --with; see it with: detent upload show ${input.upload} --item ${input.item}`,
        })
      const item = yield* fieldsOf(input.with)
      const index = yield* itemNumber(input.item)
      const change = { operation: "uploads.correct", params: { batchId: input.upload, index }, json: item, key: input.key }
      yield* changedHere(change, operations.correct(input.upload, index, item))
      yield* output.value({ batchId: input.upload, item: index }, () => `item ${index} of ${input.upload} has new content\n`)
      yield* output.note(output.noteStyle.dim(`Retry it: detent upload retry ${input.upload}${placeText(input)}`))
    }).pipe(Effect.provide(observing(input))),
)
