import { UploadComplete } from "@detent/workspace/errors"
import * as operations from "@detent/workspace/operations/uploads"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { changed } from "../../workspace/Changing.ts"
import { uploads as opening } from "../../workspace/Opening.ts"
import { neededServer, runningServerWith } from "../../workspace/Server.ts"
import { keyOption } from "../shared.ts"
import { followOnServer, workOn } from "./following.ts"
import { changeOf, findUpload, upload } from "./shared.ts"

const { observing, working } = opening

export default command(
  {
    name: "upload retry",
    summary: "retry refused items or a failed upload; resume a stopped upload",
    arguments: [upload],
    options: [
      { name: "detach", kind: "flag", summary: "leave the work to the running server of this workspace, and do not follow it" },
      keyOption,
    ],
    examples: [{ line: "detent upload retry batch-09ab41cc02", says: "retries only items that are not stored yet" }],
  },
  (input) =>
    Effect.gen(function* () {
      const server = input.detach ? yield* neededServer(input, "uploads") : yield* runningServerWith(input, "uploads")
      const retried = changed(server, changeOf("retry", input.upload, input.key), operations.retry(input.upload))
      if (server !== undefined) {
        const { state } = yield* Effect.provide(findUnfinished(input), observing(input))
        if (needsEvent(state)) yield* Effect.provide(retried, observing(input))
        return yield* followOnServer(input, input.upload)
      }
      return yield* Effect.gen(function* () {
        const { state } = yield* findUnfinished(input)
        if (needsEvent(state)) yield* retried
        return yield* workOn(input, input.upload)
      }).pipe(Effect.provide(working(input)))
    }),
)

/** Whether the upload needs an event to run again. An upload whose process was stopped needs none: the next process resumes it. */
const needsEvent = (state: string): boolean => state === "failed" || state === "partially_completed" || state === "completed"

/** Refuses a completed upload, except with a key: then the request may be a repeated one, which returns its first answer. */
const findUnfinished = ({ upload: id, key }: { readonly upload: string; readonly key: string | undefined }) =>
  Effect.flatMap(findUpload(id), (status) =>
    status.state === "completed" && key === undefined
      ? Effect.fail(new UploadComplete({ batchId: id, stored: status.items.stored }))
      : Effect.succeed(status),
  )
