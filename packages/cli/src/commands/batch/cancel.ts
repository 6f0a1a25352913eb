import * as operations from "@detent/workspace/operations/batches"
import * as Effect from "effect/Effect"
import { batchText, batchView } from "../../batch/BatchView.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { changed } from "../../workspace/Changing.ts"
import { placeText } from "../../workspace/Opening.ts"
import { keyOption } from "../shared.ts"
import { afterAsking, batch, changeOf } from "./shared.ts"

export default command(
  {
    name: "batch cancel",
    summary: "cancel a batch; extracted documents are kept",
    arguments: [batch],
    options: [keyOption],
    examples: [{ line: "detent batch cancel batch-3f9c2a71b0d4 --yes", says: "`detent batch resume` continues it later" }],
  },
  (input) =>
    afterAsking(
      input,
      ({ batchId }) => `Cancel ${batchId}? Extracted documents are kept.`,
      (server, id) =>
        Effect.gen(function* () {
          const output = yield* Output
          yield* changed(server, changeOf("cancel", id, input.key), operations.cancel(id))
          const state = yield* operations.state(id)
          yield* output.value(batchView(state), () => batchText(state, output.style, input))
          yield* output.note(output.noteStyle.dim(`Continue it: detent batch resume ${id}${placeText(input)}`))
        }),
    ),
)
