import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import * as PgClient from "@detent/durable/PgClient"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { generateCorpus } from "../../generators/GeneratedCorpus.ts"
import { generatedOntology } from "../../generators/GeneratedOntology.ts"
import { BatchProcess } from "../batch/crash/BatchProcess.ts"
import type { Work } from "../batch/crash/Work.ts"

const documents = 30

const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "detent-batch-postgres-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true })),
)

/** A folder with documents; each place in it is a batch of its own over the same ones. */
const prepared = (root: string) =>
  Effect.promise(async () => {
    const input = join(root, "input")
    await mkdir(input)
    const corpus = [...generateCorpus({ documents, seed: 3 })]
    await writeFile(join(input, "ontology.ttl"), generatedOntology)
    for (const { name, text } of corpus) await writeFile(join(input, name), text)
    return async (place: string, database: string): Promise<Work> => {
      await mkdir(join(root, place))
      await writeFile(join(root, place, "calls"), "")
      const names = corpus.map(({ name }) => name)
      const data = join(root, place, "data")
      return { node: "worker", database, data, input, names, batchId: "batch-0123456789ab", calls: join(root, place, "calls") }
    }
  })

const outcomeOf = async ({ data, calls }: Work) => ({
  // When a document was extracted is not the same twice.
  graph: (await readFile(join(data, "canonical", "generated", "entities.ttl"), "utf8")).replace(/prov:generatedAtTime "[^"]+"/g, ""),
  calls: (await readFile(calls, "utf8")).split("\n").filter((line) => line !== ""),
})

const completedIn = (url: string) =>
  Effect.map(
    Effect.flatMap(PgClient.PgClient, (sql) => sql`select document_id from detent.batch_documents where status = 'completed'`),
    (rows) => rows.length,
  ).pipe(Effect.provide(Layer.fresh(PgClient.layer({ url: Redacted.make(url) }))))

const finished = async (work: Work): Promise<void> => {
  const process = new BatchProcess()
  await process.begin(work)
  await process.ended()
  expect(process.state).toMatchObject({ _tag: "Completed", documentsCompleted: documents, documentsFailed: 0 })
}

const killed = async (work: Work, stage: string, after: number): Promise<void> => {
  const process = new BatchProcess()
  await process.begin(work)
  expect(await process.reaches([stage])).toBe(true)
  await sleep(after)
  await process.kill()
  expect(process.state?._tag).not.toBe("Completed")
}

describe("a batch on PostgreSQL", () => {
  it.live(
    "gives the graph that it gives on SQLite, byte by byte: when its process is killed in between, and when two processes take it up at once",
    () =>
      Effect.gen(function* () {
        const workIn = yield* prepared(yield* folder)
        const [killedUrl, sharedUrl] = [yield* freshDatabase, yield* freshDatabase]
        const outcome = yield* Effect.promise(async () => {
          const onSqlite = await workIn("sqlite", ":memory:")
          const disturbed = await workIn("killed", killedUrl)
          const shared = await workIn("shared", sharedUrl)
          await finished(onSqlite)
          await killed(disturbed, "Extracting", 100)
          await killed(disturbed, "Resolving", 0)
          await finished(disturbed)
          await Promise.all(["worker-0", "worker-1"].map((node) => finished({ ...shared, node })))
          return { expected: await outcomeOf(onSqlite), killed: await outcomeOf(disturbed), shared: await outcomeOf(shared) }
        })
        expect(outcome.expected.graph).toMatch(/rdf:Statement/)
        expect(outcome.killed.graph).toBe(outcome.expected.graph)
        expect(new Set(outcome.killed.calls)).toEqual(new Set(outcome.expected.calls))
        expect(yield* completedIn(killedUrl)).toBe(documents)
        expect(outcome.shared.graph).toBe(outcome.expected.graph)
        expect(outcome.shared.calls.toSorted()).toEqual(outcome.expected.calls.toSorted())
        expect(outcome.shared.calls).toHaveLength(documents)
        expect(yield* completedIn(sharedUrl)).toBe(documents)
      }),
  )
})
