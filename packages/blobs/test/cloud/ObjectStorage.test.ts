import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as GcsStorage from "../../src/cloud/GcsStorage.ts"
import { anonymous } from "../../src/cloud/GoogleCredentials.ts"
import * as S3Storage from "../../src/cloud/S3Storage.ts"
import {
  blobIn,
  folderIn,
  getText,
  ifAbsent,
  ifGeneration,
  Storage,
  StorageFolder,
  type StorageService,
} from "../../src/storage/Storage.ts"
import { byChance, type Fault, type FaultPlan, inTurn } from "../../testing/cloud/index.ts"
import { storageConformance } from "../../testing/index.ts"
import { fakeGcs, fakeS3, gsRoot, keys, quick, s3Root } from "./fakes.ts"

/** What breaks on the way between two machines. */
const badNetwork: ReadonlyArray<Fault> = [
  { status: 429 },
  { status: 503 },
  { status: 500 },
  { status: 503, retryAfter: 0 },
  "reset before",
  "reset after",
  { cutAfter: 10 },
]

const gcsLayer = (plan: FaultPlan, pageSize?: number) =>
  Layer.effect(
    Storage,
    Effect.gen(function* () {
      const fake = yield* fakeGcs(pageSize === undefined ? {} : { pageSize })
      fake.plan = plan
      return yield* GcsStorage.make({ root: gsRoot, endpoint: fake.url, credentials: anonymous, retry: quick })
    }),
  )

const s3Layer = (plan: FaultPlan, pageSize?: number) =>
  Layer.effect(
    Storage,
    Effect.gen(function* () {
      const fake = yield* fakeS3(pageSize === undefined ? {} : { pageSize })
      fake.plan = plan
      return yield* S3Storage.make({ root: s3Root, endpoint: fake.url, keys, retry: quick })
    }),
  )

const none: FaultPlan = () => undefined

storageConformance("Google Cloud Storage", gcsLayer(none, 2), { folder: folderIn(gsRoot, "kit"), runs: 20 })
storageConformance("Google Cloud Storage, one request in five failing", gcsLayer(byChance(badNetwork, 5, 7)), {
  folder: folderIn(gsRoot, "kit"),
  runs: 10,
  losesAnswers: true,
})
storageConformance("S3", s3Layer(none, 2), { folder: folderIn(s3Root, "kit"), runs: 20, generationsFollowContent: true })
storageConformance("S3, one request in five failing", s3Layer(byChance([...badNetwork, { own: "conflict" }], 5, 11)), {
  folder: folderIn(s3Root, "kit"),
  runs: 10,
  losesAnswers: true,
  generationsFollowContent: true,
})

/**
 * The same against real buckets, where the environment names folders of them: DETENT_TEST_GCS=gs://bucket/folder/ and
 * DETENT_TEST_S3=s3://bucket/folder/, with the credentials of the environment. What the tests write there is left to the bucket's lifecycle.
 */
const { DETENT_TEST_GCS: realGcs, DETENT_TEST_S3: realS3 } = process.env
const decodeFolder = Schema.decodeUnknownSync(StorageFolder)
if (realGcs !== undefined) {
  const root = decodeFolder(realGcs)
  storageConformance("Google Cloud Storage itself", GcsStorage.layer({ root }), { folder: folderIn(root, "kit"), runs: 5 })
}
if (realS3 !== undefined) {
  const root = decodeFolder(realS3)
  storageConformance("S3 itself", S3Storage.layer({ root }), { folder: folderIn(root, "kit"), runs: 5, generationsFollowContent: true })
}

describe("the fake of Google Cloud Storage", () => {
  it.live("names the checksums of an object as the real one does", () =>
    Effect.gen(function* () {
      const { url } = yield* fakeGcs()
      const storage = yield* GcsStorage.make({ root: gsRoot, endpoint: url, credentials: anonymous, retry: quick })
      // The check values of CRC-32C: nine digits, and 32 bytes of zeros.
      for (const [content, crc32c] of [
        [new TextEncoder().encode("123456789"), "4waSgw=="],
        [new Uint8Array(32), "ipE2qg=="],
      ] as const) {
        yield* storage.set(blobIn(gsRoot, "check"), content)
        const answer = yield* Effect.promise(() => fetch(`${url}/storage/v1/b/detent-test/o/data%2Fcheck?fields=crc32c`))
        assert.deepStrictEqual(yield* Effect.promise(() => answer.json()), { crc32c })
      }
    }).pipe(Effect.scoped),
  )
})

