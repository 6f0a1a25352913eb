/**
 * A storage on a bucket of an object store. This is the part that all stores share: access checks, reads that resume after a broken
 * connection, checksums, chunked uploads in bounded memory, and idempotent writes: every write carries a unique id in the metadata of
 * its object, so that a retry after a lost response recognises its own write.
 */

import { createHash } from "node:crypto"
import { crc32 } from "node:zlib"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Stream from "effect/Stream"
import { contentHashOf, startHash } from "../storage/ContentHash.ts"
import {
  AddressRefused,
  type Blob,
  type BlobInfo,
  BlobNotFound,
  type Generation,
  openingStep,
  type Precondition,
  PreconditionFailed,
  type StorageError,
  StorageFailed,
  type StorageFolder,
  type StorageService,
  type StorageUri,
  type Written,
} from "../storage/Storage.ts"
import {
  type Answer,
  type ByteStream,
  ConnectionBroken,
  joined,
  type ObjectHttp,
  type ObjectRequest,
  type Received,
  type Target,
} from "./ObjectHttp.ts"

/** The blobs of a bucket that the storage serves. */
export interface BucketScope {
  /** The writable folder: `gs://bucket/prefix/`. Without it, the storage is read-only. */
  readonly root?: StorageFolder | undefined
  /** Further readable folders. */
  readonly readable?: ReadonlyArray<StorageFolder>
  /** Returns folders that became readable after the storage was opened. Called when an address is in none of the others. */
  readonly allowedSince?: (() => ReadonlyArray<StorageFolder> | Promise<ReadonlyArray<StorageFolder>>) | undefined
}

/** The precondition of a write. `undefined`: none. */
export type Expected = { readonly generation: Generation | undefined } | undefined

export interface ObjectHead {
  readonly generation: Generation
  readonly size: number
  /** The id of the write that created the object; undefined if another program wrote it. */
  readonly writeId: string | undefined
  /** The generation that the write's precondition required, or `none` if the object had to be absent. */
  readonly before: string | undefined
}

export type Algorithm = "md5" | "crc32"

/** The checksum of the whole object, as the store reports it. */
export interface Checksum {
  readonly algorithm: Algorithm
  /** In lower-case hex digits. */
  readonly value: string
}

export interface OpenedObject {
  readonly generation: Generation
  /** Undefined if the object is decompressed in transit. */
  readonly size: number | undefined
  readonly checksum: Checksum | undefined
  readonly received: Pick<Received, "stream" | "whole">
}

export interface Upload {
  readonly uri: StorageUri
  readonly expected: Expected
  readonly writeId: string
}

/** The metadata by which a write recognises its own object. */
export const metadataOf = ({ writeId, expected }: Upload): Readonly<Record<string, string>> => ({
  [writeIdName]: writeId,
  ...(expected === undefined ? {} : { [beforeName]: expected.generation ?? "none" }),
})

export const writeIdName = "detent-write"

export const beforeName = "detent-before"

/** `Refused`: the precondition does not hold. */
export type Stored =
  | { readonly _tag: "Stored"; readonly generation: Generation }
  | {
      readonly _tag: "Refused"
      /** An earlier attempt of the same write may have taken effect. */
      readonly isUncertain: boolean
    }

export interface ListedPage {
  readonly blobs: ReadonlyArray<BlobInfo>
  /** Keys that no address can have: another program wrote them. */
  readonly unusable: ReadonlyArray<string>
  readonly next: string | undefined
}

