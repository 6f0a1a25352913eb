/**
 * The layout of files below the folder of a project. Every path is a template whose variable parts are checked ids, so a path that
 * matches its template cannot leave the folder.
 */

import { ContentHash } from "@detent/blobs/ContentHash"
import * as Schema from "effect/Schema"
import { ArtifactKey, BatchId, DocumentId, Namespace, OntologyName, RunId } from "./Identity.ts"

export const DocumentMetadataPath = Schema.TemplateLiteral(["documents/", DocumentId, "/metadata.json"])
export type DocumentMetadataPath = typeof DocumentMetadataPath.Type

export const DocumentInputPath = Schema.TemplateLiteral(["documents/", DocumentId, "/input/content.txt"])
export type DocumentInputPath = typeof DocumentInputPath.Type

export const DocumentGraphPath = Schema.TemplateLiteral(["documents/", DocumentId, "/extraction/graph.ttl"])
export type DocumentGraphPath = typeof DocumentGraphPath.Type

export const BatchManifestPath = Schema.TemplateLiteral(["batches/", BatchId, "/manifest.json"])
export type BatchManifestPath = typeof BatchManifestPath.Type

/** The records of the batch's documents. */
export const BatchMetadataPath = Schema.TemplateLiteral(["batches/", BatchId, "/metadata.json"])
export type BatchMetadataPath = typeof BatchMetadataPath.Type

export const BatchStatusPath = Schema.TemplateLiteral(["batches/", BatchId, "/status.json"])
export type BatchStatusPath = typeof BatchStatusPath.Type

/** Names that resolution merged into one entity. */
export const BatchMergesPath = Schema.TemplateLiteral(["batches/", BatchId, "/resolution/merges.json"])
export type BatchMergesPath = typeof BatchMergesPath.Type

export const BatchValidationPath = Schema.TemplateLiteral(["batches/", BatchId, "/validation/report.json"])
export type BatchValidationPath = typeof BatchValidationPath.Type

export const BatchCanonicalPath = Schema.TemplateLiteral(["batches/", BatchId, "/canonical/final.ttl"])
export type BatchCanonicalPath = typeof BatchCanonicalPath.Type

export const BatchReportPath = Schema.TemplateLiteral(["batches/", BatchId, "/validation/report.ttl"])
export type BatchReportPath = typeof BatchReportPath.Type

/**
 * Sorted N-Triples that one stage passes to the next. The hash is that of the stage's input: lines from other input, such as that of a
 * later attempt, go to another file, since a version of the graph may name the earlier one.
 */
export const BatchLinesPath = Schema.TemplateLiteral([
  "batches/",
  BatchId,
  "/",
  Schema.Literals(["resolution/merged-", "validation/validated-", "validation/quarantine-", "canonical/reviewed-"]),
  ContentHash,
  ".nt",
])
export type BatchLinesPath = typeof BatchLinesPath.Type

/** The documents that a batch adds to the graph, and those it withdraws. */
export const BatchDocumentsPath = Schema.TemplateLiteral(["batches/", BatchId, "/canonical/documents-", ContentHash, ".json"])
export type BatchDocumentsPath = typeof BatchDocumentsPath.Type

const OntologyEnding = Schema.Literals(["ttl", "nt", "rdf", "jsonld"])

export const OntologyPath = Schema.TemplateLiteral(["ontologies/", Namespace, "/", OntologyName, "/", ContentHash, ".", OntologyEnding])
export type OntologyPath = typeof OntologyPath.Type

/** Inputs of batches other than the ontology, under the hash of their content. */
export const SettingPath = Schema.TemplateLiteral([
  "settings/",
  ContentHash,
  "/",
  Schema.Literals(["shapes.ttl", "examples.jsonl", "mapping.yaml"]),
])
export type SettingPath = typeof SettingPath.Type

export const CanonicalPath = Schema.TemplateLiteral(["canonical/", Namespace, "/entities.ttl"])
export type CanonicalPath = typeof CanonicalPath.Type

/** The pointer to the current version of a graph. */
export const CanonicalPointerPath = Schema.TemplateLiteral(["canonical/", Namespace, "/current.json"])
export type CanonicalPointerPath = typeof CanonicalPointerPath.Type

