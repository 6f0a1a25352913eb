/**
 * Blobs as objects of a bucket of Amazon S3, Cloudflare R2 or another store that supports S3's conditional writes, under `s3://bucket/`
 * addresses. Safe for concurrent use by any number of machines. Every write carries `If-None-Match` or `If-Match`.
 *
 * A blob's generation is the object's ETag, which is derived from the content. So a blob that is rewritten with the same content keeps
 * its generation, and `ifGeneration` does not detect that write.
 *
 * ```ts
 * const storage = S3Storage.layer({ root: StorageFolder.make("s3://my-bucket/detent/"), region: "eu-central-1" })
 * ```
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Parser } from "htmlparser2"
import { Generation, Storage, type StorageError, type StorageFailed, type StorageService, type StorageUri } from "../storage/Storage.ts"
import { type AwsKeys, awsSettings } from "./AwsCredentials.ts"
import { encoded, signerFor } from "./AwsSignature.ts"
import { clientInContext } from "./CredentialSource.ts"
import {
  type Answer,
  listedPage,
  locationOf,
  lost,
  makeObjectHttp,
  type ObjectRequest,
  type Problem,
  type RetryOptions,
  type Target,
} from "./ObjectHttp.ts"
import {
  type BucketScope,
  beforeName,
  type Checksum,
  type Expected,
  makeObjectStorage,
  metadataOf,
  type ObjectClient,
  type Stored,
  type Upload,
  writeIdName,
} from "./ObjectStorage.ts"

export interface S3StorageOptions extends BucketScope {
  /** Default: the keys of the environment, then of the profile, the container or the machine. */
  readonly keys?: AwsKeys
  /** Default: the region of the environment or the profile, else `auto` for R2 and `us-east-1` otherwise. */
  readonly region?: string
  /** Default: AWS_ENDPOINT_URL_S3, then Amazon's in the region. For R2: `https://ACCOUNT.r2.cloudflarestorage.com`. */
  readonly endpoint?: string
  readonly retry?: RetryOptions
}

interface Session {
  readonly upload: Upload
  readonly id: string
  /** The ETags of the parts, in order. */
  readonly parts: Array<string>
}

