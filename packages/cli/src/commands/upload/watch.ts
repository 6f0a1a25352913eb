import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { followElsewhere } from "../../upload/UploadFollowing.ts"
import { uploads as opening, placeText } from "../../workspace/Opening.ts"
import { findUpload, upload } from "./shared.ts"

const { observing } = opening

/** Only reads: another process works on the upload. */
export default command(
  {
    name: "upload watch",
    summary: "follow an upload until it ends; does no work itself",
    detail: "For an upload that a server, a worker or another terminal works on. Ctrl-C stops following; the upload continues.",
    arguments: [upload],
    options: [],
    examples: [{ line: "detent upload watch batch-09ab41cc02 --json", says: "a line of JSON for each change" }],
  },
  (input) =>
    Effect.andThen(findUpload(input.upload), followElsewhere(input.upload, input)).pipe(
      Effect.onInterrupt(() =>
        Effect.flatMap(Output, ({ note }) =>
          note(`No longer watching. Watch again with: detent upload watch ${input.upload}${placeText(input)}`),
        ),
      ),
      Effect.provide(observing(input)),
    ),
)
