/**
 * Blobs by address, in memory, in a folder or in a cloud bucket. Writes are atomic; every write gives the blob a new generation, and
 * a writer may require that the blob is absent or still at the generation it read.
 */

import { describe } from "@detent/machine/internal"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { type ContentHash, startHash } from "./ContentHash.ts"

// Addresses: `file:///data/a.txt`, `gs://bucket/a.txt`, `s3://bucket/a.txt`, `mem://store/a.txt`. Path traversal, in any spelling, makes
// an address invalid.

/** Rejects segments with a special meaning, and characters that stores handle differently. */
const isPlainName = (segment: string): boolean =>
  segment !== "" && segment !== "." && segment !== ".." && segment.isWellFormed() && !forbiddenInNames.test(segment)

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds control characters.
const forbiddenInNames = /[\u0000-\u001f\u007f\\/]/

const decoded = (segment: string): string | undefined => {
  try {
    return decodeURIComponent(segment)
  } catch {
    // A broken escape makes the address invalid, which the caller reports.
    return undefined
  }
}

/** Names in file addresses are percent-encoded, so the check applies to the decoded name. */
const isFileName = (segment: string): boolean => {
  const name = decoded(segment)
  return name !== undefined && isPlainName(name) && !/[?#]/.test(segment)
}

const isPath = (path: string, isName: (segment: string) => boolean): boolean => path.split("/").every(isName)

const address = (scheme: string, start: RegExp, isName: (segment: string) => boolean) =>
  Schema.String.check(
    Schema.makeFilter(
      (uri) => {
        const head = start.exec(uri)
        return head !== null && isPath(uri.slice(head[0].length), isName)
      },
      {
        expected: `a ${scheme} address without "..", empty parts or control characters`,
        // The form of generated examples, which a generator cannot derive from the filter.
        arbitraryConstraint: { patterns: [{ source: `^${scheme}[a-z0-9]{1,8}(/[a-z0-9_.-]{1,6}x){0,3}$`, flags: "" }] },
      },
    ),
  )

const folder = (scheme: string, start: RegExp, isName: (segment: string) => boolean) =>
  Schema.String.check(
    Schema.makeFilter(
      (uri) => {
        const head = start.exec(uri)
        if (head === null || !uri.endsWith("/")) return false
        const path = uri.slice(head[0].length, -1)
        return uri.length === head[0].length || isPath(path, isName)
      },
      {
        expected: `a ${scheme} folder, ending in "/", without "..", empty parts or control characters`,
        arbitraryConstraint: { patterns: [{ source: `^${scheme}([a-z0-9_.-]{1,6}x/){0,3}$`, flags: "" }] },
      },
    ),
  )

const starts = {
  file: /^file:\/\/\//,
  gs: /^gs:\/\/[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]\//,
  s3: /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]\//,
  mem: /^mem:\/\/[a-z0-9][a-z0-9._-]{0,62}\//,
}

export const FileUri = address("file:///", starts.file, isFileName).pipe(Schema.brand("FileUri"))
export type FileUri = typeof FileUri.Type

export const GcsUri = address("gs://bucket/", starts.gs, isPlainName).pipe(Schema.brand("GcsUri"))
export type GcsUri = typeof GcsUri.Type

export const S3Uri = address("s3://bucket/", starts.s3, isPlainName).pipe(Schema.brand("S3Uri"))
export type S3Uri = typeof S3Uri.Type

export const MemUri = address("mem://store/", starts.mem, isPlainName).pipe(Schema.brand("MemUri"))
export type MemUri = typeof MemUri.Type

/** The address of one blob. */
export const StorageUri = Schema.Union([FileUri, GcsUri, S3Uri, MemUri])
export type StorageUri = typeof StorageUri.Type

/** The address of a folder of blobs; ends with a slash. */
export const StorageFolder = Schema.Union([
  folder("file:///", starts.file, isFileName),
  folder("gs://bucket/", starts.gs, isPlainName),
  folder("s3://bucket/", starts.s3, isPlainName),
  folder("mem://store/", starts.mem, isPlainName),
]).pipe(Schema.brand("StorageFolder"))
export type StorageFolder = typeof StorageFolder.Type

export type Scheme = keyof typeof starts

export const schemeOf = (uri: StorageUri | StorageFolder): Scheme => {
  if (uri.startsWith("file:")) return "file"
  if (uri.startsWith("gs:")) return "gs"
  return uri.startsWith("s3:") ? "s3" : "mem"
}

