import * as operations from "@detent/workspace/operations/uploads"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { agreed } from "../../output/Asking.ts"
import { Output } from "../../output/Output.ts"
import { uploadText } from "../../upload/UploadView.ts"
import { changed } from "../../workspace/Changing.ts"
import { uploads as opening } from "../../workspace/Opening.ts"
import { runningServerWith } from "../../workspace/Server.ts"
import { keyOption } from "../shared.ts"
import { changeOf, findUpload, upload } from "./shared.ts"

const { acting, observing } = opening

export default command(
  {
    name: "upload cancel",
    summary: "stop the work of an upload; stored items stay",
    arguments: [upload],
    options: [{ name: "reason", kind: "text", value: "TEXT", summary: "the reason, which `detent upload show` shows" }, keyOption],
    examples: [{ line: "detent upload cancel batch-3f9c2a71b0d4e5f6", says: "asks first; --yes confirms" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const server = yield* runningServerWith(input, "uploads")
      return yield* Effect.gen(function* () {
        yield* findUpload(input.upload)
        yield* agreed(`Stop ${input.upload}? Stored items stay.`)
        const change = changeOf("cancel", input.upload, input.key)
        const path = `${change.path}${reasonQuery(input.reason)}`
        const content = optional({ reason: input.reason })
        yield* changed(server, { ...change, path, content }, operations.cancel(input.upload, input.reason))
        const status = yield* findUpload(input.upload)
        yield* output.value(status, () => uploadText(status, output.style))
      }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
    }),
)

const reasonQuery = (reason: string | undefined): string => (reason === undefined ? "" : `?${new URLSearchParams({ reason })}`)
