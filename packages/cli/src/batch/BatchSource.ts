/** The source of `detent batch run`: a manifest, a folder that has one, or a folder of documents and an ontology. */
import { statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { isBucketLocation } from "@detent/blobs/BucketLocation"
import { blobIn, getText, Storage, type StorageFolder, StorageUri } from "@detent/blobs/Storage"
import { folderAt, locate } from "@detent/blobs/StorageLocation"
import { BatchId, ManifestFile, ManifestJson, ManifestRefused, manifestOfFolder, Namespace, readManifestFile } from "@detent/knowledge"
import { decodeStrictly } from "@detent/workspace/SchemaProblem"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { NothingFound, WrongUsage } from "../Failure.ts"
import type { ReadBySource } from "../workspace/Sources.ts"

/** A name for commands that add to no graph. */
export const anyNamespace = "preview"

/** The options that define the source of a batch. */
export interface SourceInput {
  readonly source: string
  readonly ontology: string | undefined
  readonly namespace: string | undefined
  readonly shapes: string | undefined
  readonly examples: string | undefined
  readonly mapping: string | undefined
  readonly "keep-missing": boolean
}

export interface BatchSource {
  /** The folder that the references of the manifest are relative to. */
  readonly folder: StorageFolder
  readonly manifest: ManifestFile
}

/** The files and folders that the batch reads, as absolute paths and addresses. Folders in a bucket are checked when they are read. */
export const readBySource = (input: SourceInput): Effect.Effect<ReadBySource, NothingFound | WrongUsage> =>
  Effect.suspend((): Effect.Effect<ReadBySource, NothingFound | WrongUsage> => {
    const kind = kindOf(input.source)
    if (kind === undefined)
      return Effect.fail(new NothingFound({ what: `file or folder ${input.source}`, nextStep: "name a manifest.json or a folder" }))
    if (kind === "file" && !/\.json$/i.test(input.source)) return Effect.fail(notAFolder(input.source))
    const named = namedFiles(input)
    const missing = named.find(({ file }) => kindOf(file) !== "file")
    if (missing !== undefined)
      return Effect.fail(new WrongUsage({ problem: `--${missing.option} ${missing.file}: there is no such file`, nextStep: "name one" }))
    const folder = kind === "folder" ? locationOf(input.source) : besideOf(input.source)
    const files = named.map(({ file }) => locationOf(file))
    const wrong = [folder, ...files].find((location) => Result.isFailure(locate(location)))
    return wrong === undefined
      ? Effect.succeed({ folder, files })
      : Effect.fail(new WrongUsage({ problem: `${wrong} is not a folder of a bucket`, nextStep: "write it as gs://BUCKET/PREFIX" }))
  })

const notAFolder = (file: string): WrongUsage =>
  new WrongUsage({
    problem: `${file} is neither a folder of documents nor a manifest.json`,
    nextStep: `name its folder: ${file.includes("/") ? file.slice(0, file.lastIndexOf("/")) || "/" : "."}`,
  })

const locationOf = (text: string): string => (isBucketLocation(text) ? text.replace(/(?<!\/)\/+$/, "") : resolve(text))

/** The folder that a file is in. */
const besideOf = (file: string): string => (isBucketLocation(file) ? file.slice(0, file.lastIndexOf("/")) : dirname(resolve(file)))

const namedFiles = (input: SourceInput) =>
  (["ontology", "shapes", "examples", "mapping"] as const).flatMap((option) => {
    const file = input[option]
    return file === undefined ? [] : [{ option, file }]
  })

export const sourceOf = (input: SourceInput) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const isFile = kindOf(input.source) === "file"
    const folder = folderAt(isFile ? besideOf(input.source) : locationOf(input.source))
    const uri = isFile ? referenceOf(input.source) : blobIn(folder, "manifest.json")
    if (isFile || Option.isSome(yield* storage.info(uri))) {
      const manifest = yield* Effect.catchTag(readManifestFile(uri), "ManifestRefused", (refused) =>
        // With an ontology, the JSON file is rather a document of a folder.
        Effect.fail(isFile && input.ontology !== undefined ? notAFolder(input.source) : refused),
      )
      yield* hasKnownKeys(uri, yield* getText(storage, uri))
      // The manifest defines its collection: documents that it no longer names are removed from the graph.
      const { collection = uri, keepMissing = input["keep-missing"] } = manifest
      const mapping = input.mapping === undefined ? {} : { mapping: referenceOf(input.mapping) }
      return { folder, manifest: { ...manifest, ...mapping, collection, keepMissing } } satisfies BatchSource
    }
    if (input.ontology === undefined || input.namespace === undefined)
      return yield* new WrongUsage({
        problem: `${input.source} has no manifest.json`,
        nextStep: "give the ontology with --ontology FILE and the graph to add to with --namespace NAME",
      })
    const manifest = yield* manifestOfFolder(folder, {
      targetNamespace: yield* namespaceOf(input.namespace),
      ontology: referenceOf(input.ontology),
      ...(input.shapes === undefined ? {} : { shapes: referenceOf(input.shapes) }),
      ...(input.examples === undefined ? {} : { examples: referenceOf(input.examples) }),
      ...(input.mapping === undefined ? {} : { mapping: referenceOf(input.mapping) }),
      keepMissing: input["keep-missing"],
    })
    return { folder, manifest } satisfies BatchSource
  })

const decodeManifest = decodeStrictly(Schema.toCodecJson(ManifestFile))

/** A misspelt setting of a manifest must not be ignored silently. */
const hasKnownKeys = (uri: StorageUri, text: string): Effect.Effect<void, ManifestRefused> =>
  Effect.suspend(() => {
    // The manifest.json that a batch has stored has further keys.
    if (Option.isSome(Schema.decodeOption(ManifestJson)(text))) return Effect.void
    const decoded = decodeManifest(JSON.parse(text))
    return Result.isSuccess(decoded) ? Effect.void : Effect.fail(new ManifestRefused({ uri, problem: decoded.failure }))
  })

/** An address in a bucket is a file if its last part has a file extension. */
const kindOf = (path: string): "file" | "folder" | undefined => {
  if (isBucketLocation(path)) return /\/[^/]+\.[a-z0-9]{1,10}$/i.test(path) ? "file" : "folder"
  const found = statSync(resolve(path), { throwIfNoEntry: false })
  if (found === undefined) return undefined
  return found.isDirectory() ? "folder" : "file"
}

const referenceOf = (file: string): StorageUri => decodeUri(isBucketLocation(file) ? file : pathToFileURL(resolve(file)).href)

const decodeUri = Schema.decodeUnknownSync(StorageUri)

const namespaceOf = (text: string): Effect.Effect<Namespace, WrongUsage> =>
  Effect.mapError(
    Schema.decodeUnknownEffect(Namespace)(text),
    () =>
      new WrongUsage({
        problem: `--namespace ${text} is not a name of a graph`,
        nextStep: "use at most 200 lower-case letters, digits and dashes, beginning with a letter",
      }),
  )

/** Decodes the id of a batch from the command line. */
export const batchIdOf = (text: string): Effect.Effect<BatchId, WrongUsage> =>
  Effect.mapError(
    Schema.decodeUnknownEffect(BatchId)(text),
    () =>
      new WrongUsage({ problem: `${text} is not an id of a batch`, nextStep: "it looks like batch-3f9c2a71b0d4; see `detent batch list`" }),
  )