/** A path below a folder: `documents/a.txt`. */
export const RelativePath = Schema.String.check(
  Schema.makeFilter((path: string) => isPath(path, isPlainName), {
    expected: `a relative path without "..", empty parts or control characters`,
    arbitraryConstraint: { patterns: [{ source: "^[a-z0-9]{1,8}(/[a-z0-9_.-]{1,6}x){0,3}$", flags: "" }] },
  }),
).pipe(Schema.brand("RelativePath"))
export type RelativePath = typeof RelativePath.Type

/** The blob at a path below a folder. Throws on a path that leaves the folder: decode paths from user input as `RelativePath` first. */
export const blobIn = (folder: StorageFolder, path: string): StorageUri => decodeUri(`${folder}${spelled(folder, path)}`)

/** The folder at a path below a folder. */
export const folderIn = (folder: StorageFolder, path: string): StorageFolder => StorageFolder.make(`${folder}${spelled(folder, path)}/`)

const spelled = (folder: StorageFolder, path: string): string => {
  RelativePath.make(path)
  return schemeOf(folder) === "file" ? path.split("/").map(encodeURIComponent).join("/") : path
}

/** A manifest's reference to a blob: a full address, or a path below the folder of the manifest. */
export const BlobReference = Schema.Union([StorageUri, RelativePath])
export type BlobReference = typeof BlobReference.Type

export const resolveReference = (folder: StorageFolder, reference: BlobReference): StorageUri =>
  isStorageUri(reference) ? reference : blobIn(folder, reference)

const isStorageUri = Schema.is(StorageUri)
const decodeUri = Schema.decodeSync(StorageUri)

// Blobs.

/** Identifies one write of a blob. Opaque: generations can only be compared for equality. */
export const Generation = Schema.String.pipe(Schema.brand("Generation"))
export type Generation = typeof Generation.Type

export interface BlobInfo {
  readonly uri: StorageUri
  readonly generation: Generation
  /** In bytes. */
  readonly size: number
}

/** The result of a write. */
export interface Written extends BlobInfo {
  readonly hash: ContentHash
}

export interface Blob extends Written {
  readonly bytes: Uint8Array
}

/** The precondition of a change to a blob. */
export type Precondition = { readonly _tag: "Absent" } | { readonly _tag: "AtGeneration"; readonly generation: Generation }

/** The blob must not exist yet. */
export const ifAbsent: Precondition = { _tag: "Absent" }

/** The blob must still be at this generation. */
export const ifGeneration = (generation: Generation): Precondition => ({ _tag: "AtGeneration", generation })

export interface StorageService {
  readonly get: (uri: StorageUri) => Effect.Effect<Blob, StorageError>
  /** The bytes as of the start of the stream: a later write does not mix in. */
  readonly getStream: (uri: StorageUri) => Stream.Stream<Uint8Array, StorageError>
  /** `None` if the blob does not exist. */
  readonly info: (uri: StorageUri) => Effect.Effect<Option.Option<BlobInfo>, StorageError>
  readonly set: (uri: StorageUri, content: string | Uint8Array, precondition?: Precondition) => Effect.Effect<Written, StorageError>
  /** If the stream fails or the fiber is interrupted, nothing is written. */
  readonly setStream: <E, R>(
    uri: StorageUri,
    content: Stream.Stream<Uint8Array, E, R>,
    precondition?: Precondition,
  ) => Effect.Effect<Written, StorageError | E, R>
  /** Everything below the folder, sorted by name in code point order. */
  readonly list: (folder: StorageFolder) => Stream.Stream<BlobInfo, StorageError>
  /** Whether the blob existed. */
  readonly remove: (uri: StorageUri, precondition?: Precondition) => Effect.Effect<boolean, StorageError>
}

export class Storage extends Context.Service<Storage, StorageService>()("@detent/blobs/Storage") {}

/** The content of a blob as UTF-8 text. */
export const getText = (storage: StorageService, uri: StorageUri): Effect.Effect<string, StorageError> =>
  Effect.map(getHashedText(storage, uri), ({ text }) => text)

/** Like `getText`, with the hash of the text. Both are computed chunk by chunk, so that a large text does not block the thread. */
export const getHashedText = (
  storage: StorageService,
  uri: StorageUri,
): Effect.Effect<{ readonly text: string; readonly hash: ContentHash }, StorageError> =>
  Effect.suspend(() => {
    const decoder = new TextDecoder()
    const hash = startHash()
    const parts: Array<string> = []
    const add = (part: string) => {
      hash.update(part)
      parts.push(part)
    }
    return Effect.map(
      Stream.runForEach(storage.getStream(uri), (piece) => Effect.sync(() => add(decoder.decode(piece, { stream: true })))),
      () => {
        add(decoder.decode())
        return { text: parts.join(""), hash: hash.end() }
      },
    )
  })