describe("a bucket with names that no address can have", () => {
  it.live("is refused with all of them, on whatever page they are", () =>
    Effect.gen(function* () {
      const { url } = yield* fakeGcs({ pageSize: 2 })
      const storage = yield* GcsStorage.make({ root: gsRoot, endpoint: url, credentials: anonymous, retry: quick })
      for (const name of ["a.txt", "a//b.txt", "./x.txt", "folder/", "m.txt", "n.txt", "../y.txt", "z.txt"]) {
        const to = `${url}/upload/storage/v1/b/detent-test/o?uploadType=media&name=${encodeURIComponent(`data/${name}`)}`
        assert.strictEqual((yield* Effect.promise(() => fetch(to, { method: "POST", body: "x" }))).status, 200)
      }
      const { message } = yield* Effect.flip(Stream.runCollect(storage.list(gsRoot)))
      for (const name of ["data/a//b.txt", "data/./x.txt", "data/../y.txt"]) assert.include(message, JSON.stringify(name))
      assert.include(message, "rename them")
    }).pipe(Effect.scoped),
  )
})

interface Store {
  readonly name: string
  readonly root: StorageFolder
  readonly open: (options?: {
    readonly readable?: ReadonlyArray<StorageFolder>
    readonly forbidden?: ReadonlyArray<string>
    readonly allowedSince?: () => Promise<ReadonlyArray<StorageFolder>>
  }) => Effect.Effect<
    {
      readonly storage: StorageService
      readonly fake: { plan: FaultPlan; readonly requests: Array<string> }
      readonly unfinished: () => number
    },
    never,
    import("effect/Scope").Scope
  >
}

const stores: ReadonlyArray<Store> = [
  {
    name: "Google Cloud Storage",
    root: gsRoot,
    open: ({ readable = [], forbidden = [], allowedSince } = {}) =>
      Effect.gen(function* () {
        const fake = yield* fakeGcs({ forbidden })
        const storage = yield* GcsStorage.make({
          root: gsRoot,
          readable,
          allowedSince,
          endpoint: fake.url,
          credentials: anonymous,
          retry: quick,
        })
        return { storage, fake, unfinished: fake.openSessions }
      }),
  },
  {
    name: "S3",
    root: s3Root,
    open: ({ readable = [], forbidden = [], allowedSince } = {}) =>
      Effect.gen(function* () {
        const fake = yield* fakeS3({ forbidden })
        const storage = yield* S3Storage.make({ root: s3Root, readable, allowedSince, endpoint: fake.url, keys, retry: quick })
        return { storage, fake, unfinished: fake.openUploads }
      }),
  },
]

const megabyte = 1024 * 1024

/** 20 MB in pieces of 100 kB: three chunks of an upload. */
const large = Stream.map(Stream.range(0, 199), (number) => new Uint8Array(100_000).fill(number % 251))