/** The protocol of one store. Operations retry internally before they fail. */
export interface ObjectClient<Session> {
  readonly http: ObjectHttp
  /** The scheme in errors: `gs://`. */
  readonly start: "gs://" | "s3://"
  /** The checksum algorithm for uploads. */
  readonly algorithm: Algorithm
  readonly head: (uri: StorageUri) => Effect.Effect<Option.Option<ObjectHead>, StorageError>
  /** The request for the bytes of an object, or for the bytes from an offset on at a generation. */
  readonly read: (uri: StorageUri, rest?: { readonly generation: Generation; readonly offset: number }) => ObjectRequest
  /** Whether the response to `read` means that the object does not exist, or not at that generation, although its bucket exists. */
  readonly isGone: (answer: Answer) => boolean
  /** Reads generation, size and checksum from the headers of a response. */
  readonly described: (target: Target, headers: Answer["headers"]) => Effect.Effect<Omit<OpenedObject, "received">, StorageFailed>
  readonly put: (upload: Upload, bytes: Uint8Array, digest: Buffer) => Effect.Effect<Stored, StorageError>
  /** Begins an upload of more than one chunk. Undefined if the precondition already fails. */
  readonly begin: (upload: Upload) => Effect.Effect<Session | undefined, StorageError>
  readonly append: (session: Session, bytes: Uint8Array, offset: number) => Effect.Effect<void, StorageError>
  /** Sends the last chunk and creates the object, unless the precondition does not hold. */
  readonly finish: (session: Session, bytes: Uint8Array, offset: number, digest: Buffer) => Effect.Effect<Stored, StorageError>
  /** Removes the parts of an unfinished upload. */
  readonly abandon: (session: Session) => Effect.Effect<void, StorageError>
  readonly list: (folder: StorageFolder, page: string | undefined) => Effect.Effect<ListedPage, StorageError>
  /** Whether the object was at that generation and is removed. */
  readonly remove: (uri: StorageUri, generation: Generation) => Effect.Effect<boolean, StorageError>
}

/** The size of a chunk in bytes. It grows, since stores limit the number of chunks; 10,000 of them hold 580 GB. */
const chunkSize = (index: number): number => Math.min(64, 8 * 2 ** Math.floor(index / 1000)) * 1024 * 1024

