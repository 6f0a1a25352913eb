/**
 * Makes the manifest of a batch from a file written by hand or a folder of documents. All problems are found before the batch
 * starts, and reported in one error.
 */

import { type ContentHash, contentHashOf } from "@detent/blobs/ContentHash"
import {
  type BlobReference,
  blobIn,
  getHashedText,
  getText,
  ifAbsent,
  ifGeneration,
  resolveReference,
  Storage,
  type StorageError,
  type StorageFolder,
  type StorageUri,
} from "@detent/blobs/Storage"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { formatOf } from "../document/DocumentReader.ts"
import type { DocumentFormat } from "../document/ReadError.ts"
import { checkExamples } from "../extract/builtin/Example.ts"
import { compileMapping } from "../mapping/CompiledMapping.ts"
import { factMappingText, readFactMapping } from "../mapping/FactMapping.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { formatOf as rdfFormatOf } from "../ontology/OntologyLoading.ts"
import { Extractors } from "../runs/Extractors.ts"
import { type BatchId, documentIdOf, type Namespace, OntologyName, ontologyVersionOf } from "../storage/Identity.ts"
import { pathOfOntology, pathsOfSetting } from "../storage/Paths.ts"
import { checkShapes } from "../validate/WorkerValidation.ts"
import { BatchStopped } from "./BatchState.ts"
import { decodeManifest, decodeManifestFile, type Manifest, type ManifestDocument, type ManifestFile, ManifestRefused } from "./Manifest.ts"

export type ManifestError = ManifestRefused

/** Returns the ontology that the batch started with. Fails when the file has changed since. */
export const startedOntology = ({ ontologyUri, ontologyVersion }: Manifest) =>
  Effect.gen(function* () {
    const ontology = yield* Effect.flatMap(Extractors, (extractors) => extractors.ontology(ontologyUri))
    const hash = ontology.hash.slice(0, 16)
    if (ontologyVersion.endsWith(`@${hash}`)) return ontology
    return yield* new BatchStopped({
      code: "OntologyChanged",
      problem: `${ontologyUri} has changed since the batch started: its hash is ${hash}, and the batch started with ${ontologyVersion}; restore it and retry, or start a new batch`,
    })
  })

/** How many problems one error lists. */
const problemsAtMost = 20

/** Checks a manifest written by hand, and adds the derived fields. References in it are resolved against `folder`. */
export const makeManifest = (
  batchId: BatchId,
  folder: StorageFolder,
  file: ManifestFile,
): Effect.Effect<Manifest, ManifestError, Storage | Extractors> => checkedManifest(batchId, folder, file, ({ uri }) => Effect.succeed(uri))

/**
 * Like `makeManifest`, and stores copies of ontology, shapes and examples below `home` under their hash: files that are changed or
 * deleted later do not affect a batch that has started.
 */
export const fixManifest = (
  home: StorageFolder,
  batchId: BatchId,
  folder: StorageFolder,
  file: ManifestFile,
): Effect.Effect<Manifest, ManifestError, Storage | Extractors> =>
  Effect.map(
    checkedManifest(batchId, folder, file, (one) => keep(blobIn(home, pathOfFixed(file.targetNamespace, one)), one)),
    (manifest) => ({ ...manifest, ontologySource: resolveReference(folder, file.ontology) }),
  )

/** An input file of a batch, with its content when the batch started. */
interface FixedFile {
  readonly kind: "ontology" | "shapes" | "examples" | "mapping"
  readonly uri: StorageUri
  readonly text: string
  readonly hash: ContentHash
}

const endings = { turtle: "ttl", ntriples: "nt", rdfxml: "rdf", jsonld: "jsonld" } as const

const pathOfFixed = (namespace: Namespace, { kind, uri, text, hash }: FixedFile): string =>
  kind === "ontology" ? pathOfOntology(namespace, ontologyNameOf(uri), hash, endings[rdfFormatOf(uri, text)]) : pathsOfSetting(hash)[kind]

