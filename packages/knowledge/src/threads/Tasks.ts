/** The work of this package that threads can do. */
import * as Effect from "effect/Effect"
import type { BuiltInModel } from "../extract/builtin/BuiltInModel.ts"
import { BuiltInReader } from "../extract/builtin/BuiltInReader.ts"
import type { Example } from "../extract/builtin/Example.ts"
import type { KnownName } from "../extract/builtin/Gazetteer.ts"
import { trainBuiltIn } from "../extract/builtin/Training.ts"
import type { Chunk } from "../extract/Extractor.ts"
import type { Fact, Mention } from "../extract/Fact.ts"
import type { Ontology } from "../ontology/Ontology.ts"
import { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { loadOntology, type OntologySource } from "../ontology/OntologyLoading.ts"
import type { TaskHandler } from "./Serving.ts"

/** What the built-in extractor needs for every chunk of a batch. */
export interface SharedReader {
  readonly ontology: Ontology
  readonly model: BuiltInModel
  readonly names: ReadonlyArray<KnownName>
}

export interface TrainInput {
  readonly ontology: Ontology
  readonly examples: ReadonlyArray<Example>
  readonly names: ReadonlyArray<KnownName>
}

export interface ReadInput {
  readonly chunk: Chunk
  readonly leastConfidence: number
}

export interface ReadOutput {
  readonly mentions: ReadonlyArray<Mention>
  /** Between those mentions. */
  readonly facts: ReadonlyArray<Fact>
}

export interface FactsInput extends ReadInput {
  readonly mentions: ReadonlyArray<Mention>
}

/** The tasks of one thread. What it prepares from shared data it keeps as long as it keeps the data. */
export const makeTasks = () => {
  // A reader takes longer to prepare than a chunk to read, and is the same for all chunks of a batch.
  const readers = new WeakMap<SharedReader, BuiltInReader>()
  const readerOf = (shared: SharedReader): BuiltInReader => {
    const kept = readers.get(shared)
    if (kept !== undefined) return kept
    const reader = new BuiltInReader(new OntologyIndex(shared.ontology), shared.model, shared.names)
    readers.set(shared, reader)
    return reader
  }
  return {
    "ontology.load": (source: OntologySource) => Effect.runPromise(Effect.map(loadOntology(source), (index) => index.toJSON())),
    "built-in.train": ({ ontology, examples, names }: TrainInput) => trainBuiltIn(new OntologyIndex(ontology), examples, { names }),
    "built-in.read": ({ chunk, leastConfidence }: ReadInput, shared: SharedReader): ReadOutput => {
      const reader = readerOf(shared)
      const mentions = reader.mentions(chunk, leastConfidence)
      return { mentions, facts: reader.factsBetween(chunk, leastConfidence, mentions) }
    },
    "built-in.facts": ({ chunk, leastConfidence, mentions }: FactsInput, shared: SharedReader) =>
      readerOf(shared).factsBetween(chunk, leastConfidence, mentions),
  } satisfies Record<string, TaskHandler>
}

export type TaskName = keyof ReturnType<typeof makeTasks>