export const makeObjectStorage = <Session>(client: ObjectClient<Session>, scope: BucketScope): StorageService => {
  const { http } = client
  const { root, allowedSince } = scope
  const opened = [...(root === undefined ? [] : [root]), ...(scope.readable ?? [])]

  const readable = (uri: StorageUri | StorageFolder): Effect.Effect<void, AddressRefused | StorageFailed> =>
    Effect.suspend(() => {
      // A single file can be opened too: then the folder is its address with a slash.
      const isIn = (folder: StorageFolder) => `${uri}/`.startsWith(folder) && uri.startsWith(client.start)
      if (opened.some(isIn)) return Effect.void
      const nextStep =
        opened.length === 0
          ? `no folder that begins with ${client.start} is opened; ${openingStep}`
          : `the opened folders are ${opened.join(", ")}; ${openingStep}`
      return Effect.flatMap(
        Effect.tryPromise({
          try: async () => (await allowedSince?.())?.some(isIn) === true,
          catch: (cause) => new StorageFailed({ uri, operation: "open", retryable: true, cause }),
        }),
        (isAllowed) =>
          isAllowed ? Effect.void : Effect.fail(new AddressRefused({ uri, problem: "is not in an opened folder", nextStep })),
      )
    })

  const writable = (uri: StorageUri): Effect.Effect<void, AddressRefused> =>
    Effect.suspend(() =>
      root !== undefined && uri.startsWith(root)
        ? Effect.void
        : Effect.fail(
            new AddressRefused({
              uri,
              problem: "is not in the writable folder",
              nextStep: root === undefined ? "name that folder with --data" : `use an address below ${root}`,
            }),
          ),
    )

  const newWriteId = Effect.map(Effect.all([Random.nextIntBetween(0, 2 ** 48), Random.nextIntBetween(0, 2 ** 48)]), (parts) =>
    parts.map((part) => part.toString(16).padStart(12, "0")).join(""),
  )

  const uploadAt = (uri: StorageUri, expected: Expected): Effect.Effect<Upload> =>
    Effect.map(newWriteId, (writeId) => ({ uri, expected, writeId }))

  /**
   * The generation of a finished write. A retried write whose response was lost finds its own object, by its write id. If it finds an
   * object of another writer that replaced a generation other than the expected one, the outcome is unknown: the write was either
   * refused, or took effect and was replaced in turn.
   */
  const concluded = ({ uri, expected, writeId }: Upload, stored: Stored): Effect.Effect<Generation, StorageError> =>
    stored._tag === "Stored"
      ? Effect.succeed(stored.generation)
      : Effect.flatMap(client.head(uri), (head): Effect.Effect<Generation, StorageError> => {
          const object = Option.getOrUndefined(head)
          if (object?.writeId === writeId) return Effect.succeed(object.generation)
          if (stored.isUncertain && object !== undefined && object.before !== (expected?.generation ?? "none")) {
            const cause = new Error(
              "the response was lost, and another process has written since: the write may have happened; read it again",
            )
            return Effect.fail(new StorageFailed({ uri, operation: "write", retryable: true, cause }))
          }
          return Effect.fail(new PreconditionFailed({ uri, expected: expected?.generation, actual: object?.generation }))
        })

  /**
   * Repeats an unconditional change, each time with the current generation as its precondition: without one, a retried request could
   * undo the write of another process.
   */
  const atCurrent = <A>(
    uri: StorageUri,
    change: (current: Option.Option<ObjectHead>) => Effect.Effect<A, StorageError>,
    attempt = 1,
  ): Effect.Effect<A, StorageError> =>
    Effect.flatMap(client.head(uri), change).pipe(
      Effect.catchTag("PreconditionFailed", (failure) =>
        attempt >= mostRaces
          ? Effect.fail(failure)
          : Effect.andThen(
              http.backoff(Math.min(attempt, 3)),
              Effect.suspend(() => atCurrent(uri, change, attempt + 1)),
            ),
      ),
    )

  const putAt = (uri: StorageUri, bytes: Uint8Array, expected: Expected, digest: Buffer): Effect.Effect<Generation, StorageError> =>
    Effect.gen(function* () {
      const upload = yield* uploadAt(uri, expected)
      return yield* concluded(upload, yield* client.put(upload, bytes, digest))
    })

  const putWhole = (
    uri: StorageUri,
    bytes: Uint8Array,
    precondition: Precondition | undefined,
    digest = digestOf(client.algorithm, bytes),
  ) =>
    precondition === undefined
      ? atCurrent(uri, (current) => putAt(uri, bytes, expectedAt(current), digest))
      : putAt(uri, bytes, expectedBy(precondition), digest)

  const setStream = <E, R>(
    uri: StorageUri,
    content: Stream.Stream<Uint8Array, E, R>,
    precondition: Precondition | undefined,
  ): Effect.Effect<Written, StorageError | E, R> =>
    Effect.gen(function* () {
      yield* writable(uri)
      const upload = yield* uploadAt(uri, precondition === undefined ? undefined : expectedBy(precondition))
      const chunks = new Chunks(client.algorithm)
      let session: Session | undefined
      const flush = Effect.gen(function* () {
        session ??= yield* client.begin(upload)
        if (session === undefined) {
          yield* concluded(upload, { _tag: "Refused", isUncertain: false })
          return yield* Effect.die(new Error(`${uri} was refused, but is stored`))
        }
        const { bytes, offset } = chunks.held()
        yield* client.append(session, bytes, offset)
        chunks.sent()
      })
      const take = (piece: Uint8Array) =>
        Effect.gen(function* () {
          for (let rest = piece; rest.byteLength > 0; rest = chunks.fill(rest)) if (chunks.isFull) yield* flush
        })
      const run = Effect.gen(function* () {
        yield* Stream.runForEach(content, take)
        const { bytes, offset } = chunks.held()
        const digest = chunks.digest()
        const generation =
          session === undefined
            ? yield* putWhole(uri, bytes, precondition, digest)
            : yield* concluded(upload, yield* client.finish(session, bytes, offset, digest))
        return { uri, generation, size: offset + bytes.byteLength, hash: chunks.hash.end() }
      })
      return yield* Effect.onError(run, () => (session === undefined ? Effect.void : abandoned(client, session, uri)))
    })

  const open = (uri: StorageUri): Effect.Effect<OpenedObject, StorageError> =>
    Effect.gen(function* () {
      const target: Target = { uri, operation: "read" }
      const answer = yield* http.open(target, client.read(uri))
      if (client.isGone(answer)) return yield* new BlobNotFound({ uri })
      if (answer.status !== 200) return yield* http.failure(target, answer)
      return { ...(yield* client.described(target, answer.headers)), received: answer }
    })

  /** The bytes from `offset` on. Undefined if the object is no longer at that generation. */
  const reopen = (uri: StorageUri, generation: Generation, offset: number): Effect.Effect<ByteStream | undefined, StorageError> =>
    Effect.gen(function* () {
      const target: Target = { uri, operation: "read" }
      const answer = yield* http.open(target, client.read(uri, { generation, offset }))
      if (client.isGone(answer)) return undefined
      return answer.status === 206 ? answer.stream : yield* http.failure(target, answer)
    })

  /**
   * The whole content of an opened object: if the connection breaks, another one resumes at the same offset. `problem`: the first
   * connection has already broken, and none of its bytes are used.
   */
  const wholeOf = (uri: StorageUri, opened: OpenedObject, problem?: string): Stream.Stream<Uint8Array, StorageError> =>
    Stream.suspend(() => {
      const digest = opened.checksum === undefined ? undefined : startDigest(opened.checksum.algorithm)
      let at = 0
      let failures = 0
      const failed = (cause: Error) => Stream.fail(new StorageFailed({ uri, operation: "read", retryable: true, cause }))
      const verified = (): Stream.Stream<never, StorageError> => {
        const problem = digest === undefined ? undefined : damageOf(opened, digest.end())
        return problem === undefined ? Stream.empty : failed(problem)
      }
      const readOn = (problem: string): Stream.Stream<Uint8Array, StorageError> =>
        Stream.unwrap(
          Effect.gen(function* () {
            failures++
            if (failures >= http.attempts || opened.size === undefined) return failed(new Error(problem))
            yield* http.backoff(failures)
            const stream = yield* reopen(uri, opened.generation, at)
            return stream === undefined ? failed(new ReadBroken("it was written or removed while it was read")) : passing(stream)
          }),
        )
      const passing = (stream: ByteStream): Stream.Stream<Uint8Array, StorageError> =>
        stream.pipe(
          Stream.map((piece) => {
            failures = 0
            at += piece.byteLength
            digest?.update(piece)
            return piece
          }),
          Stream.concat(
            Stream.suspend(
              (): Stream.Stream<never, ConnectionBroken | StorageError> =>
                opened.size !== undefined && at < opened.size
                  ? Stream.fail(new ConnectionBroken({ message: "the answer ended early" }))
                  : verified(),
            ),
          ),
          Stream.catchTag("ConnectionBroken", ({ message }) => readOn(message)),
        )
      return problem === undefined ? passing(opened.received.stream) : readOn(problem)
    })

  const collected = (content: Stream.Stream<Uint8Array, StorageError>): Effect.Effect<Uint8Array, StorageError> =>
    Effect.suspend(() => {
      const pieces: Array<Uint8Array> = []
      let size = 0
      const take = (piece: Uint8Array) =>
        Effect.sync(() => {
          size += piece.byteLength
          pieces.push(piece)
        })
      return Effect.map(Stream.runForEach(content, take), () => joined(pieces, size))
    })

  /** The bytes of a small object, which is read again from the start if its connection breaks. */
  const smallOf = (uri: StorageUri, opened: OpenedObject, size: number): Effect.Effect<Uint8Array, StorageError> =>
    Effect.matchEffect(opened.received.whole(size), {
      onFailure: ({ message }) => collected(wholeOf(uri, opened, message)),
      onSuccess: (bytes) => {
        if (bytes.byteLength < size) return collected(wholeOf(uri, opened, "the answer ended early"))
        const problem = opened.checksum === undefined ? undefined : damageOf(opened, digestOf(opened.checksum.algorithm, bytes))
        if (problem === undefined) return Effect.succeed(bytes)
        return Effect.fail(new StorageFailed({ uri, operation: "read", retryable: true, cause: problem }))
      },
    })

  const get = (uri: StorageUri): Effect.Effect<Blob, StorageError> =>
    Effect.gen(function* () {
      yield* readable(uri)
      const opened = yield* open(uri)
      const isSmall = opened.size !== undefined && opened.size <= smallest
      const bytes = yield* isSmall ? smallOf(uri, opened, opened.size) : collected(wholeOf(uri, opened))
      return { uri, generation: opened.generation, size: bytes.byteLength, bytes, hash: contentHashOf(bytes) }
    })

  const remove = (uri: StorageUri, precondition: Precondition | undefined): Effect.Effect<boolean, StorageError> =>
    Effect.andThen(
      writable(uri),
      precondition === undefined
        ? atCurrent(uri, (current) => (Option.isNone(current) ? Effect.succeed(false) : removeAt(uri, current.value.generation)))
        : Effect.flatMap(client.head(uri), (head) => {
            // Checked first: if the object is missing after a lost response, either that attempt removed it or it never existed.
            const { generation: expected } = expectedBy(precondition)
            const actual = Option.getOrUndefined(head)?.generation
            if (actual !== expected) return Effect.fail(new PreconditionFailed({ uri, expected, actual }))
            return expected === undefined ? Effect.succeed(false) : removeAt(uri, expected)
          }),
    )

  const removeAt = (uri: StorageUri, generation: Generation): Effect.Effect<boolean, StorageError> =>
    Effect.filterOrElse(
      client.remove(uri, generation),
      (isGone) => isGone,
      () =>
        Effect.flatMap(client.head(uri), (head) =>
          Effect.fail(new PreconditionFailed({ uri, expected: generation, actual: Option.getOrUndefined(head)?.generation })),
        ),
    )

  return {
    // A broken read is repeated from the start, since none of its bytes were returned yet.
    get: (uri) =>
      Effect.retry(get(uri), {
        times: http.attempts,
        while: (error) => error._tag === "StorageFailed" && error.cause instanceof ReadBroken,
      }),
    getStream: (uri) => Stream.unwrap(Effect.map(Effect.andThen(readable(uri), open(uri)), (opened) => wholeOf(uri, opened))),
    info: (uri) =>
      Effect.map(
        Effect.andThen(readable(uri), client.head(uri)),
        Option.map(({ generation, size }) => ({ uri, generation, size })),
      ),
    set: (uri, content, precondition) =>
      Effect.gen(function* () {
        yield* writable(uri)
        const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content
        if (bytes.byteLength > chunkSize(0)) return yield* setStream(uri, Stream.succeed(bytes), precondition)
        const generation = yield* putWhole(uri, bytes, precondition)
        return { uri, generation, size: bytes.byteLength, hash: contentHashOf(bytes) }
      }),
    setStream,
    list: (folder) =>
      Stream.unwrap(
        Effect.as(
          readable(folder),
          Stream.paginate(firstPage, ({ page, unusable, count }) =>
            Effect.gen(function* () {
              const { blobs, next, ...listed } = yield* client.list(folder, page)
              const names = [...unusable, ...listed.unusable].slice(0, namedAtMost)
              const counted = count + listed.unusable.length
              if (next === undefined && counted > 0) return yield* unusableNames(folder, names, counted)
              return [blobs, Option.map(Option.fromUndefinedOr(next), (one): Listing => ({ page: one, unusable: names, count: counted }))]
            }),
          ),
        ),
      ),
    remove,
  }
}

