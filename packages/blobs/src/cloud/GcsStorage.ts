/**
 * Blobs as objects of a Google Cloud Storage bucket, under `gs://bucket/` addresses. Safe for concurrent use by any number of machines.
 * A blob's generation is the object's generation, and every write carries `ifGenerationMatch`.
 *
 * ```ts
 * const storage = GcsStorage.layer({ root: StorageFolder.make("gs://my-bucket/detent/") })
 * ```
 */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { Generation, Storage, type StorageError, StorageFailed, type StorageService, type StorageUri } from "../storage/Storage.ts"
import { clientInContext } from "./CredentialSource.ts"
import { anonymous, type GoogleCredentials, googleCredentials, storageScope } from "./GoogleCredentials.ts"
import {
  type Answer,
  joined,
  listedPage,
  locationOf,
  lost,
  makeObjectHttp,
  type Problem,
  type RetryOptions,
  type Target,
} from "./ObjectHttp.ts"
import {
  type BucketScope,
  beforeName,
  makeObjectStorage,
  metadataOf,
  type ObjectClient,
  type Stored,
  type Upload,
  writeIdName,
} from "./ObjectStorage.ts"

export interface GcsStorageOptions extends BucketScope {
  /** Default: the credentials of the environment, then the service account of the machine. */
  readonly credentials?: GoogleCredentials
  /** Default: STORAGE_EMULATOR_HOST, which is used without credentials, then https://storage.googleapis.com. */
  readonly endpoint?: string
  readonly retry?: RetryOptions
}

const ObjectResource = Schema.Struct({
  name: Schema.String,
  generation: Schema.String,
  size: Schema.String,
  md5Hash: Schema.optionalKey(Schema.String),
  metadata: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
})

const Listing = Schema.Struct({
  items: Schema.optionalKey(Schema.Array(ObjectResource)),
  nextPageToken: Schema.optionalKey(Schema.String),
})

const fields = "name,generation,size,md5Hash,metadata"

interface Session {
  readonly upload: Upload
  /** A secret: it authorises the upload, so no message contains it. */
  readonly address: string
}

