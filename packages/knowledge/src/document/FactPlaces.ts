/**
 * Where facts stand in the sources of their documents: a cell of a table, a value in JSON, a page, or characters. A graph has the places
 * of facts in the text that a document was read as; this reads the document once more and follows the words back.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Place, Span } from "../extract/Fact.ts"
import { contentHashOf } from "../storage/Identity.ts"
import type { StorageService } from "../storage/Storage.ts"
import { StorageUri } from "../storage/Uri.ts"
import type { WorkerPoolService } from "../threads/WorkerPool.ts"
import { largestWhole } from "./DocumentReader.ts"
import { readPlaces } from "./WorkerReading.ts"

/** The words of a fact, and the version of the document that they stand in. */
interface SourcedSpan extends Span {
  readonly source?: string
  readonly contentHash?: string
}

/** Each document is read as a whole. */
const mostDocuments = 20

/**
 * The places of each fact, in order. Absent where the document is gone, has changed since or cannot be read, and of all documents but
 * the first twenty.
 */
export const placesOfFacts = <Fact extends SourcedSpan>(
  storage: StorageService,
  pool: Option.Option<WorkerPoolService>,
  facts: ReadonlyArray<Fact>,
): Effect.Effect<ReadonlyMap<Fact, ReadonlyArray<Place>>> =>
  Effect.gen(function* () {
    const found = new Map<Fact, ReadonlyArray<Place>>()
    const documents = [...Map.groupBy(facts, ({ source, contentHash }) => `${contentHash} ${source}`).values()]
    for (const spans of documents.slice(0, mostDocuments)) {
      const places = yield* placesIn(storage, pool, spans)
      for (const [index, place] of (places ?? []).entries()) {
        const fact = spans[index]
        if (fact !== undefined) found.set(fact, place)
      }
    }
    return found
  })

const isStorageUri = Schema.is(StorageUri)

const placesIn = (storage: StorageService, pool: Option.Option<WorkerPoolService>, facts: ReadonlyArray<SourcedSpan>) =>
  Effect.gen(function* () {
    const { source, contentHash } = facts[0] ?? {}
    if (!isStorageUri(source)) return undefined
    const info = yield* storage.info(source)
    if (Option.isNone(info) || info.value.size > largestWhole) return undefined
    const { bytes } = yield* storage.get(source)
    if (contentHashOf(bytes) !== contentHash) return undefined
    const spans = facts.map(({ start, end }) => ({ start, end }))
    return yield* readPlaces(pool, { source: { name: source }, bytes, spans })
  }).pipe(
    // What cannot be read has no places: the fact itself is known without them.
    Effect.catch((error) => Effect.as(Effect.logDebug("the places of facts are not known", error), undefined)),
  )
