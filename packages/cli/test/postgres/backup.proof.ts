import { existsSync } from "node:fs"
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as PgClient from "@detent/durable/PgClient"
import { writeItemFile } from "@detent/uploads/generate"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { detentProcess, detent as run, start, temporaryFolder } from "../support/Detent.ts"
import { bothSystems, copyFewDocuments, lampConfig, project } from "../support/Project.ts"

const newProject = async (): Promise<string> => {
  const cwd = join(await temporaryFolder(), "lamps")
  await project(cwd, lampConfig("Schema.Int", bothSystems))
  await copyFewDocuments(join(cwd, "corpus"))
  return cwd
}

const executed = (url: string, statement: string) =>
  Effect.runPromise(
    Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe(statement)).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url) }))),
  )

const withDatabase = <A>(file: string, use: (database: DatabaseSync) => A): A => {
  const database = new DatabaseSync(file)
  try {
    return use(database)
  } finally {
    database.close()
  }
}

/** So many files that a restore can be killed among them. Returns their names. */
const writeSettings = async (cwd: string): Promise<ReadonlyArray<string>> => {
  const settings = join(cwd, ".detent", "settings")
  await mkdir(settings, { recursive: true })
  const names = Array.from({ length: 400 }, (_, index) => `tone-${index}.json`).toSorted()
  for (const name of names) await writeFile(join(settings, name), name)
  return names
}

const databases = [
  ["SQLite", Effect.succeed(undefined)],
  ["PostgreSQL", freshDatabase],
] as const