export const make = (options: GcsStorageOptions): Effect.Effect<StorageService> =>
  Effect.gen(function* () {
    const emulator = yield* Effect.orDie(Config.String("STORAGE_EMULATOR_HOST").pipe(Config.withDefault("")))
    const isEmulated = options.endpoint === undefined && emulator !== ""
    const endpoint = (options.endpoint ?? (isEmulated ? withScheme(emulator) : "https://storage.googleapis.com")).replace(/\/$/, "")
    const credentials = options.credentials ?? (isEmulated ? anonymous : yield* googleCredentials(storageScope))
    const http = makeObjectHttp({
      retry: options.retry,
      client: yield* clientInContext,
      authorize: () => Effect.map(credentials.token, (token) => ({ authorization: `Bearer ${Redacted.value(token)}` })),
      forget: credentials.forget,
      isExpired: (status) => status === 401,
      problemOf,
      nextSteps: {
        unauthorized: "check the credentials of Google Cloud in GOOGLE_APPLICATION_CREDENTIALS",
        forbidden: "give the service account the role roles/storage.objectAdmin on the bucket",
        missing: "create the bucket, or correct its name",
        elsewhere: "the bucket is elsewhere: correct its name",
        unreachable: isEmulated ? "check STORAGE_EMULATOR_HOST" : "check the network",
      },
    })

    const objectUrl = (uri: StorageUri, query: string) => {
      const { bucket, key } = locationOf(uri)
      return `${endpoint}/storage/v1/b/${bucket}/o/${encodeURIComponent(key)}?${query}`
    }
    const uploadUrl = ({ uri, expected }: Upload, type: string) => {
      const condition = expected === undefined ? "" : `&ifGenerationMatch=${expected.generation ?? "0"}`
      const { bucket, key } = locationOf(uri)
      return `${endpoint}/upload/storage/v1/b/${bucket}/o?uploadType=${type}&name=${encodeURIComponent(key)}${condition}&fields=${fields}`
    }
    /** The object does not exist, or not at the generation, although its bucket exists. */
    const isGone = (answer: Answer) => answer.status === 404 && !/bucket does not exist/i.test(http.problemOf(answer).message)
    const decoded = <A>(schema: Schema.Decoder<A>, target: Target, { body }: Answer): Effect.Effect<A, StorageFailed> =>
      Effect.mapError(
        Schema.decodeUnknownEffect(Schema.fromJsonString(schema))(new TextDecoder().decode(body)),
        (cause) => new StorageFailed({ ...target, retryable: true, cause }),
      )

    /** The object of a finished upload. Removes it again if the checksum shows that the store received other content. */
    const stored = (upload: Upload, target: Target, answer: Answer, md5: Buffer): Effect.Effect<Stored, StorageError> =>
      Effect.gen(function* () {
        if (answer.status === 412) return { _tag: "Refused", isUncertain: answer.isUncertain }
        if (answer.status !== 200 && answer.status !== 201) return yield* http.failure(target, answer)
        const { generation, md5Hash } = yield* decoded(ObjectResource, target, answer)
        if (md5Hash === undefined || md5Hash === md5.toString("base64")) return { _tag: "Stored", generation: Generation.make(generation) }
        yield* client.remove(upload.uri, Generation.make(generation))
        return yield* new StorageFailed({ ...target, retryable: true, cause: new Error("the store received other bytes than were sent") })
      })

    /** Sends a chunk until the store has all of it: the store may keep only a part, and reports how many bytes it has. */
    const sendChunk = (session: Session, bytes: Uint8Array, offset: number, total: number | undefined) =>
      Effect.gen(function* () {
        const target: Target = { uri: session.upload.uri, operation: "write" }
        const end = offset + bytes.byteLength
        for (let from = offset; ; ) {
          const answer = yield* http.send(target, {
            method: "PUT",
            url: session.address,
            headers: { "content-range": `bytes ${from}-${end - 1}/${total ?? "*"}` },
            body: bytes.subarray(from - offset),
          })
          if (answer.status !== 308) return answer
          const received = receivedOf(answer)
          if (total === undefined && received === end) return answer
          if (received <= from || received > end)
            return yield* lost(target, `the store has ${received} bytes of an upload of which ${from} were sent`)
          from = received
        }
      })

    const client: ObjectClient<Session> = {
      http,
      start: "gs://",
      algorithm: "md5",
      head: (uri) =>
        Effect.gen(function* () {
          const target: Target = { uri, operation: "read" }
          const answer = yield* http.send(target, { method: "GET", url: objectUrl(uri, `fields=${fields}`), headers: {} })
          if (isGone(answer)) return Option.none()
          if (answer.status !== 200) return yield* http.failure(target, answer)
          const resource = yield* decoded(ObjectResource, target, answer)
          return Option.some({
            generation: Generation.make(resource.generation),
            size: Number(resource.size),
            writeId: resource.metadata?.[writeIdName],
            before: resource.metadata?.[beforeName],
          })
        }),
      read: (uri, rest) => ({
        method: "GET",
        url: objectUrl(uri, rest === undefined ? "alt=media" : `alt=media&generation=${rest.generation}`),
        headers: rest === undefined ? {} : { range: `bytes=${rest.offset}-` },
      }),
      isGone,
      described: (target, headers) =>
        Effect.gen(function* () {
          const generation = headers["x-goog-generation"]
          if (generation === undefined) return yield* lost(target, "the answer names no generation")
          // An object that is stored as gzip arrives decompressed: size and checksum are those of the compressed object.
          const isPacked = (headers["x-goog-stored-content-encoding"] ?? "identity") !== "identity"
          const md5 = /\bmd5=([A-Za-z0-9+/=]+)/.exec(headers["x-goog-hash"] ?? "")?.[1]
          return {
            generation: Generation.make(generation),
            size: isPacked ? undefined : Number(headers["x-goog-stored-content-length"] ?? headers["content-length"]),
            checksum: isPacked || md5 === undefined ? undefined : { algorithm: "md5", value: Buffer.from(md5, "base64").toString("hex") },
          }
        }),
      put: (upload, bytes, md5) =>
        Effect.gen(function* () {
          if (!isPossible(upload)) return { _tag: "Refused", isUncertain: false }
          const target: Target = { uri: upload.uri, operation: "write" }
          const boundary = `part-${upload.writeId}`
          const resource = { contentType: octets, md5Hash: md5.toString("base64"), metadata: metadataOf(upload) }
          const start = `--${boundary}\r\ncontent-type: application/json; charset=UTF-8\r\n\r\n${JSON.stringify(resource)}\r\n--${boundary}\r\ncontent-type: ${octets}\r\n\r\n`
          const pieces = [Buffer.from(start), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)]
          const answer = yield* http.send(target, {
            method: "POST",
            url: uploadUrl(upload, "multipart"),
            headers: { "content-type": `multipart/related; boundary=${boundary}` },
            body: joined(
              pieces,
              pieces.reduce((size, piece) => size + piece.byteLength, 0),
            ),
          })
          return yield* stored(upload, target, answer, md5)
        }),
      begin: (upload) =>
        Effect.gen(function* () {
          if (!isPossible(upload)) return undefined
          const target: Target = { uri: upload.uri, operation: "write" }
          const answer = yield* http.send(target, {
            method: "POST",
            url: uploadUrl(upload, "resumable"),
            headers: { "content-type": "application/json", "x-upload-content-type": octets },
            body: Buffer.from(JSON.stringify({ contentType: octets, metadata: metadataOf(upload) })),
          })
          if (answer.status === 412) return undefined
          const address = answer.headers["location"]
          if (answer.status !== 200 || address === undefined) return yield* http.failure(target, answer)
          return { upload, address }
        }),
      append: (session, bytes, offset) =>
        Effect.gen(function* () {
          const target: Target = { uri: session.upload.uri, operation: "write" }
          const answer = yield* sendChunk(session, bytes, offset, undefined)
          if (answer.status !== 308)
            return yield* isSessionGone(answer) ? lost(target, "the upload session is gone") : http.failure(target, answer)
        }),
      finish: (session, bytes, offset, md5) =>
        Effect.gen(function* () {
          const { upload } = session
          const target: Target = { uri: upload.uri, operation: "write" }
          const answer = yield* sendChunk(session, bytes, offset, offset + bytes.byteLength)
          if (!isSessionGone(answer)) return yield* stored(upload, target, answer, md5)
          // An earlier attempt may have finished the upload.
          const head = Option.getOrUndefined(yield* client.head(upload.uri))
          if (head?.writeId === upload.writeId) return { _tag: "Stored", generation: head.generation }
          return yield* lost(target, "the upload session is gone")
        }),
      abandon: ({ upload, address }) =>
        Effect.gen(function* () {
          const target: Target = { uri: upload.uri, operation: "write" }
          const answer = yield* http.send(target, { method: "DELETE", url: address, headers: {} })
          if (![200, 204, 404, 410, 499].includes(answer.status)) return yield* http.failure(target, answer)
        }),
      list: (folder, page) =>
        Effect.gen(function* () {
          const target: Target = { uri: folder, operation: "list" }
          const { bucket, key: prefix } = locationOf(folder)
          const from = page === undefined ? "" : `&pageToken=${encodeURIComponent(page)}`
          const query = `prefix=${encodeURIComponent(prefix)}&maxResults=1000&fields=nextPageToken,items(name,generation,size)${from}`
          const answer = yield* http.send(target, { method: "GET", url: `${endpoint}/storage/v1/b/${bucket}/o?${query}`, headers: {} })
          if (answer.status !== 200) return yield* http.failure(target, answer)
          const { items = [], nextPageToken: next } = yield* decoded(Listing, target, answer)
          const objects = items.map(({ name, generation, size }) => ({
            key: name,
            generation: Generation.make(generation),
            size: Number(size),
          }))
          return { ...listedPage(folder, objects), next }
        }),
      remove: (uri, generation) =>
        Effect.gen(function* () {
          if (!isNumber(generation)) return false
          const target: Target = { uri, operation: "remove" }
          const answer = yield* http.send(target, { method: "DELETE", url: objectUrl(uri, `ifGenerationMatch=${generation}`), headers: {} })
          if (answer.status === 204 || answer.status === 200) return true
          if (answer.status === 412) return false
          // If an earlier attempt has removed the object, the store reports it as missing.
          if (isGone(answer)) return answer.isUncertain
          return yield* http.failure(target, answer)
        }),
    }
    return makeObjectStorage(client, options)
  })

