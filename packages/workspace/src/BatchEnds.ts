/** Logs one line for each batch that ends in this process, as uploads do. */
import type { EngineService } from "@detent/durable"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

const EndedBatch = Schema.Struct({
  _tag: Schema.Literals(["Completed", "PartiallyCompleted", "Failed", "Cancelled"]),
  batchId: Schema.String,
  documentsTotal: Schema.Int,
  documentsFailed: Schema.Int,
  documentsSetAside: Schema.optionalKey(Schema.Int),
  failedInStage: Schema.optionalKey(Schema.String),
  error: Schema.optionalKey(Schema.Struct({ message: Schema.String })),
})

/** A batch in a final state: only a request can change it again. */
export type EndedBatch = typeof EndedBatch.Type

const decodeEnded = Schema.decodeUnknownOption(EndedBatch)

/** Logs every batch that ends in this engine until the scope closes, and calls `onEnd` with it. */
export const reportBatchEnds = (
  engine: EngineService,
  onEnd: (batch: EndedBatch) => void = () => {},
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const inspector: Parameters<EngineService["inspectUnsafe"]>[0] = (inspection) => {
      if (inspection.machine !== "batch" || inspection._tag !== "Decided" || inspection.decision._tag === "Stay") return
      const ended = Option.getOrUndefined(decodeEnded(inspection.decision.state))
      if (ended === undefined) return
      onEnd(ended)
      run(logged(ended))
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => engine.inspectUnsafe(inspector)),
      (unsubscribe) => Effect.sync(unsubscribe),
    )
  })

const logged = ({ _tag, batchId, documentsTotal, documentsFailed, documentsSetAside = 0, failedInStage, error }: EndedBatch) => {
  const counted = `${documentsTotal} ${documentsTotal === 1 ? "document" : "documents"}`
  switch (_tag) {
    case "Completed":
      return Effect.logInfo(`batch ${batchId} is Completed: ${counted}`)
    case "PartiallyCompleted":
      return Effect.logWarning(
        `batch ${batchId} is PartiallyCompleted: of ${counted}, ${documentsFailed} failed and ${documentsSetAside} were set aside`,
      )
    case "Failed":
      return Effect.logWarning(
        `batch ${batchId} is Failed while ${failedInStage ?? "it started"}: ${error?.message ?? "the cause is not stored"}`,
      )
    case "Cancelled":
      return Effect.logInfo(`batch ${batchId} is Cancelled`)
  }
}
