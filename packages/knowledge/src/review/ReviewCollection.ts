/** Makes the review list of a batch from what the runs of its documents have stored. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { BatchState } from "../batch/BatchState.ts"
import { contentOf } from "../runs/RunArtifacts.ts"
import { RunStore, type StoredReview } from "../runs/RunStore.ts"
import { type ReviewFact, StoredFact } from "./ReviewFact.ts"
import { ReviewStore } from "./ReviewStore.ts"

/** Runs of an earlier release did not store the name of the extractor with their facts. */
const FoundFacts = Schema.fromJsonString(
  Schema.Array(Schema.Struct({ ...StoredFact.fields, extractor: Schema.optionalKey(Schema.String) })),
)

/** Lists of runs that are read at once. */
const pageSize = 200

/** Gives how many facts are on the list. Made again, it is the same. */
export const collectReviews = ({ batchId, targetNamespace, config }: Pick<BatchState, "batchId" | "targetNamespace" | "config">) =>
  Effect.gen(function* () {
    const runs = yield* RunStore
    const reviews = yield* ReviewStore
    yield* reviews.begin(batchId)
    let after: { readonly documentId: string; readonly key: string } | undefined = { documentId: "", key: "" }
    while (after !== undefined) {
      const page: ReadonlyArray<StoredReview> = yield* runs.reviewsOf(batchId, after, pageSize)
      const facts = yield* Effect.forEach(page, (one) => factsOf(one, config.extractor ?? "built-in"))
      yield* reviews.add(batchId, targetNamespace, facts.flat())
      const last = page.at(-1)
      after = last === undefined || page.length < pageSize ? undefined : { documentId: last.documentId, key: last.artifact.artifact_key }
    }
    yield* reviews.complete(batchId)
    const { open, accepted, rejected } = yield* reviews.counts(batchId)
    return open + accepted + rejected
  })

const factsOf = ({ artifact, reviewBelow, contentHash = "", ...document }: StoredReview, extractor: string) =>
  Effect.gen(function* () {
    const found = yield* Effect.orDie(Schema.decodeEffect(FoundFacts)(yield* contentOf(artifact)))
    return found.map(
      ({ extractor: own = extractor, ...fact }): ReviewFact => ({ ...document, contentHash, extractor: own, reviewBelow, fact }),
    )
  })
