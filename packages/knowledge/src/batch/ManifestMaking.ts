/**
 * From what a person has, a file written by hand or a folder of documents, to the manifest a batch works on. Everything that
 * can be wrong with it is found before anything is started, and told at once.
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { formatOf } from "../document/DocumentReader.ts"
import type { DocumentFormat } from "../document/ReadError.ts"
import { Extractors, readExamples } from "../runs/Extractors.ts"
import { type BatchId, ContentHash, documentIdOf, type Namespace, OntologyName, ontologyVersionOf } from "../storage/Identity.ts"
import { getText, Storage } from "../storage/Storage.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { type BlobReference, resolveReference, type StorageFolder, type StorageUri } from "../storage/Uri.ts"
import { readShapes } from "../validate/Shapes.ts"
import { type Manifest, type ManifestDocument, type ManifestFile, ManifestFileJson } from "./Manifest.ts"
import { ManifestRefused } from "./StageFiles.ts"

export type ManifestError = ManifestRefused

/** How many problems are told at once. */
const problemsAtMost = 20

/** Checks a manifest written by hand, and makes it complete. References in it are beside it. */
export const makeManifest = (
  batchId: BatchId,
  folder: StorageFolder,
  file: ManifestFile,
): Effect.Effect<Manifest, ManifestError, Storage | Extractors> =>
  Effect.gen(function* () {
    const extractors = yield* Extractors
    const at = (reference: BlobReference) => resolveReference(folder, reference)
    const ontologyUri = at(file.ontology)
    const examplesUri = file.examples === undefined ? undefined : at(file.examples)
    const loading = extractors.ontology(ontologyUri)
    const shaclUri = file.shapes === undefined ? undefined : at(file.shapes)
    const beside = yield* Effect.all([
      problemOf(loading),
      problemOf(examplesUri === undefined ? Effect.void : checkExamples(examplesUri)),
      problemOf(shaclUri === undefined ? Effect.void : checkShapes(shaclUri)),
    ])
    const found = yield* Effect.forEach(file.documents, ({ source, contentType }) => Effect.result(documentOf(at(source), contentType)), {
      concurrency: 16,
    })
    const documents = found.flatMap((one) => (Result.isSuccess(one) ? [one.success] : []))
    const problems = [...beside.flat(), ...found.flatMap((one) => (Result.isFailure(one) ? [one.failure] : [])), ...repeated(documents)]
    if (problems.length > 0) {
      const more = problems.length > problemsAtMost ? `; and ${problems.length - problemsAtMost} more` : ""
      return yield* new ManifestRefused({
        uri: folder,
        problem: `${problems.slice(0, problemsAtMost).join("; ")}${more}; correct it and start again`,
      })
    }
    const ontology = yield* Effect.orDie(loading)
    return {
      batchId,
      ontologyUri,
      ontologyVersion: ontologyVersionOf(file.targetNamespace, ontologyNameOf(ontologyUri), ContentHash.make(ontology.hash.slice(0, 16))),
      ...(shaclUri === undefined ? {} : { shaclUri }),
      ...(examplesUri === undefined ? {} : { examplesUri }),
      ...(file.extractor === undefined ? {} : { extractor: file.extractor }),
      targetNamespace: file.targetNamespace,
      documents,
      createdAt: yield* DateTime.now,
    }
  })

const problemOf = <A, R>(check: Effect.Effect<A, { readonly message: string }, R>): Effect.Effect<ReadonlyArray<string>, never, R> =>
  Effect.match(check, { onFailure: ({ message }) => [message], onSuccess: () => [] })

const checkExamples = (uri: StorageUri) =>
  Effect.gen(function* () {
    yield* Effect.fromResult(readExamples(uri, yield* getText(yield* Storage, uri)))
  })

const checkShapes = (uri: StorageUri) =>
  Effect.gen(function* () {
    yield* readShapes(yield* getText(yield* Storage, uri), uri)
  })

const contentTypes: Readonly<Record<DocumentFormat, string>> = {
  txt: "text/plain",
  md: "text/markdown",
  html: "text/html",
  json: "application/json",
  csv: "text/csv",
  pdf: "application/pdf",
}

/** A document as the manifest names it, or what is wrong with it. */
const documentOf = (sourceUri: StorageUri, contentType: string | undefined): Effect.Effect<ManifestDocument, string, Storage> =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const format = yield* Effect.mapError(
      formatOf({ name: sourceUri, ...(contentType === undefined ? {} : { contentType }) }),
      ({ message }) => message,
    )
    const info = yield* Effect.mapError(storage.info(sourceUri), ({ message }) => message)
    if (Option.isNone(info)) return yield* Effect.fail(`there is no document at ${sourceUri}`)
    return { documentId: documentIdOf(sourceUri), sourceUri, contentType: contentType ?? contentTypes[format], sizeBytes: info.value.size }
  })

const repeated = (documents: ReadonlyArray<ManifestDocument>): ReadonlyArray<string> =>
  [...Map.groupBy(documents, ({ documentId }) => documentId).values()].flatMap(([first, ...others]) =>
    first === undefined || others.length === 0 ? [] : [`${first.sourceUri} is named ${others.length + 1} times`],
  )

/** The name before the ending, in the form names have. */
const ontologyNameOf = (uri: StorageUri): OntologyName => {
  const name =
    (uri.split("/").at(-1) ?? "")
      .split(".")[0]
      ?.toLowerCase()
      .replace(/[^a-z0-9_-]+/g, "-")
      .replace(/^[^a-z]+/, "") ?? ""
  return OntologyName.make(name === "" ? "ontology" : name)
}

export const readManifestFile = (uri: StorageUri): Effect.Effect<ManifestFile, StorageError | ManifestRefused, Storage> =>
  Effect.gen(function* () {
    const text = yield* getText(yield* Storage, uri)
    return yield* Effect.mapError(
      Schema.decodeEffect(ManifestFileJson)(text),
      ({ message }) => new ManifestRefused({ uri, problem: `${message}; see the example in the README` }),
    )
  })

/** A manifest for all documents of a folder: what is of no known kind is left out. */
export const manifestOfFolder = (
  folder: StorageFolder,
  options: {
    readonly targetNamespace: Namespace
    readonly ontology: BlobReference
    readonly shapes?: BlobReference
    readonly examples?: BlobReference
  },
): Effect.Effect<ManifestFile, StorageError | ManifestRefused, Storage> =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const apart = new Set(
      [options.ontology, options.shapes, options.examples].filter((one) => one !== undefined).map((one) => resolveReference(folder, one)),
    )
    const blobs = yield* Stream.runCollect(storage.list(folder))
    const named = yield* Effect.filter(blobs, ({ uri }) =>
      apart.has(uri) ? Effect.succeed(false) : Effect.match(formatOf({ name: uri }), { onFailure: () => false, onSuccess: () => true }),
    )
    const [first, ...others] = named.map(({ uri }) => ({ source: uri }))
    if (first === undefined)
      return yield* new ManifestRefused({
        uri: folder,
        problem: "there is no document of a known kind in it (txt, md, html, json, csv, pdf)",
      })
    return { ...options, documents: [first, ...others] }
  })
