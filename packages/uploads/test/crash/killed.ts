/** Processes are killed with SIGKILL at random moments: no item is lost, none is stored twice, and every count is exact. */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { until } from "../../../store/test/support/patience.ts"
import { Chance } from "../../src/generate/GeneratedPost.ts"
import { writeItemFile } from "../../src/generate/index.ts"
import { Uploads } from "../../src/index.ts"
import { type Address, databases } from "../support/Databases.ts"
import { makeDesk, story } from "../support/Desk.ts"
import { begunBatches, expectedOf, problemsOf } from "./Proof.ts"
import { type Finished, type Work, WorkerProcess } from "./WorkerProcess.ts"

const bad = { not_json: 0.01, missing_id: 0.01, missing_field: 0.02, duplicate: 0.02 }
const batchId = "killed"
const nodeId = "uploader"

/** Kills one worker after the other; the one after the last may finish. */
const killRepeatedly = async (address: Address, ask: Work["ask"], seed: number, kills: number): Promise<Finished | undefined> => {
  const chance = new Chance(seed)
  const workers: Array<WorkerProcess> = [new WorkerProcess()]
  try {
    for (let kill = 0; kill < kills; kill++) {
      // The next one has loaded its modules by the time it is needed: most of a restart is that.
      workers.push(new WorkerProcess())
      const worker = workers[kill] as WorkerProcess
      await worker.begin({ address, batchId, nodeId, ask })
      await Promise.race([sleep(chance.between(0, 350)), worker.finished])
      await worker.kill()
    }
    const last = workers[kills] as WorkerProcess
    await last.begin({ address, batchId, nodeId, ask })
    return await last.finished
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()))
  }
}

interface Size {
  readonly kills: number
  readonly items: number
}

/** The tests, with the number of kills and of items. */
export const killedUploads = ({ kills, items }: Size) =>
  describe.each(databases)("$name", (database) => {
    it.live(
      `a process that is killed ${kills} times while it uploads, and ${kills} times while it retries, ends like one that never was`,
      () =>
        Effect.gen(function* () {
          const { address, folder, run } = yield* makeDesk(database)
          const path = `${folder}/items.ndjson`
          const written = yield* Effect.promise(() => writeItemFile(path, { items, layout: "lines", bad, seed: 5 }))
          const expected = expectedOf(path)
          expect(expected.filter((id) => id !== undefined)).toHaveLength(written.good)
          const first = yield* Effect.promise(() => killRepeatedly(address, { _tag: "Upload", path }, 1, kills))
          expect(first).toMatchObject({ state: "partially_completed", items: { total: items, stored: written.good } })
          expect(yield* Effect.promise(() => problemsOf(address, batchId, expected))).toEqual([])

          // Every other bad item is corrected before the retry.
          const failed = [...written.badIndices.keys()]
          const corrected = new Map(failed.filter((_, place) => place % 2 === 0).map((index) => [index, 1_000_000 + index]))
          yield* run(
            Effect.gen(function* () {
              const uploads = yield* Uploads
              for (const [index, id] of corrected) yield* uploads.correct(batchId, index, story(id))
              // It is asked for here and done by those that are killed: this process ends at once.
              yield* uploads.retryFailed(batchId)
            }),
          )
          const second = yield* Effect.promise(() => killRepeatedly(address, { _tag: "Resume" }, 2, kills))
          expect(second).toMatchObject({ state: "partially_completed", items: { stored: written.good + corrected.size } })
          const retried = expected.map((id, index) => corrected.get(index) ?? id)
          expect(yield* Effect.promise(() => problemsOf(address, batchId, retried))).toEqual([])
          const attempts = yield* run(
            Effect.flatMap(Uploads, (uploads) => Effect.map(uploads.items(batchId, { limit: 1000 }), (page) => page.items)),
          )
          for (const { index, attempts: tried } of attempts) expect([index, tried]).toEqual([index, written.badIndices.has(index) ? 2 : 1])
        }),
    )

    it.live("two processes that work on the same batch store every item once", () =>
      Effect.gen(function* () {
        const { address, folder } = yield* makeDesk(database)
        const path = `${folder}/items.ndjson`
        const written = yield* Effect.promise(() => writeItemFile(path, { items, layout: "lines", bad, seed: 9 }))
        const outcomes = yield* Effect.promise(async () => {
          const [one, two] = [new WorkerProcess(), new WorkerProcess()]
          try {
            await one.begin({ address, batchId, ask: { _tag: "Upload", path } })
            // The second finds the batch once the first has stored it.
            await until("the batch is stored", async () => (await begunBatches(address)) > 0)
            await two.begin({ address, batchId, ask: { _tag: "Resume" } })
            return await Promise.all([one.finished, two.finished])
          } finally {
            await Promise.all([one.kill(), two.kill()])
          }
        })
        for (const outcome of outcomes) expect(outcome).toMatchObject({ state: "partially_completed", items: { stored: written.good } })
        expect(yield* Effect.promise(() => problemsOf(address, batchId, expectedOf(path)))).toEqual([])
      }),
    )
  })
