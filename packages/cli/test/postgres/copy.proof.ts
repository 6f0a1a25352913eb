import { existsSync } from "node:fs"
import { rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { writeItemFile } from "@detent/uploads/generate"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { detent as run, type Settings, start, temporaryFolder } from "../support/Detent.ts"
import { copyFewDocuments, lampConfig, project } from "../support/Project.ts"

const Report = Schema.Struct({
  rows: Schema.Int,
  isResumed: Schema.Boolean,
  tables: Schema.Array(Schema.Struct({ table: Schema.String, rows: Schema.Int, digest: Schema.String })),
  left: Schema.Array(Schema.String),
  checked: Schema.Int,
  failing: Schema.Array(Schema.Unknown),
  files: Schema.optionalKey(Schema.Struct({ files: Schema.Int, bytes: Schema.Int, kept: Schema.Int })),
})

/** The last line of what `--json` writes. */
const reportOf = (out: string) => Schema.decodeUnknownSync(Report)(JSON.parse(out.trim().split("\n").at(-1) ?? ""))

let cwd = ""
const settings = (): Settings => ({ cwd })
const detent = (...args: ReadonlyArray<string>) => run(args, settings())

const succeeded = async (...args: ReadonlyArray<string>) => {
  const ended = await detent(...args)
  assert.strictEqual(ended.code, 0, `${args.join(" ")}: ${ended.err}`)
  return ended
}

/** A kind of items of the user, beside the built-in kind. */
const withProducts = `import { defineUpload } from "@detent/uploads"
${lampConfig("Schema.Int", ', knowledge: {}, uploads: ["items", Products]')}`.replace(
  "export default",
  `const Products = defineUpload({
  name: "Products",
  schema: Schema.Struct({ sku: Schema.String, title: Schema.String, brand: Schema.String }),
  id: "sku",
  index: { text: ["title"], fields: ["brand"] },
})

export default`,
)

const products = [
  { sku: "a", title: "A lathe", brand: "Acme" },
  { sku: "b", title: "A steel saw", brand: "Acme" },
  { sku: "c", title: "A saw", brand: "Other" },
  { sku: "d" },
]

/** The upload of the products, whose file is in the data folder. */
let productsId = ""

/** A workspace on SQLite with something of everything: instances, commands, a batch, uploads, a key. */
beforeAll(async () => {
  cwd = join(await temporaryFolder(), "lamps")
  await project(cwd, withProducts)
  await copyFewDocuments(join(cwd, "corpus"))
  await writeItemFile(join(cwd, "items.jsonl"), { items: 2000, seed: 3, layout: "lines", bad: { missing_id: 0.01 } })
  for (const id of ["hall", "attic"]) await succeeded("instance", "start", "lamp", id, "--with", '{"pin":"pin-4711"}')
  await succeeded("instance", "send", "hall", "Switch", "--with", '{"level":3}', "--key", "k-1")
  assert.strictEqual((await detent("worker", "--until-idle")).code, 1)
  await succeeded("queue", "pause", "mails", "--key", "pause-1")
  await succeeded("token", "create", "ci", "--role", "operate")
  await succeeded("batch", "run", "corpus")
  assert.strictEqual((await detent("upload", "run", "items.jsonl")).code, 5)
  await writeFile(join(cwd, "products.json"), JSON.stringify(products))
  const sent = await detent("upload", "run", "products.json", "--kind", "Products", "--key", "p-1", "--json")
  assert.strictEqual(sent.code, 5, sent.err)
  productsId = JSON.parse(sent.out.trim().split("\n").at(-1) ?? "").batchId
})

describe("a workspace that is copied", () => {
  it.live("from SQLite to PostgreSQL continues there after kill -9 in the middle, and comes back the same", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      yield* Effect.promise(async () => {
        const killed = start(["data", "copy", "--to", url, "--json"], settings())
        await killed.until('"stage":"copy","part":"detent.events"')
        assert.strictEqual((await killed.stop("SIGKILL")).signal, "SIGKILL")
        const there = reportOf((await succeeded("data", "copy", "--to", url, "--json")).out)
        assert.isTrue(there.isResumed)
        assert.deepStrictEqual([there.left, there.failing], [[], []])
        const names = there.tables.filter(({ rows }) => rows > 0).map(({ table }) => table)
        assert.includeMembers(names, [
          "detent.instances",
          "detent.events",
          "detent.snapshots",
          "detent.commands",
          "detent.leases",
          "detent.domain_events",
          "detent.domain_journals",
          "detent.domain_projections",
          "detent.request_keys",
          "detent.audit",
          "detent.tokens",
          "detent.upload_batches",
          "detent.upload_entries",
          "detent.upload_items",
          "detent.batch_documents",
          "detent.extraction_runs",
          "detent.run_artifacts",
        ])

        // What is made again from the rows, and not copied: counts of instances and commands, and the index of words.
        const derived = async (...database: ReadonlyArray<string>) => {
          const lines: Array<string> = []
          for (const words of [
            ["machine", "list", "--json"],
            ["queue", "list", "--json"],
            ["upload", "search", "the", "--limit", "20", "--json"],
            ["upload", "search", "saw", "--kind", "Products", "--where", "brand=Acme", "--json"],
          ])
            lines.push((await succeeded(...words, ...database)).out)
          return lines
        }
        const before = await derived()
        assert.isAbove(before[2]?.split("\n").length ?? 0, 10)
        assert.include(before[3], '"sku":"b"')
        assert.deepStrictEqual(await derived("--database", url), before)
        const back = reportOf((await succeeded("data", "copy", "--from", url, "--to", "sqlite:back.db", "--json")).out)
        assert.deepStrictEqual(back.tables, there.tables)
        assert.deepStrictEqual(await derived("--database", "sqlite:back.db"), before)

        const here = ["--database", url]
        await succeeded("instance", "start", "lamp", "cellar", "--with", '{"pin":"1"}', ...here)
        await succeeded("instance", "send", "cellar", "Switch", "--with", '{"level":1}', ...here)
        assert.strictEqual((await detent("worker", "--until-idle", ...here)).code, 1)
        const { out } = await succeeded("command", "list", "--status", "failed", "--json", ...here)
        assert.match(out, /"key":"lamp\/hall.*\n.*"key":"lamp\/cellar/)
        for (const database of [url, "sqlite:back.db"]) {
          await succeeded("instance", "send", "hall", "Rest", "--database", database)
          const again = await detent("instance", "send", "hall", "Switch", "--with", '{"level":4}', "--key", "k-1", "--database", database)
          assert.include(again.err, "key k-1 of lamp/hall belongs to event 1", "the key is known there")
        }
      })
    }),
  )

  it.live("is refused where the target has something, where a process works in the source, and where it was copied before", () =>
    Effect.gen(function* () {
      const [filled, url] = yield* Effect.all([freshDatabase, freshDatabase])
      yield* Effect.promise(async () => {
        await succeeded("instance", "start", "lamp", "other", "--with", '{"pin":"1"}', "--database", filled)
        const full = await detent("data", "copy", "--to", filled)
        assert.strictEqual(full.code, 4)
        assert.include(full.err, "the target is not empty")

        const worker = start(["serve", "--port", "0"], settings())
        await worker.until(/http:\/\/127\.0\.0\.1:\d+\n/)
        const live = await detent("data", "copy", "--to", url)
        assert.strictEqual(live.code, 4)
        assert.include(live.err, "a process works in the source")
        const forced = reportOf((await succeeded("data", "copy", "--to", "sqlite:forced.db", "--force", "--json")).out)
        assert.isAbove(forced.rows, 2000)
        await worker.stop("SIGTERM")

        await succeeded("data", "copy", "--to", url)
        const twice = await detent("data", "copy", "--to", url, "--json")
        assert.strictEqual(twice.code, 4)
        assert.include(twice.err, "is a complete copy of sqlite:")
        assert.notInclude(twice.err, url)
        const missing = await detent("data", "copy", "--from", "sqlite:none.db", "--to", url)
        assert.include(missing.err, "there is no SQLite database none.db")
        const same = await detent("data", "copy", "--from", "sqlite:back.db", "--to", "sqlite:./back.db")
        assert.include(same.err, "source and target are one database")
      })
    }),
  )

  it.live("with its files continues in another folder, without the old one, and comes back the same", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      yield* Effect.promise(async () => {
        const exported = async (...place: ReadonlyArray<string>) => (await succeeded("graph", "export", ...place)).out
        const before = await exported()
        const line = ["data", "copy", "--to", url, "--to-data", "there", "--json"]
        const killed = start(line, settings())
        await killed.until(/"stage":"files".*\n.*"stage":"files"/)
        assert.strictEqual((await killed.stop("SIGKILL")).signal, "SIGKILL")
        const there = reportOf((await succeeded(...line)).out)
        assert.isAbove(there.files?.kept ?? 0, 0)
        assert.isAbove(there.files?.files ?? 0, 10)
        await rename(join(cwd, ".detent"), join(cwd, "away"))
        const here = ["--data", "there", "--database", url]
        assert.strictEqual(await exported(...here), before)
        const { batchId } = JSON.parse((await succeeded("batch", "list", "--json", ...here)).out.trim().split("\n")[0] ?? "")
        const { graph } = JSON.parse((await succeeded("batch", "show", batchId, "--json", ...here)).out)
        assert.isTrue(graph.startsWith(pathToFileURL(join(cwd, "there/")).href), graph)
        assert.isTrue(existsSync(fileURLToPath(graph)))
        assert.include((await succeeded("batch", "show", batchId, ...here)).out, graph)
        // A failed upload reads its file again.
        await succeeded("upload", "cancel", productsId, "--yes", ...here)
        assert.strictEqual((await detent("upload", "retry", productsId, ...here)).code, 5)
        const shown = JSON.parse((await succeeded("upload", "show", productsId, "--json", ...here)).out)
        assert.deepInclude(shown.items, { total: 4, stored: 3, failed: 1 })

        const backLine = ["data", "copy", "--from", url, "--data", "there", "--to", "sqlite:back/detent.db", "--to-data", "back", "--json"]
        const back = reportOf((await succeeded(...backLine)).out)
        assert.strictEqual(back.files?.files, there.files?.files)
        await rename(join(cwd, "there"), join(cwd, "gone"))
        assert.strictEqual(await exported("--data", "back"), before)
        const inside = await detent("data", "copy", "--data", "back", "--to", "sqlite:x.db", "--to-data", "back/inner")
        assert.strictEqual(inside.code, 4)
        assert.include(inside.err, "are one folder, or one is in the other")
        await rename(join(cwd, "away"), join(cwd, ".detent"))
      })
    }),
  )
})
