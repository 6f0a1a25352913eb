/**
 * The metrics of this process about batches: batches and documents by result, facts, durations of stages and documents, and the
 * calls and cost of models. A batch event is counted when the log has it, so that a failed write counts
 * nothing.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import type { BatchEvent } from "./batch/BatchMachine.ts"
import type { Usage } from "./extract/Extractor.ts"

const counter = (name: string, description: string) => Metric.counter(`detent_${name}_total`, { description, incremental: true })

const batches = counter("batches", "batches, by outcome: started, completed, failed or cancelled")
const documents = counter("documents", "documents of batches, by outcome: completed, unchanged, failed or set-aside")
const entities = counter("entities", "entities that documents name")
const facts = counter("facts", "facts that documents state")
const triples = counter("triples_ingested", "triples that batches have added to graphs")
const modelCalls = counter("model_calls", "calls to models, by model and outcome")
const modelTokens = counter("model_tokens", "tokens that models have read and written, by model and direction: input or output")
const modelCost = counter("model_cost", "cost of models, by model and currency; a call without a known price adds nothing")

/** From 16 milliseconds to four and a half hours, each twice the one before. */
const boundaries = Array.from({ length: 21 }, (_, power) => 16 * 2 ** power)

const histogram = (name: string, description: string) => Metric.histogram(`detent_${name}_milliseconds`, { description, boundaries })

const stageMillis = histogram("stage", "how long a stage of a batch took, by stage and outcome")
const documentMillis = histogram("document", "how long the extraction of a document took, by outcome")
const modelCallMillis = histogram("model_call", "how long a call to a model took, by model and outcome")

type Attributes = Readonly<Record<string, string>>

const add = (metric: Metric.Metric<number, unknown>, attributes: Attributes, amount: number): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(metric, attributes), amount)

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
      return add(batches, { outcome: event.error === "cancelled" ? "cancelled" : "failed" }, 1)
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

export const countUsage = (model: string, currency: string, usage: Usage): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* add(modelTokens, { model, direction: "input" }, usage.inputTokens)
    yield* add(modelTokens, { model, direction: "output" }, usage.outputTokens)
    if (usage.cost !== undefined) yield* add(modelCost, { model, currency }, usage.cost)
  })

/** Measures how long a stage takes in this process. A stage that is resumed after a restart is measured again. */
export const timedStage = <A, E, R>(stage: string, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  timed(work, (outcome, millis) => add(stageMillis, { stage, outcome }, millis))

/** Records how long a stage took that many processes worked on. When two of them end its last parts at the same moment, both count it. */
export const countStage = (stage: string, startedAt: number): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => add(stageMillis, { stage, outcome: "success" }, Math.max(0, now - startedAt)))

export const timedDocument = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  timed(work, (outcome, millis) => add(documentMillis, { outcome }, millis))

/** Counts one attempt at a call, and measures how long it took without the wait for the rate limit. */
export const timedCall = <A, E, R>(model: string, call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  timed(call, (outcome, millis) => Effect.andThen(add(modelCalls, { model, outcome }, 1), add(modelCallMillis, { model, outcome }, millis)))

type Outcome = "success" | "failure" | "interrupt"

const timed = <A, E, R>(
  work: Effect.Effect<A, E, R>,
  record: (outcome: Outcome, millis: number) => Effect.Effect<void>,
): Effect.Effect<A, E, R> =>
  Effect.flatMap(Clock.currentTimeMillis, (startedAt) =>
    Effect.onExit(work, (exit) =>
      Effect.flatMap(Clock.currentTimeMillis, (endedAt) => record(outcomeOf(exit), Math.max(0, endedAt - startedAt))),
    ),
  )

const outcomeOf = (exit: Exit.Exit<unknown, unknown>): Outcome => {
  if (Exit.isSuccess(exit)) return "success"
  return Exit.hasInterrupts(exit) ? "interrupt" : "failure"
}
