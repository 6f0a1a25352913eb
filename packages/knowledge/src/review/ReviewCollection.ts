/** Makes the review list of a batch from the facts that its runs stored for review. */

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { StoredFact } from "../fact/Fact.ts"
import { contentOf } from "../runs/RunArtifacts.ts"
import { RunStore, type StoredReview } from "../runs/RunStore.ts"
import type { BatchId, Namespace } from "../storage/Identity.ts"
import type { ReviewFact } from "./ReviewItem.ts"
import { ReviewStore } from "./ReviewStore.ts"

/** The batch of a list, and the graph that its accepted facts enter. */
interface ListOwner {
  readonly batchId: BatchId
  readonly targetNamespace: Namespace
}

/** Review lists of runs per page. */
const pageSize = 200

/**
 * Makes the review list of a batch from the rows of its documents' runs. Returns how many facts are on the list. A repeated call
 * makes the same list.
 */
export const collectReviews = ({ batchId, targetNamespace }: ListOwner) =>
  Effect.gen(function* () {
    const runs = yield* RunStore
    const reviews = yield* ReviewStore
    yield* reviews.begin(batchId)
    let after: { readonly documentId: string; readonly key: string } | undefined = { documentId: "", key: "" }
    while (after !== undefined) {
      const page: ReadonlyArray<StoredReview> = yield* runs.reviewsOf(batchId, after, pageSize)
      const facts = yield* Effect.forEach(page, (one) => factsOf(one))
      yield* reviews.add(batchId, targetNamespace, facts.flat())
      yield* reviews.carryOver(targetNamespace, facts.flat())
      const last = page.at(-1)
      after = last === undefined || page.length < pageSize ? undefined : { documentId: last.documentId, key: last.artifact.artifact_key }
    }
    yield* reviews.complete(batchId)
    const { open, accepted, rejected } = yield* reviews.counts(batchId)
    return open + accepted + rejected
  })

/** The extractor is stored with each fact: the documents of a batch may have been read by different ones. */
const FoundFacts = Schema.fromJsonString(Schema.Array(Schema.Struct({ ...StoredFact.fields, extractor: Schema.String })))

const factsOf = ({ artifact, reviewBelow, contentHash = "", ...document }: StoredReview) =>
  Effect.gen(function* () {
    const found = yield* Effect.orDie(Schema.decodeEffect(FoundFacts)(yield* contentOf(artifact)))
    return found.map(({ extractor, ...fact }): ReviewFact => ({ ...document, contentHash, extractor, reviewBelow, fact }))
  })
