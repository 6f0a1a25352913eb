/** The extraction without durability: a loop over the chunks of a text, and the graph as a string. */
import { readFile } from "node:fs/promises"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as BuiltIn from "../../../packages/knowledge/src/builtin/BuiltIn.ts"
import { chunkText } from "../../../packages/knowledge/src/chunk/Chunking.ts"
import { documentIdOf, RunId } from "../../../packages/knowledge/src/domain/Identity.ts"
import { defaultPipelineConfig } from "../../../packages/knowledge/src/domain/Run.ts"
import type { Chunk, ExtractorService } from "../../../packages/knowledge/src/Extractor.ts"
import type { OntologyIndex } from "../../../packages/knowledge/src/ontology/OntologyIndex.ts"
import { loadOntology } from "../../../packages/knowledge/src/ontology/OntologyLoading.ts"
import { factTriples, mentionTriples } from "../../../packages/knowledge/src/rdf/FactGraph.ts"
import { writeNTriples } from "../../../packages/knowledge/src/rdf/RdfWriting.ts"
import { readExamples } from "../../../packages/knowledge/src/run/Extractors.ts"
import { examplesFile, ontologyFile } from "./Texts.ts"

export interface Plain {
  readonly extractor: ExtractorService
  readonly ontology: OntologyIndex
}

export const plain: Effect.Effect<Plain> = Effect.gen(function* () {
  const [ontologyText, examplesText] = yield* Effect.promise(() =>
    Promise.all([readFile(ontologyFile, "utf8"), readFile(examplesFile, "utf8")]),
  )
  const ontology = yield* loadOntology({ name: ontologyFile, text: ontologyText })
  const examples = yield* Effect.fromResult(readExamples(examplesFile, examplesText))
  return { ontology, extractor: BuiltIn.make({ examples }) }
}).pipe(Effect.orDie)

/** The entities and facts of one chunk. */
export const extractChunk = ({ extractor, ontology }: Plain, chunk: Chunk) =>
  Effect.gen(function* () {
    const { mentions } = yield* extractor.entities(chunk, ontology)
    const { facts } = yield* extractor.facts(chunk, mentions, ontology)
    return { mentions, facts }
  })

/** The graph of a file, as the text a run would store. */
export const extractPlainly = (own: Plain, file: string): Effect.Effect<string> =>
  Effect.gen(function* () {
    const text = yield* Effect.promise(() => readFile(file, "utf8"))
    const source = {
      documentId: documentIdOf(file),
      runId: RunId.make("00000000-0000-8000-a000-000000000000"),
      extractor: own.extractor.name,
    }
    const triples = []
    const { windowSize, overlap, reviewBelow } = defaultPipelineConfig
    for (const chunk of chunkText(text, { size: windowSize, overlap })) {
      const { mentions, facts } = yield* extractChunk(own, chunk)
      for (const mention of mentions) triples.push(...mentionTriples(mention, source))
      triples.push(
        ...factTriples(
          facts.filter(({ confidence }) => confidence >= reviewBelow),
          source,
        ),
      )
    }
    return yield* Stream.mkString(writeNTriples(Stream.fromIterable(triples)))
  }).pipe(Effect.orDie)
