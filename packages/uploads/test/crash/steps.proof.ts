/** A process is killed with SIGKILL in the middle of each step of a batch; the next one brings it to the same end. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { writeItemFile } from "../../src/generate/index.ts"
import { Uploads } from "../../src/index.ts"
import { databases } from "../support/Databases.ts"
import { makeDesk, story } from "../support/Desk.ts"
import { expectedOf, problemsOf } from "./Proof.ts"
import { type Death, type Finished, type Work, WorkerProcess } from "./WorkerProcess.ts"

const items = 5000
const bad = { not_json: 0.01, duplicate: 0.02 }
const batchId = "killed"

/** What a worker ends with; nothing where it died. */
const work = async ({ ask, dies, ...others }: Omit<Work, "batchId">, worker = new WorkerProcess()): Promise<Finished | undefined> => {
  try {
    if (dies === undefined) await worker.begin({ ...others, batchId, ask })
    // It may die as soon as it is open, before it can say so.
    else await worker.begin({ ...others, batchId, ask, dies }).catch(() => undefined)
    return await worker.finished
  } finally {
    await worker.kill()
  }
}

/** Good items are checked once while the file is validated, and once more while they are extracted. */
const steps: ReadonlyArray<readonly [name: string, death: (good: number) => Death]> = [
  ["while its file is validated", (good) => ({ _tag: "Checking", items: Math.floor(good / 2) })],
  ["before its first item is stored", (good) => ({ _tag: "Checking", items: good + 10 })],
  ["between two of its transactions", (good) => ({ _tag: "Checking", items: good + Math.floor(good / 2) })],
  ["when it tells of its outcome", () => ({ _tag: "Telling" })],
]

describe.each(databases)("$name", (database) => {
  it.live.each(steps)("killed %s, a batch is brought to its end by the next process", ([name, death]) =>
    Effect.gen(function* () {
      const { address, folder } = yield* makeDesk(database)
      const path = `${folder}/items.ndjson`
      const written = yield* Effect.promise(() => writeItemFile(path, { items, layout: "lines", bad, seed: 11 }))
      // Duplicates are good items when each is checked alone.
      const checked = items - (written.bad.get("not_json") ?? 0)
      const [first, second] = [new WorkerProcess(), new WorkerProcess()]
      // Another node waits for the end of the lease, so one step is taken up by another.
      const nodeId = name.includes("transactions") ? undefined : "uploader"
      const shared = { address, ...(nodeId === undefined ? {} : { nodeId }) }
      const killed = yield* Effect.promise(() => work({ ...shared, ask: { _tag: "Upload", path }, dies: death(checked) }, first))
      expect(killed).toBeUndefined()
      const finished = yield* Effect.promise(() => work({ ...shared, ask: { _tag: "Resume" } }, second))
      expect(finished).toMatchObject({ state: "partially_completed", items: { total: items, stored: written.good } })
      expect(yield* Effect.promise(() => problemsOf(address, batchId, expectedOf(path)))).toEqual([])
    }),
  )

  it.live("killed while failed items are tried again, and when that is reported, every one of them is entered once", () =>
    Effect.gen(function* () {
      const { address, file, run } = yield* makeDesk(database)
      const lines = Array.from({ length: 400 }, (_, index) => JSON.stringify(index % 2 === 0 ? story(index + 1) : { id: index + 1 }))
      const path = file("items.ndjson", lines.join("\n"))
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          yield* uploads.start(path, { batchId })
          yield* uploads.finished(batchId)
          for (let index = 1; index < 400; index += 2) yield* uploads.correct(batchId, index, story(index + 1))
        }),
      )
      const deaths: ReadonlyArray<readonly [Work["ask"], Death]> = [
        [{ _tag: "Retry" }, { _tag: "Checking", items: 150 }],
        [{ _tag: "Resume" }, { _tag: "Checking", items: 50 }],
        [{ _tag: "Resume" }, { _tag: "Telling" }],
      ]
      for (const [ask, dies] of deaths)
        expect(yield* Effect.promise(() => work({ address, nodeId: "uploader", ask, dies }))).toBeUndefined()
      const finished = yield* Effect.promise(() => work({ address, nodeId: "uploader", ask: { _tag: "Resume" } }))
      expect(finished).toMatchObject({ state: "completed", items: { total: 400, stored: 400, failed: 0 } })
      const expected = Array.from({ length: 400 }, (_, index) => index + 1)
      expect(yield* Effect.promise(() => problemsOf(address, batchId, expected))).toEqual([])
    }),
  )
})