/** Writes the file unless it is stored already with the same hash. */
const keep = (uri: StorageUri, { text, hash }: FixedFile) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    yield* storage.set(uri, text, ifAbsent).pipe(
      Effect.catchTag("PreconditionFailed", () =>
        Effect.filterOrElse(
          storage.get(uri),
          (kept) => kept.hash === hash,
          (kept) => storage.set(uri, text, ifGeneration(kept.generation)),
        ),
      ),
    )
    return uri
  })

type Fix = (file: FixedFile) => Effect.Effect<StorageUri, StorageError, Storage>

const checkedManifest = (batchId: BatchId, folder: StorageFolder, file: ManifestFile, fix: Fix) =>
  Effect.gen(function* () {
    const extractors = yield* Extractors
    const storage = yield* Storage
    /** Errors name the file of the manifest, not its stored copy. */
    const fixed = <A, E extends { readonly message: string }, R>(
      kind: FixedFile["kind"],
      reference: BlobReference | undefined,
      check: (uri: StorageUri, text: string) => Effect.Effect<A, E, R>,
    ) =>
      Effect.gen(function* () {
        if (reference === undefined) return undefined
        const uri = resolveReference(folder, reference)
        const one = { kind, uri, ...(yield* getHashedText(storage, uri)) }
        const copy = yield* fix(one)
        const found = yield* Effect.mapError(check(copy, one.text), ({ message }) => ({ message: message.replaceAll(copy, uri) }))
        return { ...one, copy, found }
      }).pipe(
        Effect.mapError(({ message }) => message),
        Effect.result,
      )
    const [ontology, examples, shapes] = yield* Effect.all([
      fixed("ontology", file.ontology, (uri) => extractors.ontology(uri)),
      fixed("examples", file.examples, (uri, text) => checkExamples({ uri, text })),
      fixed("shapes", file.shapes, (source, text) => checkShapes({ text, source })),
    ])
    const mapping = yield* mappingFixed(folder, file.mapping, fix, Result.isSuccess(ontology) ? ontology.success?.found : undefined)
    const found = yield* Effect.forEach(
      file.documents,
      ({ source, contentType }) => Effect.result(documentOf(resolveReference(folder, source), contentType)),
      { concurrency: 16 },
    )
    const documents = found.flatMap((one) => (Result.isSuccess(one) ? [one.success] : []))
    const files: ReadonlyArray<Result.Result<unknown, string>> = [ontology, examples, shapes, mapping]
    const problems = [
      ...files.flatMap((one) => (Result.isFailure(one) ? [one.failure] : [])),
      ...found.flatMap((one) => (Result.isFailure(one) ? [one.failure] : [])),
      ...repeated(documents),
    ]
    if (
      problems.length > 0 ||
      Result.isFailure(ontology) ||
      Result.isFailure(examples) ||
      Result.isFailure(shapes) ||
      Result.isFailure(mapping)
    ) {
      const more = problems.length > problemsAtMost ? `; and ${problems.length - problemsAtMost} more` : ""
      return yield* new ManifestRefused({
        uri: folder,
        problem: `${problems.slice(0, problemsAtMost).join("; ")}${more}; correct it and start again`,
      })
    }
    const { targetNamespace, collection, keepMissing, listedAt } = file
    const { uri, hash, copy, found: index } = yield* Effect.orDie(Effect.fromNullishOr(ontology.success))
    if (examples.success !== undefined) yield* warnOfRelations(examples.success.uri, examples.success.found, index)
    return {
      batchId,
      ontologyUri: copy,
      ontologyVersion: ontologyVersionOf(targetNamespace, ontologyNameOf(uri), hash),
      ...(shapes.success === undefined ? {} : { shaclUri: shapes.success.copy }),
      ...(examples.success === undefined ? {} : { examplesUri: examples.success.copy, examplesHash: examples.success.hash }),
      ...(mapping.success === undefined ? {} : { mappingUri: mapping.success.copy, mappingHash: mapping.success.hash }),
      ...(file.extractor === undefined ? {} : { extractor: file.extractor }),
      targetNamespace,
      documents,
      ...(collection === undefined ? {} : { collection }),
      ...(keepMissing === undefined ? {} : { keepMissing }),
      ...(listedAt === undefined ? {} : { listedAt }),
      createdAt: yield* DateTime.now,
    } satisfies Manifest
  })

