import { existsSync } from "node:fs"
import { mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { writeItemFile } from "@detent/uploads/generate"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freshDatabase } from "../../../durable/test/support/Postgres.ts"
import { detentProcess, detent as run, start, temporaryFolder } from "../support/Detent.ts"
import { bothSystems, copyFewDocuments, lampConfig, project } from "../support/Project.ts"

const newProject = async (): Promise<string> => {
  const cwd = join(await temporaryFolder(), "lamps")
  await project(cwd, lampConfig("Schema.Int", bothSystems))
  await copyFewDocuments(join(cwd, "corpus"))
  return cwd
}

const databases = [
  ["SQLite", Effect.succeed(undefined)],
  ["PostgreSQL", freshDatabase],
] as const

describe("a workspace that is backed up while it runs", { timeout: 300_000 }, () => {
  for (const [name, database] of databases)
    it.live(`on ${name}, is restored to SQLite and to PostgreSQL, and its instances and batches resume`, () =>
      Effect.gen(function* () {
        const url = yield* database
        const target = yield* freshDatabase
        yield* Effect.promise(async () => {
          const cwd = await newProject()
          await writeItemFile(join(cwd, "items.jsonl"), { items: 4000, seed: 3, layout: "lines" })
          const place = url === undefined ? [] : ["--database", url]
          const succeeded = async (args: ReadonlyArray<string>) => {
            const ended = await run(args, { cwd })
            assert.strictEqual(ended.code, 0, `${args.join(" ")}: ${ended.err}`)
            return ended.out
          }
          await succeeded(["instance", "start", "lamp", "hall", "--with", '{"pin":"4711"}', ...place])

          // Three kinds of writers: a batch and an upload that are under way, and events to an instance.
          const server = start(["serve", "--port", "0", ...place], { cwd })
          await server.until("http://127.0.0.1")
          await succeeded(["batch", "run", "corpus", "--detach", ...place])
          await succeeded(["upload", "run", "items.jsonl", "--detach", ...place])
          let isMade = false
          const writing = (async () => {
            while (!isMade)
              for (const event of [["Switch", "--with", '{"level":3}'], ["Rest"]])
                await run(["instance", "send", "hall", ...event, ...place], { cwd })
          })()
          const made = await detentProcess(["data", "backup", "--to", "backup", "--json", ...place], { cwd })
          isMade = true
          assert.strictEqual(made.code, 0, made.err)
          await writing
          await server.stop("SIGTERM")

          for (const restored of [
            ["--data", "new"],
            ["--data", "other", "--database", target],
          ]) {
            const report = await succeeded(["data", "restore", "--from", "backup", "--json", ...restored])
            assert.deepInclude(JSON.parse(report.trim().split("\n").at(-1) ?? ""), { failing: [] })
            const worked = await run(["worker", "--until-idle", ...restored], { cwd })
            assert.include([0, 1], worked.code, worked.err)
            assert.match(await succeeded(["batch", "list", "--json", ...restored]), /"state":"(Completed|PartiallyCompleted)"/)
            assert.match(await succeeded(["upload", "list", "--json", ...restored]), /"state":"completed"/)
            await succeeded(["instance", "show", "hall", "--json", ...restored])
            await succeeded(["graph", "stats", "--json", ...restored])
          }
        })
      }),
    )

  it.live("is refused with the next step where the target has something, and where the backup is incomplete or damaged", () =>
    Effect.promise(async () => {
      const cwd = await newProject()
      const ended = (...args: ReadonlyArray<string>) => run(args, { cwd })
      assert.strictEqual((await ended("instance", "start", "lamp", "hall", "--with", '{"pin":"1"}')).code, 0)
      assert.match((await ended("data", "backup")).err, /name a new folder with --to/)
      assert.match((await ended("data", "backup", "--to", "corpus")).err, /is not empty; name a new folder with --to/)
      assert.match((await ended("data", "backup", "--to", "b", "--data", "nowhere")).err, /there is no SQLite database/)
      assert.match((await ended("data", "restore", "--from", "corpus", "--data", "new")).err, /is no complete backup/)
      await mkdir(join(cwd, ".detent", "settings"), { recursive: true })
      await writeFile(join(cwd, ".detent", "settings", "tone.json"), "{}")
      assert.strictEqual((await ended("data", "backup", "--to", "good")).code, 0)
      assert.match((await ended("data", "restore", "--from", "good")).err, /exists; restore into a new folder/)
      const database = await readFile(join(cwd, "good", "detent.db"))
      await writeFile(join(cwd, "good", "detent.db"), Buffer.concat([database, Buffer.from("x")]))
      const restored = async () => (await ended("data", "restore", "--from", "good", "--data", "new")).err
      assert.match(await restored(), /detent\.db is damaged/)
      await writeFile(join(cwd, "good", "detent.db"), database)
      const file = join(cwd, "good", "files", "settings", "tone.json")
      await writeFile(file, "{ }")
      assert.match(await restored(), /tone\.json is damaged: its SHA-256 is another one; restore another backup/)
      await rm(file)
      assert.match(await restored(), /tone\.json is missing; restore another backup/)
      await writeFile(file, "{}")
      await writeFile(join(cwd, "good", "files.sha256"), "")
      assert.match(await restored(), /files\.sha256 is damaged/)
      assert.isFalse(existsSync(join(cwd, "new")))
    }),
  )

  it.live("goes to a folder of this machine, outside of the data", () =>
    Effect.promise(async () => {
      const cwd = await newProject()
      const ended = (...args: ReadonlyArray<string>) => run(args, { cwd })
      assert.strictEqual((await ended("instance", "start", "lamp", "hall", "--with", '{"pin":"1"}')).code, 0)
      assert.match((await ended("data", "backup", "--to", "gs://bucket/backup")).err, /gs:\/\/bucket\/backup is no folder of this machine/)
      assert.match((await ended("data", "restore", "--from", "s3://bucket/b", "--data", "new")).err, /s3:\/\/bucket\/b is no folder/)
      assert.match((await ended("data", "backup", "--to", ".detent/backup")).err, /one is in the other; choose a folder elsewhere/)
      const copied = await ended("data", "copy", "--to", "sqlite:copy.db", "--to-data", "gs://bucket/copy", "--yes")
      assert.match(copied.err, /gs:\/\/bucket\/copy is no folder of this machine/)
      for (const made of ["gs:", "s3:", ".detent/backup"]) assert.isFalse(existsSync(join(cwd, made)), made)
    }),
  )
})
