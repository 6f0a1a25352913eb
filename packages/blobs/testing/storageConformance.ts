/** The conformance suite that every storage must pass, for vitest: run it on a storage of your own. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Stream from "effect/Stream"
import { contentHashOf } from "../src/storage/ContentHash.ts"
import { blobIn, folderIn, getText, ifAbsent, ifGeneration, Storage, type StorageFolder, StorageUri } from "../src/storage/Storage.ts"
import { registerAgreement } from "./storageAgreement.ts"
import { registerContention } from "./storageContention.ts"

export interface StorageKitOptions {
  /** The folder that the tests may write to; each test uses a subfolder of its own. */
  readonly folder: StorageFolder
  /** Number of random sequences of operations. Use fewer if each operation is a network call. Default: 40. */
  readonly runs?: number
  /** Whether the generation is derived from the content, as on S3: writing the same content again keeps it. Default: false. */
  readonly generationsFollowContent?: boolean
  /**
   * Whether responses can get lost: then a concurrent write may fail with `StorageFailed` although its outcome is unknown, and a read
   * may fail with it if its blob was replaced meanwhile. Default: false.
   */
  readonly losesAnswers?: boolean
}

export const storageConformance = <E>(name: string, storage: Layer.Layer<Storage, E>, options: StorageKitOptions): void =>
  layer(storage, { excludeTestServices: true, timeout: "60 seconds" })(`${name}: storage`, (it) => {
    const freshFolder = Effect.map(Random.nextIntBetween(0, 2 ** 40), (number) => folderIn(options.folder, `t${number.toString(36)}`))
    const fresh = Effect.gen(function* () {
      const folder = yield* freshFolder
      return { storage: yield* Storage, folder, uri: blobIn(folder, "a/blob.txt") }
    })

    it.effect("a blob that was set can be read, with its size, hash and generation", () =>
      Effect.gen(function* () {
        const { storage, uri } = yield* fresh
        const text = "Ålesund 東京 👩‍🚀 \u0000 end"
        const written = yield* storage.set(uri, text)
        const blob = yield* storage.get(uri)
        const bytes = new TextEncoder().encode(text)
        assert.deepStrictEqual(blob.bytes, bytes)
        assert.deepStrictEqual({ ...written, bytes }, { ...blob })
        assert.deepStrictEqual([blob.size, blob.hash, blob.uri], [bytes.length, contentHashOf(text), uri])
        assert.deepStrictEqual(yield* storage.info(uri), Option.some({ uri, generation: blob.generation, size: blob.size }))
        assert.strictEqual(yield* getText(storage, uri), text)
      }),
    )

    it.effect("a blob may be empty, or contain any bytes", () =>
      Effect.gen(function* () {
        const { storage, uri } = yield* fresh
        yield* storage.set(uri, "")
        assert.strictEqual((yield* storage.get(uri)).size, 0)
        assert.deepStrictEqual(yield* Stream.mkUint8Array(storage.getStream(uri)), new Uint8Array(0))
        const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
        yield* storage.set(uri, bytes)
        assert.deepStrictEqual((yield* storage.get(uri)).bytes, bytes)
      }),
    )

    it.effect("a missing blob and an unreadable one fail differently", () =>
      Effect.gen(function* () {
        const { storage, uri, folder } = yield* fresh
        assert.strictEqual((yield* Effect.flip(storage.get(uri)))._tag, "BlobNotFound")
        assert.strictEqual((yield* Effect.flip(Stream.runDrain(storage.getStream(uri))))._tag, "BlobNotFound")
        assert.deepStrictEqual(yield* storage.info(uri), Option.none())
        assert.isFalse(yield* storage.remove(uri))
        assert.deepStrictEqual(yield* Stream.runCollect(storage.list(folder)), [])
        // A folder is not a blob, and there is no blob below a blob.
        yield* storage.set(uri, "x")
        assert.strictEqual((yield* Effect.flip(storage.get(blobIn(folder, "a"))))._tag, "BlobNotFound")
        assert.strictEqual((yield* Effect.flip(storage.get(blobIn(folder, "a/blob.txt/b"))))._tag, "BlobNotFound")
      }),
    )

    it.effect("an address of another storage is refused", () =>
      Effect.gen(function* () {
        const { storage, folder } = yield* fresh
        const other = StorageUri.make(folder.startsWith("s3:") ? ("gs://bucket/a" as StorageUri) : ("s3://bucket/a" as StorageUri))
        assert.strictEqual((yield* Effect.flip(storage.get(other)))._tag, "AddressRefused")
        assert.strictEqual((yield* Effect.flip(storage.set(other, "x")))._tag, "AddressRefused")
        assert.strictEqual((yield* Effect.flip(storage.remove(other)))._tag, "AddressRefused")
      }),
    )

    it.effect(
      options.generationsFollowContent === true
        ? "every write of different content gets a new generation"
        : "every write gets a new generation, even with the same content and after a removal",
      () =>
        Effect.gen(function* () {
          const { storage, uri } = yield* fresh
          const seen = new Set<string>()
          for (let round = 0; round < 20; round++) {
            const content = options.generationsFollowContent === true ? `${round}` : "same"
            seen.add((yield* storage.set(uri, content)).generation)
            if (round % 5 === 4) assert.isTrue(yield* storage.remove(uri))
          }
          assert.strictEqual(seen.size, 20)
        }),
    )

    it.effect("set with ifAbsent writes once and changes nothing afterwards", () =>
      Effect.gen(function* () {
        const { storage, uri } = yield* fresh
        const first = yield* storage.set(uri, "first", ifAbsent)
        const refused = yield* Effect.flip(storage.set(uri, "second", ifAbsent))
        assert.deepInclude(refused, { _tag: "PreconditionFailed", expected: undefined, actual: first.generation })
        assert.strictEqual(yield* getText(storage, uri), "first")
      }),
    )

    it.effect("set at a generation writes only while no other process has written", () =>
      Effect.gen(function* () {
        const { storage, uri } = yield* fresh
        const first = yield* storage.set(uri, "first")
        const second = yield* storage.set(uri, "second", ifGeneration(first.generation))
        const refused = yield* Effect.flip(storage.set(uri, "third", ifGeneration(first.generation)))
        assert.deepInclude(refused, { _tag: "PreconditionFailed", expected: first.generation, actual: second.generation })
        assert.strictEqual(yield* getText(storage, uri), "second")
        yield* storage.remove(uri)
        const gone = yield* Effect.flip(storage.set(uri, "fourth", ifGeneration(second.generation)))
        assert.deepInclude(gone, { _tag: "PreconditionFailed", actual: undefined })
      }),
    )

    it.effect("remove at a generation removes only while no other process has written", () =>
      Effect.gen(function* () {
        const { storage, uri } = yield* fresh
        const first = yield* storage.set(uri, "first")
        const second = yield* storage.set(uri, "second")
        assert.strictEqual((yield* Effect.flip(storage.remove(uri, ifGeneration(first.generation))))._tag, "PreconditionFailed")
        assert.isTrue(yield* storage.remove(uri, ifGeneration(second.generation)))
        assert.deepStrictEqual(yield* storage.info(uri), Option.none())
      }),
    )

    it.effect("a folder lists the blobs below it, in code point order", () =>
      Effect.gen(function* () {
        const { storage, folder } = yield* fresh
        const names = ["a.txt", "a/b/c.txt", "a/b.txt", "a0.txt", "Z", "ø.txt", "\uffdd", "😀", "a b#?.txt"]
        yield* Effect.forEach(names, (name) => storage.set(blobIn(folder, name), name), { concurrency: 4 })
        yield* storage.set(blobIn(folder, "a2/not-in-a.txt"), "x")
        const listed = (path: string) =>
          Effect.map(Stream.runCollect(storage.list(folderIn(folder, path))), (all) => all.map(({ uri }) => uri))
        assert.deepStrictEqual(
          yield* listed("a"),
          ["a/b.txt", "a/b/c.txt"].map((name) => blobIn(folder, name)),
        )
        const everything = yield* Stream.runCollect(storage.list(folder))
        const ordered = ["Z", "a b#?.txt", "a.txt", "a/b.txt", "a/b/c.txt", "a0.txt", "a2/not-in-a.txt", "ø.txt", "\uffdd", "😀"]
        assert.deepStrictEqual(
          everything.map(({ uri }) => uri),
          ordered.map((name) => blobIn(folder, name)),
        )
        for (const info of everything) assert.deepStrictEqual(yield* storage.info(info.uri), Option.some(info))
      }),
    )

    it.effect("a stream is stored as one blob, and read back as a stream", () =>
      Effect.gen(function* () {
        const { storage, uri } = yield* fresh
        const piece = (number: number) => new Uint8Array(100_000).fill(number)
        const written = yield* storage.setStream(uri, Stream.map(Stream.range(0, 29), piece))
        assert.strictEqual(written.size, 3_000_000)
        const blob = yield* storage.get(uri)
        assert.deepStrictEqual([blob.hash, blob.bytes[0], blob.bytes[2_999_999]], [written.hash, 0, 29])
        assert.deepStrictEqual(yield* Stream.mkUint8Array(storage.getStream(uri)), blob.bytes)
      }),
    )

    it.effect("a stream that fails or is interrupted leaves the blob unchanged", () =>
      Effect.gen(function* () {
        const { storage, uri } = yield* fresh
        const some = Stream.succeed(new Uint8Array(10_000))
        const failing = Stream.concat(some, Stream.fail("cut off" as const))
        assert.strictEqual(yield* Effect.flip(storage.setStream(uri, failing)), "cut off")
        assert.deepStrictEqual(yield* storage.info(uri), Option.none())
        yield* storage.set(uri, "before")
        yield* Effect.timeoutOption(storage.setStream(uri, Stream.concat(some, Stream.never)), "50 millis")
        assert.strictEqual(yield* getText(storage, uri), "before")
      }),
    )

    registerContention(it, fresh, options.losesAnswers === true)
    registerAgreement(it, fresh, options.runs ?? 40)
  })
