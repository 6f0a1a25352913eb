/** Simulated handlers of the batch's slots: they take time, find entities and fail, but read and write no data. */
import type { Self } from "@detent/machine"
import * as Effect from "effect/Effect"
import { Batch, E } from "./Batch.ts"
import type { BatchEvent } from "./BatchEvent.ts"

/** The behaviour of the simulation, and the receivers of its output. */
export interface World {
  readonly millisPerDocument: number
  readonly isBroken: (documentId: string) => boolean
  readonly emit: (event: BatchEvent) => void
  readonly persist: (batchId: string, status: string) => void
}

/** The batch machine in a simulated world. */
export const simulated = (world: World) =>
  Batch.build({
    canRetry: ({ maxRetries }, { state }) => "retryCount" in state && state.retryCount < maxRetries,
    isResolutionEnabled: (_, { state }) => "config" in state && state.config.enableEntityResolution,

    emitBatchEvent: ({ event }) => Effect.sync(() => world.emit(event)),
    persistState: ({ batchId, status }) => Effect.sync(() => world.persist(batchId, status)),

    processDocuments: ({ documentIds, config }, { self }) =>
      Effect.gen(function* () {
        const onFailure = config.failurePolicy === "abort-all" ? abort : reportFailure
        const extractions = yield* Effect.forEach(
          documentIds,
          (documentId) =>
            extract(world, documentId).pipe(
              Effect.tap((found) => tell(self, E.DocumentCompleted({ documentId, ...found }))),
              Effect.catch((error) => onFailure(self, documentId, error)),
            ),
          { concurrency: config.concurrency },
        )
        const successes = extractions.filter((found) => found !== undefined)
        yield* tell(
          self,
          E.ExtractionComplete({
            successCount: successes.length,
            failureCount: extractions.length - successes.length,
            totalEntityCount: sum(successes.map((found) => found.entityCount)),
            totalRelationCount: sum(successes.map((found) => found.relationCount)),
          }),
        )
      }),

    runResolution: (_, { self }) =>
      Effect.andThen(Effect.sleep(world.millisPerDocument), () => tell(self, E.ResolutionComplete({ mergeCount: 1 }))),
  })

interface Found {
  readonly entityCount: number
  readonly relationCount: number
}

const extract = (world: World, documentId: string): Effect.Effect<Found, string> =>
  Effect.andThen(
    Effect.sleep(world.millisPerDocument),
    Effect.suspend(() =>
      world.isBroken(documentId) ? Effect.fail(`${documentId} cannot be read`) : Effect.succeed({ entityCount: 3, relationCount: 2 }),
    ),
  )

const reportFailure = (self: Self<typeof E.Type>, documentId: string, error: string) =>
  Effect.as(tell(self, E.DocumentFailed({ documentId, error })), undefined)

/** Fails the batch: it leaves Extracting, which ends the work on all other documents. */
const abort = (self: Self<typeof E.Type>, documentId: string, error: string) =>
  Effect.andThen(reportFailure(self, documentId, error), tell(self, E.Fail({ error })))

/** The batch accepts these events as long as this work runs, so a refusal is a mistake in this file. */
const tell = (self: Self<typeof E.Type>, event: typeof E.Type) => Effect.orDie(self.send(event))

const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((total, one) => total + one, 0)
