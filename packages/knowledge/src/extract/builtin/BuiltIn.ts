/**
 * The built-in extractor: offline, and always the same answer to the same question. It knows the ontology's own words and
 * English in general, and learns the rest from examples.
 *
 * ```ts
 * const extractor = BuiltIn.layer({ examples })
 * ```
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { describe } from "../../storage/Describe.ts"
import { ExtractionFailed, Extractor, type ExtractorService, noUsage } from "../Extractor.ts"
import { unreadProse } from "../language/LanguageReader.ts"
import type { BuiltInModel } from "./BuiltInModel.ts"
import { BuiltInReader } from "./BuiltInReader.ts"
import type { Example } from "./Example.ts"
import type { KnownName } from "./Gazetteer.ts"
import { trainBuiltIn } from "./Training.ts"

export interface BuiltInOptions {
  /** Trained beforehand; without it, one is trained on `examples` when an ontology is first met. */
  readonly model?: BuiltInModel
  readonly examples?: ReadonlyArray<Example>
  /** Names known beforehand, from a canonical graph or a list. */
  readonly names?: ReadonlyArray<KnownName>
  /** Facts below are not given at all. Most of them do not hold. */
  readonly leastConfidence?: number
}

export const builtInName = "built-in"

/**
 * Where one more wrong fact does more harm than one more right one does good, going by the mean of precision and recall: with
 * confidences that mean what they say, at half of the mean that is reached. Found on training examples alone, 40 of each of six
 * ontologies in five folds: the weights were fitted to the other five ontologies, the evidence is that of the ontology's other
 * examples. F1 is .262 at .05, .312 at .1, .330 at .15, .326 at .2, .336 at .25 and .311 at .4. The weights that are shipped have
 * seen all six ontologies; judged by them, the same examples look a little better (.352 at .15, .345 at .25).
 */
export const defaultLeastConfidence = 0.15

/** From here on at least three facts in five hold; facts that go into a graph without review should be as sure as this. */
export const highPrecisionConfidence = 0.6

export { noUsage }

export const make = (options: BuiltInOptions = {}): ExtractorService => {
  const least = options.leastConfidence ?? defaultLeastConfidence
  // By the index itself, not by its hash: the part of an ontology that suits a text has the hash of the whole.
  const readers = new WeakMap<OntologyIndex, BuiltInReader>()
  const readerFor = (ontology: OntologyIndex): BuiltInReader => {
    const kept = readers.get(ontology)
    if (kept !== undefined) return kept
    const names = options.names ?? []
    const reader = new BuiltInReader(ontology, options.model ?? trainBuiltIn(ontology, options.examples ?? [], { names }), names)
    readers.set(ontology, reader)
    return reader
  }
  return {
    name: builtInName,
    unread: unreadProse,
    entities: (chunk, ontology) => attempt(() => ({ mentions: readerFor(ontology).mentions(chunk, least), usage: noUsage })),
    facts: (chunk, mentions, ontology) =>
      attempt(() => ({ facts: readerFor(ontology).factsBetween(chunk, least, mentions), usage: noUsage })),
  }
}

export const layer = (options: BuiltInOptions = {}): Layer.Layer<Extractor> => Layer.sync(Extractor, () => make(options))

const attempt = <A>(work: () => A): Effect.Effect<A, ExtractionFailed> =>
  Effect.try({
    try: work,
    catch: (cause) =>
      new ExtractionFailed({
        extractor: builtInName,
        reason: "Bug",
        retryable: false,
        detail: describe(cause),
        cause,
      }),
  })