export const CanonicalVersionPath = Schema.TemplateLiteral(["canonical/", Namespace, "/versions/", ContentHash, ".json"])
export type CanonicalVersionPath = typeof CanonicalVersionPath.Type

/** The number of triples of a version, as text. */
export const CanonicalCountPath = Schema.TemplateLiteral(["canonical/", Namespace, "/counts/", ContentHash, ".txt"])
export type CanonicalCountPath = typeof CanonicalCountPath.Type

/** The visible lines of a contribution, some of whose documents a later batch has replaced. */
export const CanonicalPartPath = Schema.TemplateLiteral(["canonical/", Namespace, "/parts/", ContentHash, ".nt"])
export type CanonicalPartPath = typeof CanonicalPartPath.Type

/** An artifact's path contains the hash of its content, so that writing it twice is idempotent. */
export const ArtifactPath = Schema.TemplateLiteral(["runs/", RunId, "/artifacts/", ContentHash, "/", ArtifactKey])
export type ArtifactPath = typeof ArtifactPath.Type

export const pathsOfDocument = (id: DocumentId) => ({
  metadata: `documents/${id}/metadata.json` satisfies DocumentMetadataPath,
  input: `documents/${id}/input/content.txt` satisfies DocumentInputPath,
  graph: `documents/${id}/extraction/graph.ttl` satisfies DocumentGraphPath,
})

export const pathsOfBatch = (id: BatchId) => ({
  manifest: `batches/${id}/manifest.json` satisfies BatchManifestPath,
  metadata: `batches/${id}/metadata.json` satisfies BatchMetadataPath,
  status: `batches/${id}/status.json` satisfies BatchStatusPath,
  merges: `batches/${id}/resolution/merges.json` satisfies BatchMergesPath,
  validation: `batches/${id}/validation/report.json` satisfies BatchValidationPath,
  canonical: `batches/${id}/canonical/final.ttl` satisfies BatchCanonicalPath,
  report: `batches/${id}/validation/report.ttl` satisfies BatchReportPath,
})

/** The files of a batch's lines, by the hash of the input they were made from. */
export const linesOfBatch = (id: BatchId, from: ContentHash) => ({
  resolved: `batches/${id}/resolution/merged-${from}.nt` satisfies BatchLinesPath,
  validated: `batches/${id}/validation/validated-${from}.nt` satisfies BatchLinesPath,
  quarantine: `batches/${id}/validation/quarantine-${from}.nt` satisfies BatchLinesPath,
  reviewed: `batches/${id}/canonical/reviewed-${from}.nt` satisfies BatchLinesPath,
})

export const pathOfDocuments = (id: BatchId, hash: ContentHash) =>
  `batches/${id}/canonical/documents-${hash}.json` satisfies BatchDocumentsPath

export const pathOfOntology = (
  namespace: Namespace,
  name: OntologyName,
  hash: ContentHash,
  ending: typeof OntologyEnding.Type = "ttl",
): OntologyPath => `ontologies/${namespace}/${name}/${hash}.${ending}`

export const pathsOfSetting = (hash: ContentHash) => ({
  shapes: `settings/${hash}/shapes.ttl` satisfies SettingPath,
  examples: `settings/${hash}/examples.jsonl` satisfies SettingPath,
  mapping: `settings/${hash}/mapping.yaml` satisfies SettingPath,
})

export const pathsOfNamespace = (namespace: Namespace) => ({
  entities: `canonical/${namespace}/entities.ttl` satisfies CanonicalPath,
  pointer: `canonical/${namespace}/current.json` satisfies CanonicalPointerPath,
})

export const pathOfVersion = (namespace: Namespace, version: ContentHash) =>
  `canonical/${namespace}/versions/${version}.json` satisfies CanonicalVersionPath

export const pathOfCount = (namespace: Namespace, version: ContentHash) =>
  `canonical/${namespace}/counts/${version}.txt` satisfies CanonicalCountPath

export const pathOfPart = (namespace: Namespace, of: ContentHash) => `canonical/${namespace}/parts/${of}.nt` satisfies CanonicalPartPath

export const pathOfArtifact = (run: RunId, hash: ContentHash, key: ArtifactKey) =>
  `runs/${run}/artifacts/${hash}/${key}` satisfies ArtifactPath