for (const { name, root, open } of stores) {
  describe(name, () => {
    const uri = blobIn(root, "a/large.bin")

    it.live("a large stream is uploaded in chunks through a bad network, and read back whole", () =>
      Effect.gen(function* () {
        const { storage, fake, unfinished } = yield* open()
        fake.plan = byChance([...badNetwork, { own: "keep a part" }, { own: "error in ok" }, { cutAfter: 3 * megabyte }], 3, 5)
        const written = yield* storage.setStream(uri, large, ifAbsent)
        const blob = yield* storage.get(uri)
        assert.deepStrictEqual([blob.size, blob.hash, blob.generation], [20_000_000, written.hash, written.generation])
        assert.strictEqual(unfinished(), 0)
        const refused = yield* Effect.flip(storage.setStream(uri, large, ifAbsent))
        assert.strictEqual(refused._tag, "PreconditionFailed")
        yield* storage.setStream(uri, large, ifGeneration(written.generation))
        yield* storage.setStream(uri, large)
      }).pipe(Effect.scoped),
    )

    it.live("a large stream that fails or is interrupted leaves neither a blob nor an unfinished upload", () =>
      Effect.gen(function* () {
        const { storage, fake, unfinished } = yield* open()
        const failing = Stream.concat(large, Stream.fail("cut off" as const))
        assert.strictEqual(yield* Effect.flip(storage.setStream(uri, failing)), "cut off")
        const waiting = yield* Effect.forkChild(storage.setStream(uri, Stream.concat(large, Stream.never)))
        const isUploading = () => unfinished() === 1 && fake.requests.filter((request) => request.startsWith("PUT")).length > 3
        yield* Effect.suspend(() => (isUploading() ? Effect.void : Effect.fail("not yet"))).pipe(Effect.eventually)
        yield* Fiber.interrupt(waiting)
        assert.strictEqual(unfinished(), 0)
        assert.deepStrictEqual(yield* storage.info(uri), Option.none())
      }).pipe(Effect.scoped),
    )

    it.live("a write whose answer is lost has happened once", () =>
      Effect.gen(function* () {
        const { storage, fake } = yield* open()
        fake.plan = inTurn("reset after")
        const first = yield* storage.set(uri, "first", ifAbsent)
        assert.strictEqual((yield* storage.get(uri)).generation, first.generation)
        fake.plan = inTurn("reset after")
        const second = yield* storage.set(uri, "second", ifGeneration(first.generation))
        assert.strictEqual((yield* storage.get(uri)).generation, second.generation)
        fake.plan = (request) => (request.method === "DELETE" && !deleted++ ? "reset after" : undefined)
        let deleted = 0
        assert.isTrue(yield* storage.remove(uri, ifGeneration(second.generation)))
      }).pipe(Effect.scoped),
    )

    it.live("a read whose connection breaks resumes, and never mixes in a later writing", () =>
      Effect.gen(function* () {
        const { storage, fake } = yield* open()
        yield* storage.setStream(uri, large)
        fake.requests.length = 0
        fake.plan = inTurn({ cutAfter: 7 * megabyte }, "reset before", { cutAfter: 2 * megabyte })
        const bytes = yield* Stream.mkUint8Array(storage.getStream(uri))
        assert.deepStrictEqual([bytes.length, bytes[0], bytes.at(-1)], [20_000_000, 0, 199])
        assert.strictEqual(fake.requests.length, 4)

        fake.plan = (request, index) => {
          if (request.method !== "GET" || index === -1) return undefined
          fake.plan = none
          return { cutAfter: megabyte }
        }
        const overwriting = Stream.tap(storage.getStream(uri), () =>
          isOverwritten
            ? Effect.void
            : Effect.andThen(
                Effect.sync(() => (isOverwritten = true)),
                storage.set(uri, "other"),
              ),
        )
        let isOverwritten = false
        const failed = yield* Effect.flip(Stream.runDrain(overwriting))
        assert.include(failed.message, "it was written or removed while it was read")
      }).pipe(Effect.scoped),
    )

    it.live("content that was damaged on the way is noticed: got again, and refused in a stream", () =>
      Effect.gen(function* () {
        const { storage, fake } = yield* open()
        yield* storage.set(uri, "content")
        fake.plan = inTurn("damage")
        assert.strictEqual(new TextDecoder().decode((yield* storage.get(uri)).bytes), "content")
        fake.plan = inTurn("damage")
        const failed = yield* Effect.flip(Stream.runDrain(storage.getStream(uri)))
        assert.include(failed.message, "was damaged in transit")
      }).pipe(Effect.scoped),
    )

    it.live("a store that stays away fails in the end, and is never read as empty", () =>
      Effect.gen(function* () {
        const { storage, fake } = yield* open()
        for (const fault of [{ status: 503 }, "reset before"] as const) {
          fake.plan = () => fault
          fake.requests.length = 0
          for (const failed of [
            yield* Effect.flip(storage.get(uri)),
            yield* Effect.flip(storage.info(uri)),
            yield* Effect.flip(Stream.runDrain(storage.list(root))),
            yield* Effect.flip(storage.set(uri, "x")),
          ])
            assert.deepInclude(failed, { _tag: "StorageFailed", retryable: true })
          assert.strictEqual(fake.requests.length, 4 * 12)
        }
      }).pipe(Effect.scoped),
    )

    it.live("a bucket that is missing or forbidden is named with the next step, and not read as empty", () =>
      Effect.gen(function* () {
        const scheme = root.slice(0, 5)
        const missing = StorageFolder.make(`${scheme}missing-bucket/` as never)
        const forbidden = StorageFolder.make(`${scheme}forbidden-bucket/` as never)
        const { storage, fake } = yield* open({ readable: [missing, forbidden], forbidden: ["forbidden-bucket"] })
        for (const [folder, says] of [
          [missing, "create the bucket, or correct its name"],
          [forbidden, "403"],
        ] as const) {
          for (const failed of [
            yield* Effect.flip(storage.get(blobIn(folder, "a"))),
            yield* Effect.flip(storage.info(blobIn(folder, "a"))),
            yield* Effect.flip(Stream.runDrain(storage.list(folder))),
          ]) {
            assert.deepInclude(failed, { _tag: "StorageFailed", retryable: false, noAccess: true })
            assert.include(failed.message, says)
            // Its words end with the next step.
            if (folder === missing) assert.isTrue(failed.message.endsWith(says), failed.message)
          }
        }
        assert.isBelow(fake.requests.length, 10)
      }).pipe(Effect.scoped),
    )

    it.live("a missing bucket is not read as empty after another bucket was found", () =>
      Effect.gen(function* () {
        const missing = StorageFolder.make(`${root.slice(0, 5)}missing-bucket/` as never)
        const { storage } = yield* open({ readable: [missing] })
        assert.isTrue(Option.isNone(yield* storage.info(blobIn(root, "absent"))))
        const failed = yield* Effect.flip(storage.info(blobIn(missing, "absent")))
        assert.include(failed.message, "create the bucket, or correct its name")
      }).pipe(Effect.scoped),
    )

    it.live("an address fails with the reason why the folders opened since cannot be read", () =>
      Effect.gen(function* () {
        const { storage, fake } = yield* open({ allowedSince: () => Promise.reject(new Error("the list of folders is away")) })
        const beside = StorageFolder.make(`${root.slice(0, 5)}detent-test/documents/` as never)
        for (const failed of [
          yield* Effect.flip(storage.get(blobIn(beside, "a"))),
          yield* Effect.flip(storage.info(blobIn(beside, "a"))),
          yield* Effect.flip(Stream.runDrain(storage.list(beside))),
        ]) {
          assert.deepInclude(failed, { _tag: "StorageFailed", operation: "open", retryable: true })
          assert.include(failed.message, "the list of folders is away")
        }
        assert.deepStrictEqual(fake.requests, [])
      }).pipe(Effect.scoped),
    )

    it.live("addresses outside of the opened folders are refused without a request", () =>
      Effect.gen(function* () {
        const scheme = root.slice(0, 5)
        const beside = StorageFolder.make(`${scheme}detent-test/documents/` as never)
        const { storage, fake } = yield* open({ readable: [beside] })
        for (const outside of [`${scheme}detent-test/other/a`, `${scheme}detent-test/data2/a`, `${scheme}elsewhere/data/a`]) {
          const refused = yield* Effect.flip(getText(storage, outside as never))
          assert.strictEqual(refused._tag, "AddressRefused")
          assert.include(
            refused.message,
            `the opened folders are ${root}, ${beside}; put the file below the data folder, or run \`detent batch run\``,
          )
        }
        const unwritable = yield* Effect.flip(storage.set(blobIn(beside, "a"), "x"))
        assert.include(unwritable.message, "is not in the writable folder")
        assert.strictEqual((yield* Effect.flip(storage.remove(blobIn(beside, "a"))))._tag, "AddressRefused")
        assert.deepStrictEqual(fake.requests, [])
        assert.deepStrictEqual(yield* Stream.runCollect(storage.list(beside)), [])
      }).pipe(Effect.scoped),
    )
  })
}
