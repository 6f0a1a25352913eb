import type { BatchId, DocumentId } from "@detent/knowledge"
import * as operations from "@detent/workspace/operations/batches"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import { batchIdOf } from "../../batch/BatchSource.ts"
import { type ModelInput, noBaseUrl, selectionOf } from "../../batch/BatchStarting.ts"
import { WrongUsage } from "../../Failure.ts"
import { changed } from "../../workspace/Changing.ts"
import { knowledge, type Place } from "../../workspace/Opening.ts"
import { neededServer, runningServerWith } from "../../workspace/Server.ts"
import { keyOption } from "../shared.ts"
import { followOnServer, workOn } from "./following.ts"
import { changeOf } from "./shared.ts"

const { observing, working } = knowledge

/** The options of `batch retry` and `batch resume`. */
export const restartOptions = [
  { name: "budget", kind: "text", value: "AMOUNT", summary: "a larger budget for models, such as 10usd" },
  { name: "base-url", kind: "text", value: "URL", summary: "another address of its model" },
  { name: "detach", kind: "flag", summary: "leave the work to the running server of this workspace, and do not follow it" },
  keyOption,
] as const

/** Retries or resumes a batch: on the server, if one runs; otherwise in this process. */
export const restart = (
  input: Place & ModelInput & { readonly batch: string; readonly detach: boolean; readonly key: string | undefined },
  operation: "retry" | "resume",
  documents?: ReadonlyArray<DocumentId>,
) =>
  Effect.gen(function* () {
    const id = yield* batchIdOf(input.batch)
    const { budget, baseUrl } = yield* selectionOf(input)
    const changes = { ...(budget === undefined ? {} : { budget }), ...(baseUrl === undefined ? {} : { baseUrl }) }
    const server = input.detach ? yield* neededServer(input, "knowledge") : yield* runningServerWith(input, "knowledge")
    if (server !== undefined && budget !== undefined && documents !== undefined)
      return yield* new WrongUsage({
        problem: "a server does not take --budget and --documents together",
        nextStep: "retry with --budget first",
      })
    const asked = { ...changes, ...optional({ documents }) }
    const json = Object.keys(asked).length === 0 ? undefined : asked
    const change = changed(
      server,
      { ...changeOf(budget === undefined ? operation : "raiseBudget", id, input.key), json },
      operation === "retry" ? operations.retry(id, asked) : operations.resume(id, changes),
    )
    if (server !== undefined) {
      yield* noBaseUrl(input)
      const isResting = yield* Effect.provide(needsEvent(id, operation), observing(input))
      if (isResting) yield* Effect.provide(change, observing(input))
      return yield* followOnServer(input, id)
    }
    return yield* Effect.gen(function* () {
      if (yield* needsEvent(id, operation)) yield* change
      return yield* workOn(input, id)
    }).pipe(Effect.provide(working(input)))
  })

/** Whether the batch needs an event to run again. A batch whose process was stopped needs none: the next process resumes it. */
const needsEvent = (id: BatchId, operation: "retry" | "resume") =>
  Effect.map(
    operations.state(id),
    ({ _tag }) => operation === "retry" || _tag === "Failed" || _tag === "Cancelled" || _tag === "PartiallyCompleted",
  )