describe("a workspace that is backed up while it runs", () => {
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
          await succeeded(["instance", "start", "lamp", "hall", "--with", '{"pin":"pin-4711"}', ...place])

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
      assert.match((await ended("data", "restore", "--from", "corpus", "--data", "new")).err, /is not a complete backup/)
      await mkdir(join(cwd, ".detent", "settings"), { recursive: true })
      await writeFile(join(cwd, ".detent", "settings", "tone.json"), "{}")
      assert.strictEqual((await ended("data", "backup", "--to", "good")).code, 0)
      assert.match((await ended("data", "restore", "--from", "good")).err, /\.detent is not empty; restore into a new folder with --data/)
      await mkdir(join(cwd, "other", "canonical"), { recursive: true })
      await writeFile(join(cwd, "other", "sources.json"), "precious")
      const over = await ended("data", "restore", "--from", "good", "--data", "other")
      assert.match(over.err, /other is not empty; restore into a new folder with --data/)
      assert.strictEqual(await readFile(join(cwd, "other", "sources.json"), "utf8"), "precious")
      const taken = await ended("data", "restore", "--from", "good", "--data", "new", "--database", "sqlite:.detent/detent.db")
      assert.match(taken.err, /detent\.db exists; name another database/)
      const bucket = await ended("data", "restore", "--from", "good", "--data", "gs://demo/fresh", "--database", "sqlite:fresh.db")
      assert.match(bucket.err, /the files are in the backup, and a restore writes no objects to gs:\/\/demo\/fresh/)
      await rm(join(cwd, "other"), { recursive: true })
      // What fails half way leaves nothing that looks usable.
      const half = await ended("data", "restore", "--from", "good", "--data", "half", "--database", "sqlite:corpus/manifest.json/x.db")
      assert.match(half.err, /the database could not be copied/)
      assert.deepEqual(existsSync(join(cwd, "half")) ? await readdir(join(cwd, "half")) : [], [])
      await mkdir(join(cwd, "broken"))
      await writeFile(join(cwd, "broken", "detent.db"), "no database".repeat(1000))
      const unfinished = await ended("data", "backup", "--data", "broken", "--to", "unfinished")
      assert.match(unfinished.err, /unfinished is not a complete backup: remove it/)
      const database = await readFile(join(cwd, "good", "detent.db"))
      await writeFile(join(cwd, "good", "detent.db"), Buffer.concat([database, Buffer.from("x")]))
      const restored = async () => (await ended("data", "restore", "--from", "good", "--data", "new")).err
      assert.match(await restored(), /detent\.db is damaged/)
      await writeFile(join(cwd, "good", "detent.db"), database)
      const file = join(cwd, "good", "files", "settings", "tone.json")
      await writeFile(file, "{ }")
      assert.match(await restored(), /tone\.json is damaged: its SHA-256 differs from the list; restore another backup/)
      await rm(file)
      assert.match(await restored(), /tone\.json is missing; restore another backup/)
      await writeFile(file, "{}")
      await writeFile(join(cwd, "good", "files.sha256"), "")
      assert.match(await restored(), /files\.sha256 is damaged/)
      assert.isFalse(existsSync(join(cwd, "new")))
    }),
  )

  it.live("is restored by the same command again where a restore was killed, and is not a workspace until then", () =>
    Effect.promise(async () => {
      const cwd = await newProject()
      const ended = (...args: ReadonlyArray<string>) => run(args, { cwd })
      assert.strictEqual((await ended("instance", "start", "lamp", "hall", "--with", '{"pin":"1"}')).code, 0)
      assert.strictEqual((await ended("data", "backup", "--to", "other")).code, 0)
      const names = await writeSettings(cwd)
      assert.strictEqual((await ended("data", "backup", "--to", "good")).code, 0)
      const killed = start(["data", "restore", "--from", "good", "--data", "new", "--json"], { cwd })
      await killed.until(`"${join("settings", names[0] ?? "")}"`)
      killed.process.kill("SIGSTOP")
      const meanwhile = await ended("data", "restore", "--from", "good", "--data", "new")
      assert.match(meanwhile.err, /process \d+ restores into .*new; wait for it/)
      await killed.stop("SIGKILL")
      assert.isFalse(existsSync(join(cwd, "new", "detent.db")))
      const opened = await ended("instance", "list", "--data", "new")
      assert.notStrictEqual(opened.code, 0)
      assert.match(
        opened.err,
        /new is not a workspace yet: the restore of the backup of .* has not ended; restore it again: detent data restore/,
      )
      const another = await ended("data", "restore", "--from", "other", "--data", "new")
      assert.match(
        another.err,
        /new has a part of another backup, of .*, whose restore was interrupted; restore that one again with --from/,
      )
      // The number of the killed process was given to a new one, which runs.
      const noted = JSON.parse(await readFile(join(cwd, "new", "restoring.json"), "utf8"))
      const reused = noted.process.split(".").with(2, process.pid.toString(36)).join(".")
      await writeFile(join(cwd, "new", "restoring.json"), JSON.stringify({ ...noted, pid: process.pid, process: reused }))
      const resumed = await ended("data", "restore", "--from", "good", "--data", "new")
      assert.strictEqual(resumed.code, 0, resumed.err)
      assert.match(resumed.err, /an earlier restore of the backup of .* was interrupted; resuming it/)
      for (const name of names) assert.strictEqual(await readFile(join(cwd, "new", "settings", name), "utf8"), name)
      assert.isFalse(existsSync(join(cwd, "new", "restoring.json")))
      assert.include((await ended("instance", "list", "--data", "new")).out, "hall")
      assert.match((await ended("data", "restore", "--from", "good", "--data", "new")).err, /new is not empty/)
    }),
  )

  it.live(
    "is not a workspace on PostgreSQL while a restore to it is cut off, and the same restore resumes it, also after its last row",
    () =>
      Effect.gen(function* () {
        const database = yield* freshDatabase
        yield* Effect.promise(async () => {
          const cwd = await newProject()
          const ended = (...args: ReadonlyArray<string>) => run(args, { cwd })
          const place = ["--data", "new", "--database", database]
          assert.strictEqual((await ended("instance", "start", "lamp", "hall", "--with", '{"pin":"1"}')).code, 0)
          const names = await writeSettings(cwd)
          assert.strictEqual((await ended("data", "backup", "--to", "good")).code, 0)
          // The process is killed among the files, which come before the rows.
          const killed = start(["data", "restore", "--from", "good", ...place, "--json"], { cwd })
          await killed.until(`"${join("settings", names[0] ?? "")}"`)
          await killed.stop("SIGKILL")
          const leftCopies = async () => (await readdir(join(cwd, "good"))).filter((name) => name.startsWith("restoring-"))
          assert.isNotEmpty(await leftCopies())
          const noted = await readFile(join(cwd, "new", "restoring.json"), "utf8")
          const halfRestored = await ended("instance", "list", ...place)
          assert.notStrictEqual(halfRestored.code, 0)
          assert.match(
            halfRestored.err,
            /new is not a workspace yet: .* restore it again: detent data restore --from .* --database postgres:/,
          )
          const resumed = await ended("data", "restore", "--from", "good", ...place)
          assert.strictEqual(resumed.code, 0, resumed.err)
          assert.deepStrictEqual(await leftCopies(), [])
          assert.include((await ended("instance", "list", ...place)).out, "hall")
          // Killed after the last row, and before the note was removed.
          await writeFile(join(cwd, "new", "restoring.json"), noted)
          assert.strictEqual((await ended("data", "restore", "--from", "good", ...place)).code, 0)
          for (const name of names) assert.strictEqual(await readFile(join(cwd, "new", "settings", name), "utf8"), name)
          assert.include((await ended("instance", "list", ...place)).out, "hall")
          // Killed among the rows, and opened with another folder.
          await executed(database, "update detent.copies set completed_at = null")
          const elsewhere = await ended("instance", "list", "--data", "other", "--database", database)
          assert.notStrictEqual(elsewhere.code, 0)
          assert.match(elsewhere.err, /a complete workspace yet: the copy of the backup of .* has not ended; start the same/)
        })
      }),
  )

  it.live("is not restored to a database that has something, and nothing is written then", () =>
    Effect.gen(function* () {
      const database = yield* freshDatabase
      yield* Effect.promise(async () => {
        const cwd = await newProject()
        const ended = (...args: ReadonlyArray<string>) => run(args, { cwd })
        const start = (...place: ReadonlyArray<string>) => ended("instance", "start", "lamp", "hall", "--with", '{"pin":"1"}', ...place)
        assert.strictEqual((await start()).code, 0)
        assert.strictEqual((await start("--data", "own", "--database", database)).code, 0)
        await mkdir(join(cwd, ".detent", "settings"), { recursive: true })
        await writeFile(join(cwd, ".detent", "settings", "tone.json"), "{}")
        assert.strictEqual((await ended("data", "backup", "--to", "good")).code, 0)
        const refused = await ended("data", "restore", "--from", "good", "--data", "new", "--database", database)
        assert.match(refused.err, /the target is not empty: there are rows in .*; choose an empty database/)
        assert.isFalse(existsSync(join(cwd, "new")))
        // Tables of nodes are those of processes, and no part of a backup.
        await executed(database, "create table detent.cluster_nodes (address text primary key)")
        // Where the files are in a bucket, the backup has the database only, and is restored to the same bucket.
        const bucket = await ended("data", "backup", "--to", "cloud", "--data", "gs://demo/ws", "--database", database)
        assert.match(bucket.err, /is in cloud, as of .*; the files stay in gs:\/\/demo\/ws, which needs versioning/)
        assert.include(bucket.err, "detent data restore --from cloud --data gs://demo/ws --database postgres://…")
        assert.deepEqual((await readdir(join(cwd, "cloud"))).toSorted(), ["backup.json", "detent.db"])
        const alone = await ended("data", "restore", "--from", "cloud", "--data", "gs://demo/ws")
        assert.match(alone.err, /gs:\/\/demo\/ws is a bucket, which holds no database; give --database postgres/)
        assert.isFalse(existsSync(join(cwd, "gs:")))
      })
    }),
  )

  it.live("has no leases and claims of its former processes where it is restored, so that its work is taken up at once", () =>
    Effect.gen(function* () {
      const target = yield* freshDatabase
      yield* Effect.promise(async () => {
        const cwd = await newProject()
        const succeeded = async (...args: ReadonlyArray<string>) => {
          const { code, out, err } = await run(args, { cwd })
          assert.strictEqual(code, 0, `${args.join(" ")}: ${err}`)
          return out
        }
        await succeeded("instance", "start", "lamp", "hall", "--with", '{"pin":"1"}')
        await succeeded("instance", "send", "hall", "Switch", "--with", '{"level":3}')
        // As a process on another host leaves them that is killed while it executes a command.
        const later = Date.now() + 3_600_000
        withDatabase(join(cwd, ".detent", "detent.db"), (database) =>
          database.exec(`insert into detent_leases values ('workflow/node/other/1', 'other/1/a', 1, ${later});
            update detent_commands set status = 'processing', claims = 1, attempts = 1, claimed_by = 'other', claimed_until = ${later}`),
        )
        await succeeded("data", "backup", "--to", "good")
        await succeeded("data", "restore", "--from", "good", "--data", "new")
        const held = withDatabase(join(cwd, "new", "detent.db"), (database) =>
          database
            .prepare(`select (select max(expires_at) from detent_leases) as lease, claimed_until as claim from detent_commands`)
            .all(),
        )
        assert.deepEqual(
          held.map((row) => ({ ...row })),
          [{ lease: 0, claim: 0 }],
        )
        await succeeded("data", "restore", "--from", "good", "--data", "other", "--database", target)
        for (const place of [
          ["--data", "new"],
          ["--data", "other", "--database", target],
        ]) {
          const worked = await run(["worker", "--until-idle", ...place], { cwd })
          assert.include(worked.err, "1 command failed for good")
          assert.match(await succeeded("command", "list", "--json", ...place), /"status":"failed"/)
        }
      })
    }),
  )

  it.live("goes to a folder of this machine, outside of the data", () =>
    Effect.promise(async () => {
      const cwd = await newProject()
      const ended = (...args: ReadonlyArray<string>) => run(args, { cwd })
      assert.strictEqual((await ended("instance", "start", "lamp", "hall", "--with", '{"pin":"1"}')).code, 0)
      assert.match(
        (await ended("data", "backup", "--to", "gs://bucket/backup")).err,
        /gs:\/\/bucket\/backup is not a folder of this machine/,
      )
      assert.match((await ended("data", "restore", "--from", "s3://bucket/b", "--data", "new")).err, /s3:\/\/bucket\/b is not a folder/)
      assert.match((await ended("data", "backup", "--to", ".detent/backup")).err, /one is in the other; choose a folder elsewhere/)
      const copied = await ended("data", "copy", "--to", "sqlite:copy.db", "--to-data", "gs://bucket/copy", "--yes")
      assert.match(copied.err, /gs:\/\/bucket\/copy is not a folder of this machine/)
      const restored = await ended("data", "restore", "--from", "b", "--data", "gs://bucket/b")
      assert.match(restored.err, /is not a complete backup/)
      for (const [command, data] of [
        [["batch", "list"], "gs:/demo/ws"],
        [["data", "backup", "--to", "c"], "s3:/demo/ws"],
        [["data", "backup", "--to", "c", "--database", "sqlite:.detent/detent.db"], "s3:/demo/ws"],
      ] as const)
        assert.match(
          (await ended(...command, "--data", data)).err,
          /:\/demo\/ws is not a folder of a bucket; write it as gs:\/\/BUCKET\/PREFIX/,
        )
      for (const made of ["gs:", "s3:", ".detent/backup", "c"]) assert.isFalse(existsSync(join(cwd, made)), made)
    }),
  )
})
