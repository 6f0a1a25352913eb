/** The built-in extractor on a pool of workers: the same answers, with one worker per processor. */

import type { Shared, TaskLimit, WorkerError } from "@detent/processes"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import type { Chunk } from "../../document/Chunk.ts"
import type { Fact, Mention } from "../../fact/Fact.ts"
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { WorkerPool, type WorkerPoolService } from "../../threads/WorkerPool.ts"
import { ExtractionFailed, Extractor, type ExtractorService, noUsage } from "../Extractor.ts"
import { unreadProse } from "../language/LanguageReader.ts"
import { type BuiltInOptions, builtInName, defaultLeastConfidence } from "./BuiltIn.ts"
import type { BuiltInModel } from "./BuiltInModel.ts"
import type { FactsInput, ReadInput, ReadOutput, SharedReader, TrainInput } from "./BuiltInReader.ts"
import type { ExamplesText } from "./Example.ts"

export interface PooledOptions extends Omit<BuiltInOptions, "examples"> {
  /** Examples, or the text of a checked examples file: the worker that trains reads it. */
  readonly examples?: NonNullable<BuiltInOptions["examples"]> | ExamplesText
}

export const make = (pool: WorkerPoolService, options: PooledOptions = {}): ExtractorService => {
  const leastConfidence = options.leastConfidence ?? defaultLeastConfidence
  const names = options.names ?? []
  // The pool returns the result of the task with that name.
  const ask = <A>(
    task: "built-in.train" | "built-in.read" | "built-in.facts",
    input: unknown,
    shared?: Shared,
    limit: TaskLimit = pool.limits.chunk,
  ) => Effect.mapError(pool.run(task, input, shared, { limit }) as Effect.Effect<A, WorkerError>, failed)
  const prepared = new WeakMap<OntologyIndex, Shared>()
  /** Reading entities finds the facts as well, and callers mostly ask for them next: another worker would have to read the chunk again. */
  const found = new WeakMap<
    ReadonlyArray<Mention>,
    { readonly chunk: Chunk; readonly ontology: OntologyIndex; readonly facts: ReadonlyArray<Fact> }
  >()
  const preparing = Semaphore.makeUnsafe(1)
  const learn = (ontology: OntologyIndex) => {
    const input: TrainInput = { ontology: ontology.pack(), examples: options.examples ?? [], names }
    return options.model === undefined
      ? ask<BuiltInModel>("built-in.train", input, undefined, pool.limits.ontology)
      : Effect.succeed(options.model)
  }
  /** Trains once per ontology. Later callers wait, and one of them takes over if the first is interrupted. */
  const prepare = (ontology: OntologyIndex): Effect.Effect<Shared, ExtractionFailed> =>
    Effect.suspend(() => {
      const known = () => prepared.get(ontology)
      const kept = known()
      if (kept !== undefined) return Effect.succeed(kept)
      return preparing.withPermit(
        Effect.suspend(() => {
          const meanwhile = known()
          if (meanwhile !== undefined) return Effect.succeed(meanwhile)
          return Effect.map(learn(ontology), (model): Shared => {
            const value: SharedReader = { ontology: ontology.pack(), model, names }
            const shared = { value }
            prepared.set(ontology, shared)
            return shared
          })
        }),
      )
    })
  return {
    name: builtInName,
    unread: unreadProse,
    entities: (chunk, ontology) => {
      const input: ReadInput = { chunk, leastConfidence }
      return prepare(ontology).pipe(
        Effect.flatMap((shared) => ask<ReadOutput>("built-in.read", input, shared)),
        Effect.map(({ mentions, facts, misfits }) => {
          found.set(mentions, { chunk, ontology, facts })
          return { mentions, misfits, usage: noUsage }
        }),
      )
    },
    facts: (chunk, mentions, ontology) => {
      const known = found.get(mentions)
      if (known?.chunk === chunk && known.ontology === ontology) return Effect.succeed({ facts: known.facts, usage: noUsage })
      const input: FactsInput = { chunk, leastConfidence, mentions }
      return prepare(ontology).pipe(
        Effect.flatMap((shared) => ask<ReadonlyArray<Fact>>("built-in.facts", input, shared)),
        Effect.map((facts) => ({ facts, usage: noUsage })),
      )
    },
  }
}

export const layer = (options: BuiltInOptions = {}): Layer.Layer<Extractor, never, WorkerPool> =>
  Layer.effect(
    Extractor,
    Effect.map(WorkerPool, (pool) => make(pool, options)),
  )

const failed = (error: WorkerError): ExtractionFailed =>
  error._tag === "LimitExceeded"
    ? new ExtractionFailed({ extractor: builtInName, reason: "LimitExceeded", retryable: false, detail: error.problem, cause: error })
    : new ExtractionFailed({ extractor: builtInName, reason: "Bug", retryable: false, detail: error.message, cause: error })
