import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { appendFile, mkdir, readdir, stat, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { faultOf, folderOf } from "../src/file/FileBlobs.ts"
import * as FileStorage from "../src/file/FileStorage.ts"
import { contentHashOf } from "../src/storage/ContentHash.ts"
import { blobIn, getText, ifGeneration } from "../src/storage/Storage.ts"
import { storageConformance } from "../testing/index.ts"

const home = mkdtempSync(join(tmpdir(), "detent-storage-"))
afterAll(() => rmSync(home, { recursive: true, force: true }))

let roots = 0
const newRoot = () => join(home, `root-${roots++}`)

const kit = newRoot()
storageConformance("folder", FileStorage.layer({ root: kit }), { folder: folderOf(kit) })

const leftovers = (root: string) =>
  Effect.promise(async () => (await readdir(join(root, ".detent", "temporary"))).filter((name) => !name.endsWith(".lock")))

const start = (task: string, root: string): ChildProcess =>
  spawn(process.execPath, [join(import.meta.dirname, "worker.ts"), task, root], { stdio: ["ignore", "pipe", "pipe"] })

const outputOf = async (child: ChildProcess): Promise<string> => {
  let output = ""
  child.stdout?.on("data", (data) => (output += data))
  child.stderr?.on("data", (data) => (output += data))
  await once(child, "close")
  return output
}

describe("a folder as storage", () => {
  it.effect("gives every write a new generation where the system rounds the time of a file down", () =>
    Effect.gen(function* () {
      const root = newRoot()
      const storage = yield* FileStorage.make({ root })
      const uri = blobIn(folderOf(root), "stamped")
      yield* TestClock.setTime(1_790_000_000_000)
      const generations = new Set<unknown>()
      for (let sixteenth = 0; sixteenth < 16; sixteenth++) {
        const same = { nextDoubleUnsafe: () => sixteenth / 16.1, nextIntUnsafe: () => 0 }
        const write = Effect.provideService(storage.set(uri, new Uint8Array(1)), Random.Random, same)
        generations.add(yield* write)
        generations.add(yield* write)
      }
      assert.strictEqual(generations.size, 32)
    }),
  )

  it.effect("streams files of any length whole, and one that grows meanwhile to its end", () =>
    Effect.gen(function* () {
      const root = newRoot()
      const storage = yield* FileStorage.make({ root })
      const uri = blobIn(folderOf(root), "stream")
      const piece = 256 * 1024
      for (const length of [0, 1, 1000, piece - 1, piece, piece + 1, 3 * piece]) {
        const content = Uint8Array.from({ length }, (_, index) => index % 251)
        yield* storage.set(uri, content)
        const pieces = yield* Stream.runCollect(storage.getStream(uri))
        assert.deepStrictEqual(Buffer.concat(pieces), Buffer.from(content))
        let grown = 0
        yield* Stream.runForEach(storage.getStream(uri), (bytes) =>
          Effect.promise(async () => {
            if (grown === 0) await appendFile(join(root, "stream"), "more".repeat(1000))
            grown += bytes.length
          }),
        )
        // What was read to its end before it grew is whole as well.
        assert.include([length, length + 4000], grown)
        if (length > piece) assert.strictEqual(grown, length + 4000)
      }
    }).pipe(Effect.scoped),
  )

  it.live("loses no change among several processes", () =>
    Effect.gen(function* () {
      const root = newRoot()
      const storage = yield* FileStorage.make({ root })
      const uri = blobIn(folderOf(root), "count")
      yield* storage.set(uri, "0")
      const outputs = yield* Effect.promise(() => Promise.all([1, 2, 3].map(() => outputOf(start("count", root)))))
      assert.strictEqual(yield* getText(storage, uri), "150", outputs.join(""))
    }).pipe(Effect.scoped),
  )

  it.live("has no torn blob and no leftovers after its writers were killed", () =>
    Effect.gen(function* () {
      const root = newRoot()
      let torn = 0
      let seen = 0
      let leftBehind = 0
      for (let round = 0; round < 8; round++) {
        const child = start("hammer", root)
        yield* Effect.promise(async () => {
          await once(child.stdout!, "data")
          await delay(20 + round * 13)
          child.kill("SIGKILL")
          await once(child, "close")
        })
        leftBehind += (yield* leftovers(root)).length
        yield* Effect.scoped(
          Effect.gen(function* () {
            const storage = yield* FileStorage.make({ root })
            assert.deepStrictEqual(yield* leftovers(root), [])
            for (const { uri } of yield* Stream.runCollect(storage.list(folderOf(root)))) {
              const text = yield* getText(storage, uri)
              const line = text.indexOf("\n")
              seen++
              if (contentHashOf(text.slice(line + 1)) !== text.slice(0, line)) torn++
            }
          }),
        )
      }
      assert.strictEqual(torn, 0)
      assert.isAbove(seen, 0)
      assert.isAbove(leftBehind, 0, "at least one kill must have come in the middle of a writing")
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(join(root, ".detent", "temporary"))), [])
    }),
  )

  it.live("leaves the files of living writers alone when another store opens", () =>
    Effect.gen(function* () {
      const root = newRoot()
      const uri = blobIn(folderOf(root), "slow")
      const storage = yield* FileStorage.make({ root })
      const opening = Stream.fromEffect(Effect.scoped(Effect.as(FileStorage.make({ root }), new Uint8Array(3).fill(50))))
      yield* storage.setStream(uri, Stream.concat(Stream.succeed(new Uint8Array(3).fill(49)), opening))
      assert.strictEqual(yield* getText(storage, uri), "111222")
    }).pipe(Effect.scoped),
  )

  it.live("says so when there is no room, and harms nothing", () =>
    Effect.gen(function* () {
      const root = newRoot()
      const storage = yield* FileStorage.make({ root })
      const uri = blobIn(folderOf(root), "big")
      yield* storage.set(uri, "before")
      // The shell's limit on a file's size is the one way to run out of room that needs no disk of its own.
      const limited = spawn(
        "sh",
        ["-c", `ulimit -f 1000; exec "$0" "$@"`, process.execPath, join(import.meta.dirname, "worker.ts"), "fill", root],
        {
          stdio: ["ignore", "pipe", "pipe"],
        },
      )
      const output = yield* Effect.promise(() => outputOf(limited))
      assert.include(output, "StorageFull: no room to write file://")
      assert.include(output, "free some space or raise the quota")
      assert.strictEqual(yield* getText(storage, uri), "before")
      assert.deepStrictEqual(yield* leftovers(root), [])
    }).pipe(Effect.scoped),
  )

  it("takes a full disk and an exceeded quota for the same", () => {
    const uri = blobIn(folderOf(home), "a")
    for (const code of ["ENOSPC", "EDQUOT", "EFBIG"]) {
      assert.strictEqual(faultOf(uri, "write")(Object.assign(new Error(code), { code }))._tag, "StorageFull")
    }
    const denied = faultOf(uri, "read")(Object.assign(new Error("EACCES: permission denied"), { code: "EACCES" }))
    assert.deepInclude(denied, { _tag: "StorageFailed", retryable: false })
  })

  it.live("knows by the generation that the file was edited", () =>
    Effect.gen(function* () {
      const root = newRoot()
      const storage = yield* FileStorage.make({ root })
      const uri = blobIn(folderOf(root), "a.txt")
      const { generation } = yield* storage.set(uri, "ours")
      yield* Effect.promise(() => writeFile(join(root, "a.txt"), "theirs"))
      assert.strictEqual((yield* Effect.flip(storage.set(uri, "ours again", ifGeneration(generation))))._tag, "PreconditionFailed")
      assert.strictEqual(yield* getText(storage, uri), "theirs")
    }).pipe(Effect.scoped),
  )

  it.live("is only read where it was opened for reading, and only written in its root", () =>
    Effect.gen(function* () {
      const [root, documents, secrets] = [newRoot(), newRoot(), newRoot()]
      yield* Effect.promise(async () => {
        for (const folder of [documents, secrets]) await mkdir(folder)
        await writeFile(join(documents, "a.txt"), "a document")
        await writeFile(join(secrets, "key.txt"), "a secret")
      })
      const storage = yield* FileStorage.make({ root, readable: [documents] })
      const document = blobIn(folderOf(documents), "a.txt")
      assert.strictEqual(yield* getText(storage, document), "a document")
      assert.strictEqual((yield* Stream.runCollect(storage.list(folderOf(documents)))).length, 1)
      const refusals = [
        storage.set(document, "changed"),
        storage.remove(document),
        storage.get(blobIn(folderOf(secrets), "key.txt")),
        storage.info(blobIn(folderOf(secrets), "key.txt")),
        Stream.runDrain(storage.list(folderOf(secrets))),
        storage.get(blobIn(folderOf(root), ".detent/lock")),
        storage.set(blobIn(folderOf(root), ".detent/lock"), "x"),
      ]
      for (const refusal of refusals) assert.strictEqual((yield* Effect.flip(Effect.asVoid(refusal)))._tag, "AddressRefused")
      const { message } = yield* Effect.flip(storage.get(blobIn(folderOf(secrets), "key.txt")))
      assert.match(
        message,
        /is not in an opened folder; the opened folders are .*; put the file below the data folder, or run `detent batch run`/,
      )
    }).pipe(Effect.scoped),
  )

  it.live("fails with the reason why the folders opened since cannot be read", () =>
    Effect.gen(function* () {
      const allowedSince = () => Promise.reject(new Error("the list of folders is away"))
      const folder = folderOf(join(home, "opened-since"))
      for (const storage of [
        yield* FileStorage.make({ root: newRoot(), allowedSince }),
        yield* FileStorage.makeReading({ allowedSince }),
      ]) {
        for (const failed of [
          yield* Effect.flip(storage.get(blobIn(folder, "a.txt"))),
          yield* Effect.flip(storage.info(blobIn(folder, "a.txt"))),
          yield* Effect.flip(Stream.runDrain(storage.list(folder))),
        ]) {
          assert.deepInclude(failed, { _tag: "StorageFailed", operation: "open", retryable: true })
          assert.include(failed.message, "the list of folders is away")
        }
      }
    }).pipe(Effect.scoped),
  )

  it.live("does not follow a link out of its folders", () =>
    Effect.gen(function* () {
      const [root, secrets] = [newRoot(), newRoot()]
      const storage = yield* FileStorage.make({ root })
      yield* Effect.promise(async () => {
        await mkdir(secrets)
        await writeFile(join(secrets, "key.txt"), "a secret")
        await symlink(secrets, join(root, "out"))
        await symlink(join(secrets, "key.txt"), join(root, "key.txt"))
      })
      const folder = folderOf(root)
      const link = yield* Effect.flip(storage.get(blobIn(folder, "key.txt")))
      assert.include(link.message, "is a link that leads out of its folder")
      assert.strictEqual((yield* Effect.flip(storage.get(blobIn(folder, "out/key.txt"))))._tag, "AddressRefused")
      assert.strictEqual((yield* Effect.flip(storage.set(blobIn(folder, "out/new/a.txt"), "x")))._tag, "AddressRefused")
      assert.deepStrictEqual(yield* Stream.runCollect(storage.list(folder)), [])
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(secrets)), ["key.txt"])
    }).pipe(Effect.scoped),
  )

  it.live("keeps what it holds when it is opened again", () =>
    Effect.gen(function* () {
      const root = newRoot()
      const uri = blobIn(folderOf(root), "deep/down/a.txt")
      const written = yield* Effect.scoped(Effect.flatMap(FileStorage.make({ root }), (storage) => storage.set(uri, "kept")))
      const storage = yield* FileStorage.make({ root })
      assert.deepStrictEqual(yield* storage.info(uri), Option.some({ uri, generation: written.generation, size: 4 }))
      assert.isTrue((yield* Effect.promise(() => stat(join(root, "deep/down/a.txt")))).isFile())
    }).pipe(Effect.scoped),
  )

  it.live("says what is wrong with a root that is not a folder", () =>
    Effect.gen(function* () {
      const root = newRoot()
      yield* Effect.promise(() => writeFile(root, "a file"))
      const failed = yield* Effect.flip(Effect.scoped(FileStorage.make({ root })))
      assert.include(failed.message, "cannot open file://")
      assert.include(failed.message, "fix the cause first")
    }),
  )
})
