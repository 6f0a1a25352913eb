import * as operations from "@detent/workspace/operations/uploads"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { uploads as opening } from "../../workspace/Opening.ts"
import { itemArgument, itemNumber, upload } from "./shared.ts"

const { observing } = opening

export default command(
  {
    name: "upload history",
    summary: "one item of an upload: when it was ingested, validated, stored or refused",
    arguments: [upload, itemArgument],
    options: [],
    examples: [{ line: "detent upload history batch-09ab41cc02 17", says: "every attempt, with times and reasons" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const index = yield* itemNumber(input.item)
      const { history: steps, ...item } = yield* operations.history(input.upload, index)
      if (output.isJson) return yield* output.value({ ...item, history: steps }, () => "")
      yield* output.rows(
        steps,
        [
          { title: "TRY", of: ({ attempt }) => attempt },
          { title: "STATE", of: ({ state }) => state },
          { title: "AT", of: ({ at }) => momentText(at) },
          { title: "PROBLEM", of: ({ problem }) => problem?.message ?? "" },
        ],
        "",
      )
    }).pipe(Effect.provide(observing(input))),
)