/** The state of a listing: the next page, and the names so far that no address can have. */
interface Listing {
  readonly page: string | undefined
  readonly unusable: ReadonlyArray<string>
  readonly count: number
}

const firstPage: Listing = { page: undefined, unusable: [], count: 0 }

/** Maximum number of names in one error. */
const namedAtMost = 20

/** Skipping these objects would hide them. The error names many at once, so that the user can rename them in one go. */
const unusableNames = (folder: StorageFolder, names: ReadonlyArray<string>, count: number) => {
  const more = count > names.length ? ` and ${count - names.length} more` : ""
  const listed = `${names.map((name) => JSON.stringify(name)).join(", ")}${more}`
  const problem = `${listed} ${count === 1 ? "has a name" : "have names"} no address can have: a part is empty, "." or "..", or has control characters`
  const cause = new Error(`${problem}; rename ${count === 1 ? "it" : "them"}`)
  return new StorageFailed({ uri: folder, operation: "list", retryable: false, cause })
}

/** Maximum number of attempts of an unconditional change against concurrent writers. */
const mostRaces = 50

/** The bytes read so far are useless: they are damaged, or the rest is gone. */
class ReadBroken extends Error {}

const expectedBy = (precondition: Precondition): NonNullable<Expected> => ({
  generation: precondition._tag === "AtGeneration" ? precondition.generation : undefined,
})