/** The mapping of a manifest, which is a file or stands in the manifest itself, with its text. */
export const mappingIn = (folder: StorageFolder, given: NonNullable<ManifestFile["mapping"]>) =>
  Effect.gen(function* () {
    const uri = typeof given === "string" ? resolveReference(folder, given) : blobIn(folder, "manifest.json")
    const name = typeof given === "string" ? uri : `the mapping of ${uri}`
    const { text, hash } =
      typeof given === "string"
        ? yield* getHashedText(yield* Storage, uri)
        : yield* Effect.map(factMappingText(given), (yaml) => ({ text: yaml, hash: contentHashOf(yaml) }))
    return { name, uri, text, hash, mapping: yield* readFactMapping(name, text) }
  })

/** Stores the mapping of a manifest, and checks it. */
const mappingFixed = (folder: StorageFolder, given: ManifestFile["mapping"], fix: Fix, ontology: OntologyIndex | undefined) =>
  Effect.gen(function* () {
    if (given === undefined) return undefined
    const { name, uri, text, hash, mapping } = yield* mappingIn(folder, given)
    if (ontology !== undefined) yield* Effect.fromResult(compileMapping(name, mapping, ontology))
    return { copy: yield* fix({ kind: "mapping", uri, text, hash }), hash }
  }).pipe(
    Effect.mapError(({ message }) => message),
    Effect.result,
  )

/** How many relations one warning names. */
const relationsAtMost = 5

/** Logs a warning about relations of examples that are not in the ontology: the extractor learns nothing from their facts. */
const warnOfRelations = (uri: StorageUri, relations: ReadonlyArray<string>, ontology: OntologyIndex): Effect.Effect<void> => {
  const unknown = relations.filter((one) => !ontology.properties.has(one) && ontology.withLabel(one).properties.length === 0)
  if (unknown.length === 0) return Effect.void
  const named = unknown.slice(0, relationsAtMost).map((one) => JSON.stringify(one))
  const more = unknown.length > relationsAtMost ? ` and ${unknown.length - relationsAtMost} more` : ""
  return Effect.logWarning(
    `${uri}: the ontology has no property ${named.join(", ")}${more}, so these facts of the examples are ignored; name the label or the IRI of a property in "rel"`,
  )
}

const contentTypes: Readonly<Record<DocumentFormat, string>> = {
  txt: "text/plain",
  md: "text/markdown",
  html: "text/html",
  json: "application/json",
  jsonl: "application/x-ndjson",
  csv: "text/csv",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  pdf: "application/pdf",
}

/** Returns the manifest's entry for a document. Fails with the text of the problem. */
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

/** The file name without its extension, turned into a valid ontology name. */
const ontologyNameOf = (uri: StorageUri): OntologyName => {
  const name =
    (uri.split("/").at(-1) ?? "")
      .split(".")[0]
      ?.toLowerCase()
      .replace(/[^a-z0-9_-]+/g, "-")
      .replace(/^[^a-z]+/, "") ?? ""
  return OntologyName.make(name === "" ? "ontology" : name)
}

/**
 * Reads a manifest that a user wrote by hand, or one that a batch has stored: a batch started from the latter has the same documents and
 * the same ontology. `batchId` is the id of the batch that stored it.
 */
