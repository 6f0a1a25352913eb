import * as operations from "@detent/workspace/operations/uploads"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { uploads as opening } from "../../workspace/Opening.ts"

const { observing } = opening

export default command(
  {
    name: "upload item",
    summary: "one stored item, by its kind and id",
    arguments: [
      { name: "kind", summary: "the item's kind, as `detent upload kinds` shows it" },
      { name: "id", summary: "the item's id" },
    ],
    options: [],
    examples: [{ line: "detent upload item Products lathe-7", says: "the stored item; --json also shows its upload" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const found = yield* operations.itemOfKind(input.kind, input.id)
      yield* output.value(found, () => `${JSON.stringify(found.item, undefined, 2)}\n`)
    }).pipe(Effect.provide(observing(input))),
)