const expectedAt = (current: Option.Option<ObjectHead>): Expected => ({ generation: Option.getOrUndefined(current)?.generation })

/** Objects up to this size are read whole rather than as a stream. */
const smallest = 1024 * 1024

/** An incremental checksum for streams. */
const startDigest = (algorithm: Algorithm): { readonly update: (piece: Uint8Array) => void; readonly end: () => Buffer } => {
  if (algorithm === "md5") {
    const md5 = createHash("md5")
    return { update: (piece) => md5.update(piece), end: () => md5.digest() }
  }
  let crc = 0
  return {
    update: (piece) => {
      crc = crc32(piece, crc)
    },
    end: () => bytesOfCrc(crc),
  }
}

const digestOf = (algorithm: Algorithm, bytes: Uint8Array): Buffer =>
  algorithm === "md5" ? createHash("md5").update(bytes).digest() : bytesOfCrc(crc32(bytes))

const bytesOfCrc = (crc: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(crc)
  return bytes
}

const damageOf = ({ checksum }: OpenedObject, digest: Buffer): ReadBroken | undefined => {
  const actual = digest.toString("hex")
  if (checksum === undefined || actual === checksum.value) return undefined
  return new ReadBroken(
    `its ${checksum.algorithm} is ${actual}, but the store reports ${checksum.value}: the content was damaged in transit`,
  )
}

