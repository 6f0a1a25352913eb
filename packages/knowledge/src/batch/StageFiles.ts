/** What stages read, the manifest of a batch and the graphs of its documents, and the failure that all of them have. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { mergedParts } from "../graph/StoredLines.ts"
import { documentLines } from "../rdf/FactGraph.ts"
import { Extractors } from "../runs/Extractors.ts"
import { type ArtifactError, contentOf, loadArtifact } from "../runs/RunArtifacts.ts"
import type { StoredArtifact } from "../runs/RunRows.ts"
import { RunStore } from "../runs/RunStore.ts"
import type { ArtifactStore } from "../storage/ArtifactStore.ts"
import { type BatchId, RunId } from "../storage/Identity.ts"
import { getText, type StorageError, type StorageService } from "../storage/Storage.ts"
import type { StorageUri } from "../storage/Uri.ts"
import { decodeManifest, type Manifest } from "./Manifest.ts"

/** Why a stage could not be finished, when only a user can help. */
export class BatchStopped extends Schema.TaggedError<BatchStopped>()("BatchStopped", { code: Schema.String, problem: Schema.String }) {
  override get message() {
    return this.problem
  }
}

export class ManifestRefused extends Schema.TaggedError<ManifestRefused>()("ManifestRefused", {
  uri: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `${this.uri} is no manifest that can be worked on: ${this.problem}`
  }
}

export const loadManifest = (storage: StorageService, uri: StorageUri): Effect.Effect<Manifest, StorageError | ManifestRefused> =>
  Effect.flatMap(getText(storage, uri), (text) =>
    Effect.mapError(decodeManifest(text), ({ message }) => new ManifestRefused({ uri, problem: message })),
  )

/** The ontology that a batch started with, or a failure that says that it changed. */
export const startedOntology = ({ ontologyUri, ontologyVersion }: Manifest) =>
  Effect.gen(function* () {
    const ontology = yield* Effect.flatMap(Extractors, (extractors) => extractors.ontology(ontologyUri))
    const hash = ontology.hash.slice(0, 16)
    if (ontologyVersion.endsWith(`@${hash}`)) return ontology
    return yield* new BatchStopped({
      code: "OntologyChanged",
      problem: `${ontologyUri} has changed since the batch started: it has the hash ${hash}, the batch ${ontologyVersion}; restore it and retry, or start a new batch`,
    })
  })

/** How many documents' graphs are fetched at once. */
const pageSize = 200

/** The graph of each document that was extracted, in the order of document ids, each as sorted lines. */
export const documentGraphs = (batch: BatchId) =>
  Stream.unwrap(
    Effect.gen(function* () {
      const runs = yield* RunStore
      const context = yield* Effect.context<RunStore | ArtifactStore>()
      const textOf = (graph: StoredArtifact) =>
        Effect.provide(isWhole(graph) ? contentOf(graph) : loadArtifact(graph.run_id, graph.artifact_key), context).pipe(
          Effect.tapError((error) => (isLoss(error) ? runs.reopen(graph.run_id, graph.artifact_key, error.message) : Effect.void)),
        )
      const linesOf = (graph: StoredArtifact) =>
        Stream.unwrap(Effect.map(textOf(graph), (text) => Stream.fromIterable(text.split("\n").filter((line) => line !== ""))))
      const pageAfter = (after: string) =>
        Effect.tapErrorTag(runs.graphsOf(batch, after, pageSize), "ArtifactMissing", ({ run, key, message }) =>
          runs.reopen(RunId.make(run), key, message),
        )
      const pages = Stream.paginate("", (after) =>
        Effect.map(pageAfter(after), (page) => {
          const last = page.length < pageSize ? undefined : page.at(-1)?.documentId
          return [page, last === undefined ? Option.none<string>() : Option.some<string>(last)] as const
        }),
      )
      // The lines of the document itself sort before those of its entities.
      return Stream.map(pages, ({ graphs, ...document }) =>
        Stream.concat(Stream.fromIterable(documentLines(document)), mergedParts(graphs.map(linesOf))),
      )
    }),
  )

/** What a run has stored and lost: extracting that part again brings it back, when the batch is retried. */
const isLoss = ({ _tag }: ArtifactError) => _tag === "ArtifactDamaged" || _tag === "ArtifactMissing" || _tag === "BlobNotFound"

/** Pages leave out what is not small. */
const isWhole = ({ content, packed }: StoredArtifact) => content !== null || packed !== null
