/**
 * The ids of batches, documents, runs and ontologies. Each is a branded string of one exact form, so that it can be part of a path,
 * an address or a database row without being checked again.
 */
import { createHash } from "node:crypto"
import type { ContentHash } from "@detent/blobs/ContentHash"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"

export const BatchId = Schema.String.check(Schema.isPattern(/^batch-[a-f0-9]{12}$/u)).pipe(Schema.brand("BatchId"))
export type BatchId = typeof BatchId.Type

export const DocumentId = Schema.String.check(Schema.isPattern(/^doc-[a-f0-9]{12}$/u)).pipe(Schema.brand("DocumentId"))
export type DocumentId = typeof DocumentId.Type

/** A run's id is a UUID. */
export const RunId = Schema.String.check(Schema.isPattern(/^[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}$/u)).pipe(
  Schema.brand("RunId"),
)
export type RunId = typeof RunId.Type

/** Names are parts of file names, of which file systems allow 255 bytes. */
const isShort = Schema.isMaxLength(200)

/** The name of a graph that collects facts of one subject area: `harbours`, `medical-devices`. */
export const Namespace = Schema.String.check(Schema.isPattern(/^[a-z][a-z0-9-]*$/u), isShort).pipe(Schema.brand("Namespace"))
export type Namespace = typeof Namespace.Type

export const OntologyName = Schema.String.check(Schema.isPattern(/^[a-z][a-z0-9_-]*$/u), isShort).pipe(Schema.brand("OntologyName"))
export type OntologyName = typeof OntologyName.Type

/** An ontology with a specific content: `football/ontology@a1b2c3d4e5f6a7b8`. */
export const OntologyVersion = Schema.String.check(Schema.isPattern(/^[a-z][a-z0-9-]*\/[a-z][a-z0-9_-]*@[a-f0-9]{16}$/u)).pipe(
  Schema.brand("OntologyVersion"),
)
export type OntologyVersion = typeof OntologyVersion.Type

/** The name of an artifact of a run: `batch_0.ttl`, `entity_snapshot_3.json`. */
export const ArtifactKey = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$/u),
  Schema.isMaxLength(128),
).pipe(Schema.brand("ArtifactKey"))
export type ArtifactKey = typeof ArtifactKey.Type

/** Deterministic: the same source has the same document id in every batch. */
export const documentIdOf = (source: string): DocumentId => DocumentId.make(`doc-${sha256(source).slice(0, 12)}`)

export const newBatchId: Effect.Effect<BatchId> = Effect.map(
  Effect.all([Random.nextIntBetween(0, 0xffffff), Random.nextIntBetween(0, 0xffffff)]),
  (halves) => BatchId.make(`batch-${halves.map((half) => half.toString(16).padStart(6, "0")).join("")}`),
)

/** Deterministic: one attempt at one document of one batch always has the same run id, so that a repeated request starts one run. */
export const runIdOf = (key: { readonly batchId: BatchId; readonly documentId: DocumentId; readonly attempt: number }): RunId => {
  const hex = sha256(`${key.batchId}/${key.documentId}/${key.attempt}`)
  // UUID version 8: the application chooses the bits.
  return RunId.make(`${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`)
}

export const ontologyVersionOf = (namespace: Namespace, name: OntologyName, hash: ContentHash): OntologyVersion =>
  OntologyVersion.make(`${namespace}/${name}@${hash}`)

const sha256 = (content: string): string => createHash("sha256").update(content).digest("hex")
