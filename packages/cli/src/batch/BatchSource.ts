/** What `detent batch run` is given: a manifest, a folder that has one, or a folder of documents and an ontology. */
import { readFileSync, statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import {
  BatchId,
  FileUri,
  ManifestFile,
  ManifestJson,
  ManifestRefused,
  manifestOfFolder,
  Namespace,
  readManifestFile,
  StorageFolder,
} from "@detent/knowledge"
import { decodeStrictly } from "@detent/workspace/SchemaProblem"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { NothingFound, WrongUsage } from "../Failure.ts"

/** Which options say what the batch is made of. */
export interface SourceInput {
  readonly source: string
  readonly ontology: string | undefined
  readonly namespace: string | undefined
  readonly shapes: string | undefined
  readonly examples: string | undefined
  readonly "keep-missing": boolean
}

export interface BatchSource {
  /** What the references of the manifest are beside. */
  readonly folder: StorageFolder
  readonly manifest: ManifestFile
}

/** All folders that the batch has to read. */
export const foldersOf = (input: SourceInput): Effect.Effect<ReadonlyArray<string>, NothingFound | WrongUsage> =>
  Effect.suspend((): Effect.Effect<ReadonlyArray<string>, NothingFound | WrongUsage> => {
    const kind = kindOf(input.source)
    if (kind === undefined)
      return Effect.fail(new NothingFound({ what: `file or folder ${input.source}`, nextStep: "name a manifest.json or a folder" }))
    const named = namedFiles(input)
    const missing = named.find(({ file }) => kindOf(file) !== "file")
    if (missing !== undefined)
      return Effect.fail(new WrongUsage({ problem: `--${missing.option} ${missing.file}: there is no such file`, nextStep: "name one" }))
    const beside = named.map(({ file }) => dirname(resolve(file)))
    return Effect.succeed([kind === "folder" ? resolve(input.source) : dirname(resolve(input.source)), ...beside])
  })

const namedFiles = (input: SourceInput) =>
  (["ontology", "shapes", "examples"] as const).flatMap((option) => {
    const file = input[option]
    return file === undefined ? [] : [{ option, file }]
  })

/** What is wrong with a file that an option names is told of the option, in the words of who gave it; undefined where it is not. */
export const problemOfOption = (input: SourceInput, problem: string): string | undefined => {
  const told = namedFiles(input).reduce((text, { option, file }) => text.replaceAll(referenceOf(file), `--${option} ${file}`), problem)
  if (told === problem) return undefined
  // Who wrote no manifest need not hear of one.
  return told.replace(/^\S+ is no manifest that can be worked on: /, "").replace(/; correct it and start again$/, "")
}

export const sourceOf = (input: SourceInput) =>
  Effect.gen(function* () {
    const path = resolve(input.source)
    const manifestFile = kindOf(path) === "file" ? path : join(path, "manifest.json")
    if (kindOf(manifestFile) === "file") {
      const uri = FileUri.make(pathToFileURL(manifestFile).href)
      const manifest = yield* readManifestFile(uri)
      yield* hasKnownKeys(uri, manifestFile)
      // The manifest stands for what it names: documents that it no longer names are gone.
      const { collection = uri, keepMissing = input["keep-missing"] } = manifest
      return { folder: folderOf(dirname(manifestFile)), manifest: { ...manifest, collection, keepMissing } } satisfies BatchSource
    }
    if (input.ontology === undefined || input.namespace === undefined)
      return yield* new WrongUsage({
        problem: `${input.source} has no manifest.json`,
        nextStep: "say what the documents are about with --ontology FILE and where the facts go with --namespace NAME",
      })
    const manifest = yield* manifestOfFolder(folderOf(path), {
      targetNamespace: yield* namespaceOf(input.namespace),
      ontology: referenceOf(input.ontology),
      ...(input.shapes === undefined ? {} : { shapes: referenceOf(input.shapes) }),
      ...(input.examples === undefined ? {} : { examples: referenceOf(input.examples) }),
      keepMissing: input["keep-missing"],
    })
    return { folder: folderOf(path), manifest } satisfies BatchSource
  })

const decodeManifest = decodeStrictly(Schema.toCodecJson(ManifestFile))

/** A misspelt setting of a manifest must not be dropped without a word. */
const hasKnownKeys = (uri: FileUri, file: string): Effect.Effect<void, ManifestRefused> =>
  Effect.suspend(() => {
    const text = readFileSync(file, "utf8")
    // The manifest.json that a batch has stored has keys of its own.
    if (Option.isSome(Schema.decodeOption(ManifestJson)(text))) return Effect.void
    const decoded = decodeManifest(JSON.parse(text))
    return Result.isSuccess(decoded) ? Effect.void : Effect.fail(new ManifestRefused({ uri, problem: decoded.failure }))
  })

const kindOf = (path: string): "file" | "folder" | undefined => {
  const found = statSync(resolve(path), { throwIfNoEntry: false })
  if (found === undefined) return undefined
  return found.isDirectory() ? "folder" : "file"
}

const folderOf = (path: string) => StorageFolder.make(`${pathToFileURL(path).href}/`)

const referenceOf = (path: string) => FileUri.make(pathToFileURL(resolve(path)).href)

const namespaceOf = (text: string): Effect.Effect<Namespace, WrongUsage> =>
  Effect.mapError(
    Schema.decodeUnknownEffect(Namespace)(text),
    ({ message }) => new WrongUsage({ problem: `--namespace ${text}: ${message}`, nextStep: "use lower-case letters, digits and dashes" }),
  )

/** The id of a batch, as a command line gives it. */
export const batchIdOf = (text: string): Effect.Effect<BatchId, WrongUsage> =>
  Effect.mapError(
    Schema.decodeUnknownEffect(BatchId)(text),
    () => new WrongUsage({ problem: `${text} is no id of a batch`, nextStep: "it looks like batch-3f9c2a71b0d4; see `detent batch list`" }),
  )