export const layer = (options: GcsStorageOptions): Layer.Layer<Storage> => Layer.effect(Storage, make(options))

const octets = "application/octet-stream"

const withScheme = (host: string): string => (/^https?:\/\//.test(host) ? host : `http://${host}`)

const isNumber = (generation: string): boolean => /^\d{1,19}$/.test(generation)

/** False for a generation of another store, which no object here can have. */
const isPossible = ({ expected }: Upload): boolean => expected?.generation === undefined || isNumber(expected.generation)

const isSessionGone = ({ status }: Answer): boolean => status === 404 || status === 410

/** Number of bytes of an upload that the store has. */
const receivedOf = ({ headers }: Answer): number => {
  const end = /^bytes=0-(\d{1,15})$/.exec(headers["range"] ?? "")?.[1]
  return end === undefined ? 0 : Number(end) + 1
}

const ErrorAnswer = Schema.fromJsonString(
  Schema.Struct({
    error: Schema.Struct({
      message: Schema.optionalKey(Schema.String),
      errors: Schema.optionalKey(Schema.Array(Schema.Struct({ reason: Schema.optionalKey(Schema.String) }))),
    }),
  }),
)

/** The error body is JSON, or plain text in response to a media request. */
const problemOf = (body: Uint8Array): Problem => {
  const text = new TextDecoder().decode(body.subarray(0, 10_000))
  return Option.match(Schema.decodeOption(ErrorAnswer)(text), {
    onNone: () => ({ code: "", message: text.slice(0, 300) }),
    onSome: ({ error }) => ({ code: error.errors?.[0]?.reason ?? "", message: error.message ?? "" }),
  })
}
