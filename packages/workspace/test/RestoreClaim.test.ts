import { mkdtemp, readFile, rm, stat, utimes, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { claim, isHeld, restoringProcess } from "../src/operations/RestoreClaim.ts"
import { noteIn, type RestoreNote } from "../src/RestoreNote.ts"

const temporaryFolder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "detent-claim-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true })),
)

const backup = { from: "backups/monday", createdAt: "2026-11-16T03:00:00.000Z", sha256: "0" }

/** A folder with the note of a process. */
const noted = (name: string | undefined) =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const note: RestoreNote = { ...backup, pid: process.pid, ...(name === undefined ? {} : { process: name }) }
    yield* Effect.promise(() => writeFile(join(folder, "restoring.json"), JSON.stringify(note)))
    return { folder, note, file: join(folder, "restoring.json") }
  })

const parts = () => restoringProcess().split(".")

/** The name of a process with the number of this one, on another host. */
const elsewhere = () => parts().with(1, "00000000").join(".")

/** Lets the clock run until an effect has ended, and does something in each second of it. */
const running = <A, E, R>(effect: Effect.Effect<A, E, R>, everySecond: (second: number) => Promise<unknown> = async () => {}) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect)
    for (let second = 0; fiber.pollUnsafe() === undefined; second += 1) {
      yield* Effect.promise(() => everySecond(second))
      // Files are read meanwhile.
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 2)))
      yield* TestClock.adjust("1 second")
    }
    return yield* Fiber.join(fiber)
  })

describe("the claim of a restore on its folder", () => {
  it.effect("holds while its process runs, and the same host sees at once that it has ended", () =>
    Effect.gen(function* () {
      const own = yield* noted(restoringProcess())
      assert.isTrue(yield* isHeld(own.folder, own.note))
      // The number of an ended process was given to a new one, which runs.
      const reused = yield* noted(parts().with(3, "1").join("."))
      assert.isFalse(yield* isHeld(reused.folder, reused.note))
    }),
  )

  it.effect("ends for another host or container when it is not renewed, whichever process has its number here", () =>
    Effect.gen(function* () {
      for (const name of [elsewhere(), undefined]) {
        const { folder, note, file } = yield* noted(name)
        assert.isTrue(yield* running(isHeld(folder, note), (second) => utimes(file, second, second)))
        assert.isFalse(yield* running(isHeld(folder, note)))
      }
    }),
  )

  it.effect("names its process, and is renewed until the restore ends", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = join(folder, "restoring.json")
      const renewals = Effect.gen(function* () {
        yield* claim(folder, backup, writeFile)
        assert.deepInclude(noteIn(folder), { ...backup, pid: process.pid, process: restoringProcess() })
        let seen = 0
        for (let second = 0; second < 60 && seen < 3; second += 1) {
          yield* Effect.promise(() => utimes(file, 1_000_000, 1_000_000))
          yield* TestClock.adjust("5 seconds")
          yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))
          if ((yield* Effect.promise(() => stat(file))).mtimeMs !== 1_000_000_000) seen += 1
        }
        assert.strictEqual(seen, 3)
      })
      yield* Effect.scoped(renewals)
      yield* Effect.promise(() => utimes(file, 1_000_000, 1_000_000))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Effect.promise(() => stat(file))).mtimeMs, 1_000_000_000)
      assert.include(yield* Effect.promise(() => readFile(file, "utf8")), "backups/monday")
    }),
  )
})