export const readManifest = (
  uri: StorageUri,
): Effect.Effect<{ readonly manifest: ManifestFile; readonly batchId?: BatchId }, StorageError | ManifestRefused, Storage> =>
  Effect.gen(function* () {
    const text = yield* getText(yield* Storage, uri)
    const stored = yield* Effect.option(decodeManifest(text))
    if (Option.isSome(stored)) return { manifest: yield* fileOf(uri, stored.value), batchId: stored.value.batchId }
    const manifest = yield* Effect.mapError(
      decodeManifestFile(text),
      ({ message }) => new ManifestRefused({ uri, problem: `${message}; see the example in the README` }),
    )
    return { manifest }
  })

export const readManifestFile = (uri: StorageUri): Effect.Effect<ManifestFile, StorageError | ManifestRefused, Storage> =>
  Effect.map(readManifest(uri), ({ manifest }) => manifest)

/** The manifest file of a stored manifest. The id of a document derives from its source: a manifest with another id is refused. */
const fileOf = (uri: StorageUri, stored: Manifest): Effect.Effect<ManifestFile, ManifestRefused> =>
  Effect.gen(function* () {
    const wrong = stored.documents.find(({ documentId, sourceUri }) => documentId !== documentIdOf(sourceUri))
    if (wrong !== undefined)
      return yield* new ManifestRefused({
        uri,
        problem: `${wrong.sourceUri} has the id ${documentIdOf(wrong.sourceUri)}, not ${wrong.documentId}; correct it`,
      })
    const [first, ...others] = stored.documents.map(({ sourceUri, contentType }) => ({ source: sourceUri, contentType }))
    if (first === undefined) return yield* new ManifestRefused({ uri, problem: "it names no document; name one" })
    const { targetNamespace, ontologyUri, shaclUri, examplesUri, mappingUri, extractor, collection, keepMissing, createdAt } = stored
    return {
      targetNamespace,
      ontology: ontologyUri,
      documents: [first, ...others],
      ...(shaclUri === undefined ? {} : { shapes: shaclUri }),
      ...(examplesUri === undefined ? {} : { examples: examplesUri }),
      ...(mappingUri === undefined ? {} : { mapping: mappingUri }),
      ...(extractor === undefined ? {} : { extractor }),
      ...(collection === undefined ? {} : { collection }),
      ...(keepMissing === undefined ? {} : { keepMissing }),
      listedAt: stored.listedAt ?? createdAt,
    }
  })

/** A manifest for all documents of a folder: files of unknown kinds are left out. */
export const manifestOfFolder = (
  folder: StorageFolder,
  options: {
    readonly targetNamespace: Namespace
    readonly ontology: BlobReference
    readonly shapes?: BlobReference
    readonly examples?: BlobReference
    readonly mapping?: BlobReference
    /** Keeps documents in the graph that are gone from the folder. Default: they are withdrawn. */
    readonly keepMissing?: boolean
  },
): Effect.Effect<ManifestFile, StorageError | ManifestRefused, Storage> =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const apart = new Set(
      [options.ontology, options.shapes, options.examples, options.mapping]
        .filter((one) => one !== undefined)
        .map((one) => resolveReference(folder, one)),
    )
    const listedAt = yield* DateTime.now
    const blobs = yield* Stream.runCollect(storage.list(folder))
    const named = yield* Effect.filter(blobs, ({ uri }) =>
      apart.has(uri) ? Effect.succeed(false) : Effect.match(formatOf({ name: uri }), { onFailure: () => false, onSuccess: () => true }),
    )
    const [first, ...others] = named.map(({ uri }) => ({ source: uri }))
    if (first === undefined)
      return yield* new ManifestRefused({
        uri: folder,
        problem:
          "there is no document of a known kind in it (txt, md, html, json, jsonl, csv, tsv, xlsx, pdf); to remove earlier documents of an emptied folder from the graph, withdraw the batches that added them",
      })
    return { ...options, documents: [first, ...others], collection: folder, listedAt }
  })