/** One storage out of several, one per scheme: documents may be in a bucket while results are written to a folder. */
export const routed = (byScheme: Readonly<Partial<Record<Scheme, StorageService>>>): StorageService => {
  const serving = (uri: StorageUri | StorageFolder): Effect.Effect<StorageService, AddressRefused> => {
    const service = byScheme[schemeOf(uri)]
    if (service !== undefined) return Effect.succeed(service)
    const known = Object.keys(byScheme).map((scheme) => `${scheme}://`)
    return Effect.fail(
      new AddressRefused({ uri, problem: "is in a storage that is not set up", nextStep: `use ${known.join(" or ")}, or set it up` }),
    )
  }
  return {
    get: (uri) => Effect.flatMap(serving(uri), (storage) => storage.get(uri)),
    getStream: (uri) => Stream.unwrap(Effect.map(serving(uri), (storage) => storage.getStream(uri))),
    info: (uri) => Effect.flatMap(serving(uri), (storage) => storage.info(uri)),
    set: (uri, content, precondition) => Effect.flatMap(serving(uri), (storage) => storage.set(uri, content, precondition)),
    setStream: (uri, content, precondition) => Effect.flatMap(serving(uri), (storage) => storage.setStream(uri, content, precondition)),
    list: (folder) => Stream.unwrap(Effect.map(serving(folder), (storage) => storage.list(folder))),
    remove: (uri, precondition) => Effect.flatMap(serving(uri), (storage) => storage.remove(uri, precondition)),
  }
}

// The errors of blobs. Only `BlobNotFound` means that a blob does not exist: a store that does not answer never counts as empty.

export class BlobNotFound extends Schema.TaggedError<BlobNotFound>()("BlobNotFound", { uri: Schema.String }) {
  override get message() {
    return `there is nothing at ${this.uri}; check the address, or whether it was removed`
  }
}

/** The blob has changed since the caller read it. Nothing was written. */
export class PreconditionFailed extends Schema.TaggedError<PreconditionFailed>()("PreconditionFailed", {
  uri: Schema.String,
  /** The required generation; undefined if the blob had to be absent. */
  expected: Schema.UndefinedOr(Schema.String),
  /** The current generation; undefined if the blob does not exist. */
  actual: Schema.UndefinedOr(Schema.String),
}) {
  override get message() {
    const standing = this.actual === undefined ? "it does not exist" : `it is at generation ${this.actual}`
    const wanted = this.expected === undefined ? "was expected to be absent" : `was expected at generation ${this.expected}`
    return `${this.uri} ${wanted}, but ${standing}; read it again and retry`
  }
}

/** The storage is full. The previous content is unchanged. */
export class StorageFull extends Schema.TaggedError<StorageFull>()("StorageFull", {
  uri: Schema.String,
  cause: Schema.Defect(),
}) {
  override get message() {
    return `no room to write ${this.uri} (${describe(this.cause)}); nothing was changed: free some space or raise the quota, then try again`
  }
}

/** The next step for a file outside of the readable folders. */
export const openingStep = "put the file below the data folder, or run `detent batch run` on its folder once"

/** The storage does not serve the address. */
export class AddressRefused extends Schema.TaggedError<AddressRefused>()("AddressRefused", {
  uri: Schema.String,
  problem: Schema.String,
  nextStep: Schema.String,
}) {
  override get message() {
    return `${this.uri} ${this.problem}; ${this.nextStep}`
  }
}

/** The storage failed. `retryable`: the same call may succeed later. */
export class StorageFailed extends Schema.TaggedError<StorageFailed>()("StorageFailed", {
  uri: Schema.String,
  operation: Schema.Literals(["read", "write", "list", "remove", "open"]),
  retryable: Schema.Boolean,
  /** Set if this process has no access to the storage, so that every other blob would fail the same way. */
  noAccess: Schema.optionalKey(Schema.Literal(true)),
  cause: Schema.Defect(),
}) {
  override get message() {
    const problem = describe(this.cause)
    const next = this.retryable ? "try again" : "fix the cause first"
    // The message of a known cause already ends with the next step.
    return !this.retryable && problem.includes("; ")
      ? `cannot ${this.operation} ${this.uri}: ${problem}`
      : `cannot ${this.operation} ${this.uri}: ${problem}; ${next}`
  }
}

const isOne = Schema.is(Schema.Union([BlobNotFound, PreconditionFailed, StorageFull, AddressRefused, StorageFailed]))

export const isStorageError = (value: unknown): value is StorageError => isOne(value)

export type StorageError = BlobNotFound | PreconditionFailed | StorageFull | AddressRefused | StorageFailed