export const make = (options: S3StorageOptions): Effect.Effect<StorageService> =>
  Effect.gen(function* () {
    const environment = yield* awsSettings
    const endpoint = (options.endpoint ?? environment.endpoint)?.replace(/\/$/, "")
    const isR2 = endpoint?.endsWith(".r2.cloudflarestorage.com") === true
    const region = options.region ?? environment.region ?? (isR2 ? "auto" : "us-east-1")
    const keys = options.keys === undefined ? environment.keys.current : Effect.succeed(options.keys)
    const sign = signerFor(region)
    const http = makeObjectHttp({
      retry: options.retry,
      client: yield* clientInContext,
      authorize: (request, now) => Effect.map(keys, (known) => sign(request, known, now)),
      forget: environment.keys.forget,
      // The response to a HEAD has no body, so an expired token shows only as a 400.
      isExpired: (status, { code }) => code === "ExpiredToken" || (status === 400 && code === ""),
      problemOf,
      nextSteps: {
        unauthorized: "the keys are no longer valid: get new ones, with AWS_SESSION_TOKEN where they have a session, and check AWS_REGION",
        forbidden: "check the keys and AWS_REGION, and that the keys may read, write, list and delete objects of the bucket",
        missing: "create the bucket, or correct its name",
        elsewhere: "set AWS_REGION to the region of the bucket, and AWS_ENDPOINT_URL_S3 where it is not at Amazon",
        unreachable: "check the network, AWS_REGION, and AWS_ENDPOINT_URL_S3 where the bucket is not at Amazon",
      },
    })

    /** Amazon's certificates do not cover bucket hosts with a dot, and other stores may not support bucket hosts: both use the path. */
    const bucketUrl = (bucket: string) => {
      if (endpoint !== undefined) return `${endpoint}/${bucket}`
      return bucket.includes(".") ? `https://s3.${region}.amazonaws.com/${bucket}` : `https://${bucket}.s3.${region}.amazonaws.com`
    }
    const objectUrl = (uri: StorageUri, query = "") => {
      const { bucket, key } = locationOf(uri)
      return `${bucketUrl(bucket)}/${key.split("/").map(encoded).join("/")}${query === "" ? "" : `?${query}`}`
    }

    /** The object does not exist, although its bucket exists. */
    const isMissing = (answer: Answer) => answer.status === 404 && http.problemOf(answer).code !== "NoSuchBucket"

    /** Repeats a request while `isUnfinished`: another writer conflicts with it, or the store reports an error under status 200. */
    const sendOver = (target: Target, request: ObjectRequest, isUnfinished: (answer: Answer) => boolean) =>
      Effect.gen(function* () {
        let isUncertain = false
        for (let attempt = 1; ; attempt++) {
          const answer = yield* http.send(target, request)
          isUncertain ||= answer.isUncertain
          if (!isUnfinished(answer) || attempt >= http.attempts) return { ...answer, isUncertain }
          isUncertain ||= answer.status === 200
          yield* http.backoff(attempt)
        }
      })

    const isConflict = ({ status }: Answer) => status === 409

    /** Whether the precondition of a write did not hold. A missing object has no ETag to match. */
    const isRefused = (answer: Answer, expected: Expected) =>
      answer.status === 412 || (answer.status === 404 && expected?.generation !== undefined && http.problemOf(answer).code === "NoSuchKey")

    const etagOf = (target: Target, etag: string | undefined): Effect.Effect<Generation, StorageFailed> =>
      etag === undefined ? Effect.fail(lost(target, "the answer names no ETag")) : Effect.succeed(generationOf(etag))

    /** A 404 to a HEAD does not tell whether the bucket or the object is missing, so each bucket is checked until it was found once. */
    const knownBuckets = new Set<string>()
    const knowBucket = (uri: StorageUri) =>
      Effect.gen(function* () {
        const { bucket } = locationOf(uri)
        if (knownBuckets.has(bucket)) return
        const target: Target = { uri, operation: "read" }
        const url = `${bucketUrl(bucket)}/?list-type=2&max-keys=1`
        const answer = yield* http.send(target, { method: "GET", url, headers: {} })
        if (answer.status !== 200) return yield* http.failure(target, answer)
        knownBuckets.add(bucket)
      })

    const client: ObjectClient<Session> = {
      http,
      start: "s3://",
      algorithm: "crc32",
      head: (uri) =>
        Effect.gen(function* () {
          const target: Target = { uri, operation: "read" }
          const answer = yield* http.send(target, { method: "HEAD", url: objectUrl(uri), headers: {} })
          if (answer.status === 404) return yield* Effect.as(knowBucket(uri), Option.none())
          if (answer.status !== 200) return yield* http.failure(target, answer)
          const { headers } = answer
          const generation = yield* etagOf(target, headers["etag"])
          return Option.some({
            generation,
            size: Number(headers["content-length"]),
            writeId: headers[`${metadataPrefix}${writeIdName}`],
            before: headers[`${metadataPrefix}${beforeName}`],
          })
        }),
      read: (uri, rest) => ({
        method: "GET",
        url: objectUrl(uri),
        headers:
          rest === undefined
            ? { "x-amz-checksum-mode": "ENABLED" }
            : { range: `bytes=${rest.offset}-`, "if-match": `"${rest.generation}"` },
      }),
      isGone: (answer) => answer.status === 412 || isMissing(answer),
      described: (target, headers) =>
        Effect.gen(function* () {
          const isPacked = headers["content-encoding"] !== undefined && headers["content-encoding"] !== "identity"
          return {
            generation: yield* etagOf(target, headers["etag"]),
            size: isPacked ? undefined : Number(headers["content-length"]),
            checksum: isPacked ? undefined : checksumOf(headers),
          }
        }),
      put: (upload, bytes, digest) =>
        Effect.gen(function* () {
          const target: Target = { uri: upload.uri, operation: "write" }
          const headers = {
            "content-type": octets,
            ...metadataHeaders(upload),
            "x-amz-checksum-crc32": digest.toString("base64"),
            ...conditionOf(upload.expected),
          }
          const answer = yield* sendOver(target, { method: "PUT", url: objectUrl(upload.uri), headers, body: bytes }, isConflict)
          if (isRefused(answer, upload.expected)) return { _tag: "Refused", isUncertain: answer.isUncertain }
          if (answer.status !== 200) return yield* http.failure(target, answer)
          return { _tag: "Stored", generation: yield* etagOf(target, answer.headers["etag"]) }
        }),
      begin: (upload) =>
        Effect.gen(function* () {
          const target: Target = { uri: upload.uri, operation: "write" }
          const checksums = isR2 ? {} : { "x-amz-checksum-algorithm": "CRC32", "x-amz-checksum-type": "FULL_OBJECT" }
          const headers = { "content-type": octets, ...metadataHeaders(upload), ...checksums }
          const answer = yield* http.send(target, { method: "POST", url: objectUrl(upload.uri, "uploads="), headers })
          const id = textIn(parseXml(answer.body), "UploadId")
          if (answer.status !== 200 || id === undefined) return yield* http.failure(target, answer)
          return { upload, id, parts: [] }
        }),
      append: (session, bytes) => sendPart(session, bytes),
      finish: (session, bytes, offset, digest) =>
        Effect.andThen(
          sendPart(session, bytes),
          Effect.suspend(() => complete(session, offset + bytes.byteLength, digest)),
        ),
      abandon: ({ upload, id }) =>
        Effect.gen(function* () {
          const target: Target = { uri: upload.uri, operation: "write" }
          const url = objectUrl(upload.uri, `uploadId=${encoded(id)}`)
          const answer = yield* http.send(target, { method: "DELETE", url, headers: {} })
          if (answer.status !== 204 && answer.status !== 404) return yield* http.failure(target, answer)
        }),
      list: (folder, page) =>
        Effect.gen(function* () {
          const target: Target = { uri: folder, operation: "list" }
          const { bucket, key: prefix } = locationOf(folder)
          const from = page === undefined ? "" : `&continuation-token=${encoded(page)}`
          const query = `list-type=2&encoding-type=url&max-keys=1000&prefix=${encoded(prefix)}${from}`
          const answer = yield* http.send(target, { method: "GET", url: `${bucketUrl(bucket)}/?${query}`, headers: {} })
          if (answer.status !== 200) return yield* http.failure(target, answer)
          const listing = parseXml(answer.body)
          const objects = childrenIn(listing, "Contents").map((one) => ({
            key: decodeURIComponent((textIn(one, "Key") ?? "").replaceAll("+", "%20")),
            generation: generationOf(textIn(one, "ETag") ?? ""),
            size: Number(textIn(one, "Size")),
          }))
          return {
            ...listedPage(folder, objects),
            next: textIn(listing, "IsTruncated") === "true" ? textIn(listing, "NextContinuationToken") : undefined,
          }
        }),
      remove: (uri, generation) =>
        Effect.gen(function* () {
          const target: Target = { uri, operation: "remove" }
          // Not every store with this protocol checks the condition. The caller has just checked that it holds.
          const headers = { "if-match": `"${generation}"` }
          const answer = yield* sendOver(target, { method: "DELETE", url: objectUrl(uri), headers }, isConflict)
          if (answer.status === 204) return true
          if (answer.status === 412) return false
          if (isMissing(answer)) return answer.isUncertain
          if (answer.status !== 501) return yield* http.failure(target, answer)
          const plain = yield* http.send(target, { method: "DELETE", url: objectUrl(uri), headers: {} })
          return plain.status === 204 ? true : yield* http.failure(target, plain)
        }),
    }

    const sendPart = (session: Session, bytes: Uint8Array): Effect.Effect<void, StorageError> =>
      Effect.gen(function* () {
        const { upload, id, parts } = session
        const target: Target = { uri: upload.uri, operation: "write" }
        const url = objectUrl(upload.uri, `partNumber=${parts.length + 1}&uploadId=${encoded(id)}`)
        const answer = yield* http.send(target, { method: "PUT", url, headers: {}, body: bytes })
        if (answer.status !== 200) return yield* http.failure(target, answer)
        parts.push(yield* etagOf(target, answer.headers["etag"]))
      })

    const complete = (session: Session, size: number, digest: Buffer): Effect.Effect<Stored, StorageError> =>
      Effect.gen(function* () {
        const { upload, id, parts } = session
        const target: Target = { uri: upload.uri, operation: "write" }
        const list = parts.map((etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeXml(`"${etag}"`)}</ETag></Part>`)
        const checksums = isR2
          ? {}
          : {
              "x-amz-checksum-crc32": digest.toString("base64"),
              "x-amz-checksum-type": "FULL_OBJECT",
              "x-amz-mp-object-size": String(size),
            }
        const request: ObjectRequest = {
          method: "POST",
          url: objectUrl(upload.uri, `uploadId=${encoded(id)}`),
          headers: { "content-type": "application/xml", ...checksums, ...conditionOf(upload.expected) },
          body: Buffer.from(`<CompleteMultipartUpload xmlns="${namespace}">${list.join("")}</CompleteMultipartUpload>`),
        }
        // The response begins before the store is done, so an error can follow a status 200.
        const answer = yield* sendOver(target, request, (one) => one.status === 200 && parseXml(one.body).name === "Error")
        const xml = parseXml(answer.body)
        if (answer.status === 200 && xml.name !== "Error") return { _tag: "Stored", generation: yield* etagOf(target, textIn(xml, "ETag")) }
        const { code, message } = http.problemOf(answer)
        if (code === "NoSuchUpload") {
          // An earlier attempt may have finished the upload.
          const head = Option.getOrUndefined(yield* client.head(upload.uri))
          if (head?.writeId === upload.writeId) return { _tag: "Stored", generation: head.generation }
          return yield* lost(target, "the upload is gone")
        }
        if (isRefused(answer, upload.expected)) return { _tag: "Refused", isUncertain: answer.isUncertain }
        // After a conflict with another writer the uploaded parts are gone, so the content must be sent again.
        return yield* answer.status === 200 || answer.status === 409 ? lost(target, `${code}: ${message}`) : http.failure(target, answer)
      })

    return makeObjectStorage(client, options)
  })

export const layer = (options: S3StorageOptions): Layer.Layer<Storage> => Layer.effect(Storage, make(options))

const octets = "application/octet-stream"

const namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

const metadataPrefix = "x-amz-meta-"

const metadataHeaders = (upload: Upload): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(metadataOf(upload)).map(([name, value]) => [`${metadataPrefix}${name}`, value]))

const generationOf = (etag: string): Generation => Generation.make(etag.replaceAll('"', ""))

const conditionOf = (expected: Expected): Readonly<Record<string, string>> => {
  if (expected === undefined) return {}
  return expected.generation === undefined ? { "if-none-match": "*" } : { "if-match": `"${expected.generation}"` }
}

/** The ETag of an object from a single PUT is its MD5, unless the store encrypts it with a KMS key. */
const checksumOf = (headers: Answer["headers"]): Checksum | undefined => {
  const crc = headers["x-amz-checksum-crc32"]
  if (crc !== undefined && !crc.includes("-")) return { algorithm: "crc32", value: Buffer.from(crc, "base64").toString("hex") }
  const etag = generationOf(headers["etag"] ?? "")
  const isEncrypted = (headers["x-amz-server-side-encryption"] ?? "AES256") !== "AES256"
  return /^[0-9a-f]{32}$/.test(etag) && !isEncrypted ? { algorithm: "md5", value: etag } : undefined
}

const problemOf = (body: Uint8Array): Problem => {
  const error = parseXml(body.subarray(0, 10_000))
  return { code: textIn(error, "Code") ?? "", message: textIn(error, "Message") ?? "" }
}

// The XML of S3's responses, as a tree of elements.

export interface XmlElement {
  readonly name: string
  text: string
  readonly children: Array<XmlElement>
}

/** The root element; an element without a name if there is none. */
export const parseXml = (body: Uint8Array): XmlElement => {
  const root: XmlElement = { name: "", text: "", children: [] }
  const open = [root]
  const parser = new Parser(
    {
      onopentag: (name) => {
        const element: XmlElement = { name, text: "", children: [] }
        open.at(-1)?.children.push(element)
        open.push(element)
      },
      ontext: (text) => {
        const element = open.at(-1)
        if (element !== undefined) element.text += text
      },
      onclosetag: () => {
        if (open.length > 1) open.pop()
      },
    },
    { xmlMode: true },
  )
  parser.end(new TextDecoder().decode(body))
  return root.children.find(({ name }) => !name.startsWith("?")) ?? root
}

export const textIn = (element: XmlElement, name: string): string | undefined => element.children.find((one) => one.name === name)?.text

export const childrenIn = (element: XmlElement, name: string): ReadonlyArray<XmlElement> =>
  element.children.filter((one) => one.name === name)

export const escapeXml = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[character] ?? "&quot;")