/** The store's lifecycle rules remove abandoned uploads too, so a failure here is a warning. */
const abandoned = <Session>(client: ObjectClient<Session>, session: Session, uri: StorageUri): Effect.Effect<void> =>
  Effect.catch(client.abandon(session), (error) => Effect.logWarning(`cannot remove an unfinished upload of ${uri}: ${error.message}`))

/**
 * Collects pieces of any size into chunks of the size that a store accepts. One buffer is reused for all chunks, so a large blob takes
 * no more memory than a few chunks. A full chunk is held until more bytes arrive, since the last chunk is sent differently.
 */
class Chunks {
  readonly hash = startHash()
  readonly #digest: ReturnType<typeof startDigest>
  #buffer = new Uint8Array(64 * 1024)
  #held = 0
  #offset = 0
  #index = 0

  constructor(algorithm: Algorithm) {
    this.#digest = startDigest(algorithm)
  }

  /** Buffers the bytes that fit, and returns the rest. */
  fill(piece: Uint8Array): Uint8Array {
    const taken = piece.subarray(0, chunkSize(this.#index) - this.#held)
    this.#makeRoom(this.#held + taken.byteLength)
    this.#buffer.set(taken, this.#held)
    this.#held += taken.byteLength
    this.hash.update(taken)
    this.#digest.update(taken)
    return piece.subarray(taken.byteLength)
  }

  get isFull(): boolean {
    return this.#held === chunkSize(this.#index)
  }

  /** The bytes buffered since the last chunk was sent. They are valid until more are buffered. */
  held(): { readonly bytes: Uint8Array; readonly offset: number } {
    return { bytes: this.#buffer.subarray(0, this.#held), offset: this.#offset }
  }

  sent(): void {
    this.#offset += this.#held
    this.#held = 0
    this.#index++
  }

  /** The checksum of all bytes. Call it last: `fill` must not follow. */
  digest(): Buffer {
    return this.#digest.end()
  }

  #makeRoom(size: number): void {
    if (size <= this.#buffer.byteLength) return
    const larger = new Uint8Array(Math.min(chunkSize(this.#index), Math.max(size, this.#buffer.byteLength * 2)))
    larger.set(this.#buffer.subarray(0, this.#held))
    this.#buffer = larger
  }
}
