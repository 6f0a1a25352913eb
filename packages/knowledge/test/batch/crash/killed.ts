/** A batch whose process is killed with SIGKILL in every stage, and resumed. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Chance } from "../../../generators/Chance.ts"
import { generateCorpus } from "../../../generators/GeneratedCorpus.ts"
import { generatedOntology } from "../../../generators/GeneratedOntology.ts"
import { BatchProcess } from "./BatchProcess.ts"
import type { Work } from "./Work.ts"

const documents = 40

let root = ""
let names: ReadonlyArray<string> = []
let undisturbed: Outcome

/** Makes the documents before the tests of a file, and a batch of them that nothing disturbs. */
export const useDocuments = () => {
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "detent-crash-"))
    await mkdir(join(root, "input"))
    const corpus = [...generateCorpus({ documents, seed: 3 })]
    names = corpus.map(({ name }) => name)
    await writeFile(join(root, "input", "ontology.ttl"), generatedOntology)
    for (const { name, text } of corpus) await writeFile(join(root, "input", name), text)
    const work = await workIn("undisturbed")
    const process = new BatchProcess()
    await process.begin(work)
    await process.ended()
    undisturbed = await outcomeOf(work)
  })

  afterAll(() => rm(root, { recursive: true, force: true }))
}

const workIn = async (place: string): Promise<Work> => {
  const folder = join(root, place)
  await mkdir(folder)
  await writeFile(join(folder, "calls"), "")
  return {
    node: "worker",
    database: join(folder, "batch.db"),
    data: join(folder, "data"),
    input: join(root, "input"),
    names,
    batchId: "batch-0123456789ab",
    calls: join(folder, "calls"),
  }
}

interface Outcome {
  readonly graph: string
  readonly calls: ReadonlyArray<string>
  /** Of what the extractor was asked about, what is stored. */
  readonly stored: ReadonlySet<string>
  readonly completed: number
}

const callsOf = async ({ calls }: Work) => (await readFile(calls, "utf8")).split("\n").filter((line) => line !== "")

const select = ({ database }: Work, statement: string): ReadonlyArray<Record<string, unknown>> => {
  const opened = new DatabaseSync(database)
  try {
    return opened.prepare(statement).all()
  } catch (error) {
    // Killed before the tables were made.
    if (String(error).includes("no such table")) return []
    throw error
  } finally {
    opened.close()
  }
}

const storedBy = (work: Work) =>
  new Set(select(work, "select result_json from run_checkpoints").map((row) => String(JSON.parse(String(row["result_json"])).textHash)))

const outcomeOf = async (work: Work): Promise<Outcome> => ({
  // When a document was extracted is not the same twice.
  graph: (await readFile(join(work.data, "canonical", "generated", "entities.ttl"), "utf8")).replace(/prov:generatedAtTime "[^"]+"/g, ""),
  calls: await callsOf(work),
  stored: storedBy(work),
  completed: select(work, "select document_id from batch_documents where status = 'completed'").length,
})

/** In which stage a process is killed, and how long after it was reached at most. */
export const wholePlan = [
  ["Pending", 20],
  ["Extracting", 150],
  ["Extracting", 300],
  ["Extracting", 150],
  ["Resolving", 40],
  ["Validating", 40],
  ["Ingesting", 60],
  ["Ingesting", 60],
] as const

export type Plan = ReadonlyArray<readonly [stage: string, within: number]>

/** Kills once in each stage. */
export const onceInEachStage: Plan = wholePlan.filter(([stage], at) => wholePlan[at + 1]?.[0] !== stage)

const firstSeed = Number(process.env["DETENT_CRASH_SEED"] ?? 1)

