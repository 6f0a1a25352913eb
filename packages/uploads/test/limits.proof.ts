/** Items of a definition whose code takes for ever, fills the memory or ends its process: each fails alone, and is set aside. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Uploads, type UploadsOptions } from "../src/index.ts"
import { WorkerProcess } from "./crash/WorkerProcess.ts"
import { databases } from "./support/Databases.ts"
import { makeDesk } from "./support/Desk.ts"
import { Stubborn } from "./support/Stubborn.ts"

const options: UploadsOptions = { uploads: [Stubborn], itemLimit: { time: "400 millis", memory: 300 } }

const triesIn = (path: string): number => (existsSync(path) ? readFileSync(path, "utf8").length : 0)

describe.each(databases)("$name", (database) => {
  it.live("an item that exceeds a limit fails alone, with the reason, while the process answers others", () =>
    Effect.gen(function* () {
      const { file, folder, run } = yield* makeDesk(database)
      const [loop, exit] = [join(folder, "loop"), join(folder, "exit")]
      const path = file("items.json", [
        { id: "a", title: "first" },
        { id: "b", does: "loop", tries: loop },
        { id: "c", title: "between" },
        { id: "d", does: "exit", tries: exit },
        { id: "e", does: "throw" },
        { id: "f", title: "last" },
      ])
      let ticks = 0
      const timer = setInterval(() => ticks++, 10)
      yield* Effect.addFinalizer(() => Effect.sync(() => clearInterval(timer)))
      const batchId = yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(path)
          const { state, items, batch } = yield* uploads.finished(batchId)
          expect([state, items]).toEqual(["partially_completed", { total: 6, waiting: 0, stored: 3, failed: 3 }])
          expect(batch.errorSummary?.groups.map(({ reason, count }) => [reason, count])).toEqual([
            ["limit_exceeded", 2],
            ["rejected", 1],
          ])
          const { items: failed } = yield* uploads.items(batchId, { state: "failed" })
          expect(failed.map(({ index, problem }) => [index, problem?.message])).toEqual([
            [1, "it took longer than 400ms, in 2 attempts; correct it, or raise the limit of items"],
            [3, expect.stringMatching(/, in 2 attempts; correct it, or raise the limit of items$/)],
            [4, "its check failed: no such luck"],
          ])
          expect((yield* uploads.of(Stubborn).search({})).items.map(({ id }) => id)).toEqual(["f", "c", "a"])
          return batchId
        }),
        options,
      )
      expect(ticks).toBeGreaterThan(50)
      const before = [triesIn(loop), triesIn(exit)] as const
      expect(before[0]).toBeGreaterThan(1)

      // A retry in another process knows that they were set aside; a correction that exceeds the limit is refused.
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          yield* uploads.retryFailed(batchId)
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "partially_completed", items: { stored: 3, failed: 3 } })
          expect([triesIn(loop), triesIn(exit)]).toEqual(before)
          const refused = yield* Effect.flip(uploads.correct(batchId, 1, { id: "b", does: "loop" }))
          expect(refused).toMatchObject({ _tag: "ItemStillInvalid", reason: "limit_exceeded" })
          for (const [index, id] of [
            [1, "b"],
            [4, "e"],
          ] as const)
            yield* uploads.correct(batchId, index, { id, title: "corrected" })
          yield* uploads.retryFailed(batchId)
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "partially_completed", items: { stored: 5, failed: 1 } })
        }),
        options,
      )

      // Under another limit, items that were set aside are tried again.
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          yield* uploads.retryFailed(batchId)
          yield* uploads.finished(batchId)
          expect(triesIn(exit)).toBeGreaterThan(before[1])
        }),
        { ...options, itemLimit: { time: "500 millis", memory: 300 } },
      )
    }),
  )

  it.live("a process that is killed meanwhile resumes, sets the item aside once, and tries it at no later start", () =>
    Effect.gen(function* () {
      const { address, file, folder } = yield* makeDesk(database)
      const tries = join(folder, "tries")
      const path = file("items.json", [{ id: "a" }, { id: "b", does: "loop", tries }, { id: "c" }])
      const work = { address, batchId: "stubborn", nodeId: "one", kind: "Stubborn", ask: { _tag: "Upload", path } } as const
      yield* Effect.promise(async () => {
        const first = new WorkerProcess()
        await first.begin(work)
        while (triesIn(tries) === 0) await new Promise((resolve) => setTimeout(resolve, 20))
        await first.kill()
        const second = new WorkerProcess()
        await second.begin({ ...work, ask: { _tag: "Resume" } })
        expect(await second.finished).toMatchObject({ state: "partially_completed", items: { stored: 2, failed: 1 } })
        const before = triesIn(tries)
        const third = new WorkerProcess()
        await third.begin({ ...work, ask: { _tag: "Retry" } })
        expect(await third.finished).toMatchObject({ state: "partially_completed", items: { stored: 2, failed: 1 } })
        expect(triesIn(tries)).toBe(before)
      })
    }),
  )
})
