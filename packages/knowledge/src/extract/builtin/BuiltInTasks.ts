/** The side of the worker of the built-in extractor. */

import type { TaskChannel } from "@detent/durable/ProcessPool"
import * as Result from "effect/Result"
import { OntologyIndex, type PackedOntology } from "../../ontology/OntologyIndex.ts"
import type { Chunk } from "../Extractor.ts"
import type { Fact, Mention } from "../Fact.ts"
import type { BuiltInModel } from "./BuiltInModel.ts"
import { BuiltInReader } from "./BuiltInReader.ts"
import { type Example, type ExamplesText, examplesTask, readExamples } from "./Example.ts"
import type { KnownName } from "./Gazetteer.ts"
import { trainBuiltIn } from "./Training.ts"

/** What the built-in extractor needs for every chunk of a batch. */
export interface SharedReader {
  readonly ontology: PackedOntology
  readonly model: BuiltInModel
  readonly names: ReadonlyArray<KnownName>
}

export interface TrainInput {
  readonly ontology: PackedOntology
  /** The text of a file that was checked, or its examples. */
  readonly examples: ExamplesText | ReadonlyArray<Example>
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

/** What it prepares from shared data it keeps as long as the worker keeps the data. */
export const makeBuiltInTasks = () => {
  // A reader takes longer to prepare than a chunk to read, and is the same for all chunks of a batch.
  const readers = new WeakMap<SharedReader, BuiltInReader>()
  const readerOf = (shared: SharedReader): BuiltInReader => {
    const kept = readers.get(shared)
    if (kept !== undefined) return kept
    const reader = new BuiltInReader(OntologyIndex.unpack(shared.ontology), shared.model, shared.names)
    readers.set(shared, reader)
    return reader
  }
  return {
    examples: examplesTask,
    train: ({ ontology, examples, names }: TrainInput): BuiltInModel =>
      trainBuiltIn(OntologyIndex.unpack(ontology), "text" in examples ? Result.getOrThrow(readExamples(examples)) : examples, { names }),
    read: ({ chunk, leastConfidence }: ReadInput, _: TaskChannel, shared: SharedReader): ReadOutput => {
      const reader = readerOf(shared)
      const mentions = reader.mentions(chunk, leastConfidence)
      return { mentions, facts: reader.factsBetween(chunk, leastConfidence, mentions) }
    },
    facts: ({ chunk, leastConfidence, mentions }: FactsInput, _: TaskChannel, shared: SharedReader) =>
      readerOf(shared).factsBetween(chunk, leastConfidence, mentions),
  }
}
