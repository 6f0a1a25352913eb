/**
 * Addresses of blobs: `file:///data/a.txt`, `gs://bucket/a.txt`, `s3://bucket/a.txt`, `mem://store/a.txt`. Path traversal, in any
 * spelling, makes an address invalid.
 */
import * as Schema from "effect/Schema"

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
