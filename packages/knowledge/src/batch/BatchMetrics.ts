/**
 * The metrics of this process about batches: batches and documents by result, facts, and durations of stages and documents. A batch
 * event is counted when the log has it, so that a failed write counts nothing.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { add, counter, histogram, timed } from "../Metrics.ts"
import type { BatchEvent } from "./BatchMachine.ts"

const batches = counter("batches", "batches, by outcome: started, completed, failed or cancelled")
const documents = counter("documents", "documents of batches, by outcome: completed, unchanged, failed or set-aside")
const entities = counter("entities", "entities that documents name")
const facts = counter("facts", "facts that documents state")
const triples = counter("triples_ingested", "triples that batches have added to graphs")

const stageMillis = histogram("stage", "how long a stage of a batch took, by stage and outcome")
const documentMillis = histogram("document", "how long the extraction of a document took, by outcome")

/** Exposes the counters with the value 0, so that monitoring sees the first increase. Counters of models appear with their first call. */
export const exposeCounters: Effect.Effect<void> = Effect.gen(function* () {
  for (const outcome of ["started", "completed", "failed", "cancelled"]) yield* add(batches, { outcome }, 0)
  for (const outcome of ["completed", "unchanged", "failed", "set-aside"]) yield* add(documents, { outcome }, 0)
  for (const counted of [entities, facts, triples]) yield* add(counted, {}, 0)
})

/** Counts an event that is in the log. */
export const countEvent = (event: BatchEvent): Effect.Effect<void> => {
  switch (event._tag) {
    case "BatchCreated":
      return add(batches, { outcome: "started" }, 1)
    case "BatchCompleted":
      return add(batches, { outcome: "completed" }, 1)
    case "BatchFailed":
      return add(batches, { outcome: event.end }, 1)
    case "DocumentCompleted":
      return Effect.gen(function* () {
        yield* add(documents, { outcome: "completed" }, 1)
        yield* add(entities, {}, event.entityCount)
        yield* add(facts, {}, event.relationCount)
      })
    case "DocumentsUnchanged":
      return add(documents, { outcome: "unchanged" }, event.documentIds.length)
    case "DocumentFailed":
      return add(documents, { outcome: "failed" }, 1)
    case "DocumentSetAside":
      return add(documents, { outcome: "set-aside" }, 1)
    case "IngestionCompleted":
      return add(triples, {}, event.triplesIngested)
    default:
      return Effect.void
  }
}

/** Measures how long a stage takes in this process. A stage that is resumed after a restart is measured again. */
export const timedStage = <A, E, R>(stage: string, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  timed(work, (outcome, millis) => add(stageMillis, { stage, outcome }, millis))

/** Records how long a stage took that many processes worked on. When two of them end its last parts at the same moment, both count it. */
export const countStage = (stage: string, startedAt: number): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => add(stageMillis, { stage, outcome: "success" }, Math.max(0, now - startedAt)))

export const timedDocument = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  timed(work, (outcome, millis) => add(documentMillis, { outcome }, millis))