/** The tests. Each round kills once at each point of the plan. */
export const killedBatch = (plan: Plan, rounds: number) =>
  describe("a batch whose process is killed", () => {
    it("extracts every document once when nothing disturbs it", () => {
      expect(undisturbed.calls).toHaveLength(documents)
      expect(undisturbed.stored.size).toBe(documents)
      expect(undisturbed.graph).toMatch(/rdf:Statement/)
    })

    let kills = 0
    for (const seed of Array.from({ length: rounds }, (_, round) => firstSeed + round))
      it(`at random points of every stage completes, repeats nothing that was stored, and gives the same bytes (${seed})`, async () => {
        const chance = new Chance(seed, "kills")
        const work = await workIn(`killed-${seed}`)
        let next = new BatchProcess()
        for (const [stage, within] of plan) {
          const process = next
          next = new BatchProcess()
          await process.begin(work)
          const isReached = await process.reaches([stage, ...later(stage)])
          if (isReached) await sleep(chance.below(within))
          await process.kill()
          if (process.state?._tag !== "Completed") kills++
          const [stored, calls] = [storedBy(work), (await callsOf(work)).length]
          checks.push({ work, stored, calls })
        }
        await next.begin(work)
        await next.ended()
        expect(next.state).toMatchObject({ _tag: "Completed", documentsCompleted: documents, documentsFailed: 0 })
        const outcome = await outcomeOf(work)
        for (const { stored, calls } of checks.filter((check) => check.work === work))
          expect(outcome.calls.slice(calls).filter((call) => stored.has(call))).toEqual([])
        expect(new Set(outcome.calls)).toEqual(new Set(undisturbed.calls))
        expect(outcome.completed).toBe(documents)
        expect(outcome.graph).toBe(undisturbed.graph)
      })

    it("was killed often enough to tell", () => {
      expect(kills).toBeGreaterThanOrEqual(Math.floor(rounds * plan.length * 0.6))
    })
  })

/** Two processes that work on one batch, and are killed. */
export const sharedBatch = () =>
  describe("a batch that two processes work on", () => {
    it("loses nothing and doubles nothing", async () => {
      const work = await workIn("shared")
      const processes = [new BatchProcess(), new BatchProcess()]
      await Promise.all(processes.map((process, index) => process.begin({ ...work, node: `worker-${index}` })))
      await Promise.all(processes.map((process) => process.ended()))
      const outcome = await outcomeOf(work)
      expect(outcome.graph).toBe(undisturbed.graph)
      expect(outcome.completed).toBe(documents)
      expect([...outcome.calls].sort()).toEqual([...undisturbed.calls].sort())
    })

    it("and that is dispatched by tasks ends the same, byte for byte, though a third of the calls fail and tasks arrive twice and late", async () => {
      const work = { ...(await workIn("by-tasks")), byTasks: true }
      const begun = async (node: string) => {
        const process = new BatchProcess()
        await process.begin({ ...work, node })
        return process
      }
      const workers = await Promise.all(["worker-0", "worker-1"].map(begun))
      let killed = 0
      for (const [index, stage] of ["Extracting", "Resolving"].entries()) {
        await workers[index]?.reaches([stage, ...later(stage)])
        // It has tasks in hand.
        while ((await callsOf(work)).length < 5) await sleep(20)
        await workers[index]?.kill()
        if (workers[index]?.state?._tag !== "Completed") killed++
        workers[index] = await begun(`worker-${index}`)
      }
      await Promise.all(workers.map((process) => process.ended()))
      expect(killed).toBeGreaterThanOrEqual(1)
      for (const { state } of workers) expect(state).toMatchObject({ _tag: "Completed", documentsCompleted: documents, documentsFailed: 0 })
      const outcome = await outcomeOf(work)
      expect(outcome.completed).toBe(documents)
      expect(outcome.graph).toBe(undisturbed.graph)
    })
  })

const checks: Array<{ readonly work: Work; readonly stored: ReadonlySet<string>; readonly calls: number }> = []

const order = ["Pending", "Extracting", "Resolving", "Validating", "Ingesting", "Completed"]

const later = (stage: string): ReadonlyArray<string> => order.slice(order.indexOf(stage) + 1)
