/** A batch that another process cancels, on whichever database. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { until } from "../../../../store/test/support/patience.ts"
import { generateCorpus } from "../../../generators/GeneratedCorpus.ts"
import { generatedOntology } from "../../../generators/GeneratedOntology.ts"
import { BatchProcess } from "./BatchProcess.ts"
import type { Work } from "./Work.ts"

export interface RunDatabase {
  readonly address: string
  /** The status of every run. */
  readonly statuses: () => Promise<ReadonlyArray<string>>
}

const documents = 80

export const cancelConformance = (name: string, databaseIn: (folder: string) => Promise<RunDatabase>) =>
  describe(`a batch on ${name} that another process cancels`, () => {
    let root = ""
    let names: ReadonlyArray<string> = []

    beforeAll(async () => {
      root = await mkdtemp(join(tmpdir(), "detent-cancel-"))
      await mkdir(join(root, "input"))
      const corpus = [...generateCorpus({ documents, seed: 5 })]
      names = corpus.map((one) => one.name)
      await writeFile(join(root, "input", "ontology.ttl"), generatedOntology)
      for (const one of corpus) await writeFile(join(root, "input", one.name), one.text)
    })

    afterAll(() => rm(root, { recursive: true, force: true }))

    /** A process that extracts slowly, in the middle of the batch, and one that is ready to cancel it. */
    const working = async (place: string) => {
      const folder = join(root, place)
      await mkdir(folder)
      await writeFile(join(folder, "calls"), "")
      const database = await databaseIn(folder)
      const work: Work = {
        node: "worker",
        database: database.address,
        data: join(folder, "data"),
        input: join(root, "input"),
        names,
        batchId: "batch-0123456789ab",
        calls: join(folder, "calls"),
        pause: 100,
      }
      const [worker, canceller] = [new BatchProcess(), new BatchProcess()]
      await worker.begin(work)
      await worker.reaches(["Extracting"])
      while (!(await database.statuses()).includes("running")) await sleep(20)
      const cancel = () => canceller.begin({ ...work, node: "canceller", task: "cancel" })
      return { worker, canceller, cancel, work, ...database }
    }

    const areEnded = async ({ statuses }: Pick<RunDatabase, "statuses">) => {
      const found = await statuses()
      assert.include(found, "cancelled")
      return !found.includes("running") && !found.includes("queued")
    }

    it("has no run that is running or queued when the cancel returns, and none is begun after that", async () => {
      const { worker, canceller, cancel, ...database } = await working("told")
      await cancel()
      await canceller.ended()
      assert.strictEqual(canceller.state?._tag, "Cancelled")
      assert.isTrue(await areEnded(database))
      await worker.ended()
      assert.strictEqual(worker.state?._tag, "Cancelled")
      assert.isTrue(await areEnded(database))
    })

    it("has none either when the process that worked on it is killed right after the cancel", async () => {
      const { worker, canceller, cancel, ...database } = await working("worker-killed")
      await cancel()
      await canceller.reaches(["Cancelled"])
      await worker.kill()
      assert.isTrue(await areEnded(database))
      await canceller.ended()
    })

    it("has none when the process that cancelled it is killed before it could end them", async () => {
      const { worker, canceller, cancel, ...database } = await working("canceller-killed")
      await cancel()
      await worker.reaches(["Cancelled"])
      await canceller.kill()
      await worker.ended()
      assert.isTrue(await areEnded(database))
    })

    it("has none once another process works, when both are killed at the cancel", async () => {
      const { worker, canceller, cancel, work, ...database } = await working("both-killed")
      await cancel()
      await worker.reaches(["Cancelled"])
      await Promise.all([worker.kill(), canceller.kill()])
      const next = new BatchProcess()
      await next.begin({ ...work, node: "next", task: "wait" })
      await next.reaches(["Cancelled"])
      await until("the runs have ended", () => areEnded(database))
      await next.kill()
    })
  })
