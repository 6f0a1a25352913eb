import * as Effect from "effect/Effect"
import { batchIdOf } from "../../batch/BatchSource.ts"
import { command } from "../../line/Command.ts"
import { knowledge } from "../../workspace/Opening.ts"
import { follow } from "./following.ts"
import { batch } from "./shared.ts"

const { observing } = knowledge

export default command(
  {
    name: "batch watch",
    summary: "follow a batch until it ends; does no work itself",
    detail: "For a batch that a server, a worker or another terminal works on. Ctrl-C stops following; the batch continues.",
    arguments: [batch],
    options: [],
    examples: [{ line: "detent batch watch batch-3f9c2a71b0d4 --json", says: "a line of JSON for each change" }],
  },
  (input) => Effect.flatMap(batchIdOf(input.batch), (id) => follow(input, id)).pipe(Effect.provide(observing(input))),
)
