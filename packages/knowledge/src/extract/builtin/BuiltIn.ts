/**
 * The built-in extractor: offline and deterministic. It knows the labels of the ontology and English in general, and learns
 * the rest from examples.
 *
 * ```ts
 * const extractor = BuiltIn.layer({ examples })
 * ```
 */

import { describe } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { ExtractionFailed, Extractor, type ExtractorService, noUsage } from "../Extractor.ts"
import { unreadProse } from "../language/LanguageReader.ts"
import type { BuiltInModel } from "./BuiltInModel.ts"
import { BuiltInReader } from "./BuiltInReader.ts"
import type { Example } from "./Example.ts"
import type { KnownName } from "./Gazetteer.ts"
import type { RuleGroup } from "./Prediction.ts"
import { trainBuiltIn } from "./Training.ts"

export interface BuiltInOptions {
  /** A trained model. Default: the extractor trains one on `examples` when it first sees an ontology. */
  readonly model?: BuiltInModel
  readonly examples?: ReadonlyArray<Example>
  /** Names known beforehand, from a canonical graph or a list. */
  readonly names?: ReadonlyArray<KnownName>
  /** Facts below this confidence are dropped: most of them are wrong. Default: 0.15. */
  readonly leastConfidence?: number
  /** Rules to leave out, to measure their effect. Default: none. */
  readonly without?: ReadonlyArray<RuleGroup>
}

export const builtInName = "built-in"

/**
 * Below this confidence a fact lowers F1 more than it raises it. Measured on training examples alone, 40 of each of six ontologies in
 * five folds. Against their labels F1 is .293 at .05, .350 at .1, .375 at .15, .358 at .2 and .313 at .4. The labels leave out facts that
 * the sentences state; with those found counted as well F1 is .534 at .05, .566 at .1, .538 at .15 and .502 at .2.
 */
export const defaultLeastConfidence = 0.15

/**
 * The least confidence for facts that go into a graph without review. In the same measurement the labels agree with three facts in five
 * from here on, and the sentences state nine in ten.
 */
export const highPrecisionConfidence = 0.6

export { noUsage }

export const make = (options: BuiltInOptions = {}): ExtractorService => {
  const least = options.leastConfidence ?? defaultLeastConfidence
  // Keyed by the index itself, not by its hash: the part of an ontology selected for a text has the hash of the whole.
  const readers = new WeakMap<OntologyIndex, BuiltInReader>()
  const readerFor = (ontology: OntologyIndex): BuiltInReader => {
    const kept = readers.get(ontology)
    if (kept !== undefined) return kept
    const names = options.names ?? []
    const model = options.model ?? trainBuiltIn(ontology, options.examples ?? [], { names })
    const reader = new BuiltInReader(ontology, model, names, new Set(options.without))
    readers.set(ontology, reader)
    return reader
  }
  return {
    name: builtInName,
    unread: unreadProse,
    entities: (chunk, ontology) =>
      attempt(() => {
        const reader = readerFor(ontology)
        return { mentions: reader.mentions(chunk, least), misfits: reader.misfits(chunk, least), usage: noUsage }
      }),
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
