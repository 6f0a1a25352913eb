import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { UploadApi } from "@detent/api"
import { writeItemFile } from "@detent/uploads/generate"
import { assert, beforeAll, describe, it } from "vitest"
import { decoded, detent as run, start, startInTerminal, temporaryFolder } from "./support/Detent.ts"
import { project } from "./support/Project.ts"

let cwd = ""
const detent = (...args: ReadonlyArray<string>) => run(args, { cwd })
const statuses = (out: string) => decoded(UploadApi.UploadStatus, out)

beforeAll(async () => {
  cwd = await temporaryFolder()
  await writeItemFile(join(cwd, "good.json"), { items: 300, seed: 3 })
  await writeItemFile(join(cwd, "mixed.jsonl"), { items: 300, seed: 4, layout: "lines", firstId: 10_000, bad: { missing_id: 0.05 } })
  await writeItemFile(join(cwd, "large.jsonl"), { items: 15_000, seed: 5, layout: "lines", firstId: 100_000 })
})

describe("an upload from the command line", () => {
  it("stores a file of items once, and is listed and shown", async () => {
    const { code, out, err } = await detent("upload", "run", "good.json", "--json")
    assert.strictEqual(code, 0, err)
    const end = statuses(out).at(-1)
    assert.deepInclude(end, { state: "completed", isResting: true })
    assert.deepInclude(end?.items, { total: 300, stored: 300, failed: 0 })
    const again = await detent("upload", "run", "good.json")
    assert.strictEqual(again.code, 4)
    assert.include(again.err, String(end?.batchId))
    assert.include(again.err, "`--force`")
    const retried = await detent("upload", "retry", String(end?.batchId))
    assert.strictEqual(retried.code, 4)
    assert.include(retried.err, `upload ${end?.batchId} is complete: all 300 items are stored; nothing is left to retry`)
    assert.notInclude((await detent("upload", "show", String(end?.batchId))).err, "resume with")
    assert.strictEqual((await detent("upload", "run", "good.json", "--force")).code, 0)
    const listed = decoded(UploadApi.UploadListing, (await detent("upload", "list", "--json")).out)
    assert.strictEqual(listed.length, 2)
    assert.deepInclude(JSON.parse((await detent("upload", "list", "--json", "--limit", "1")).out), { state: "completed", total: 300 })
    const page = await detent("upload", "list", "--limit", "1")
    assert.match(page.err, /--after \d+/)
    assert.match(page.out, /^UPLOAD +KIND +FILE +STATE +IN ALL +STORED +REFUSED +STARTED\n\S+ +Items +good\.json +completed +300 +300 +0 /)
  })

  it("of which some items are refused finishes in part with the reasons, and only those are tried again", async () => {
    const { code, out, err } = await detent("upload", "run", "mixed.jsonl")
    assert.strictEqual(code, 5)
    assert.match(out, /^rate +\d+ items\/s$/m)
    // Sent again as it is, an item without an id is refused again.
    assert.match(err, /correct it: +detent upload correct \S+ ITEM --with '\{…\}'\n(?:.*\n){0,2}.*retry: +detent upload retry /)
    assert.match(out, /refused +\d+ missing_id, such as item \d+, line \d+: it has no id/)
    const id = /^upload +(\S+)/.exec(out)?.[1] ?? ""
    const shown = await detent("upload", "show", id, "--items", "failed", "--json")
    const listed = JSON.parse(shown.out).listed
    assert.strictEqual(statuses(shown.out)[0]?.items.failed, listed.length)
    assert.strictEqual(listed[0].problem.reason, "missing_id")
    const retried = await detent("upload", "retry", id)
    assert.strictEqual(retried.code, 5, retried.err)
    assert.notInclude(retried.out, "items/s")
    const stored = JSON.parse((await detent("upload", "show", id, "--items", "stored", "--limit", "1", "--json")).out).listed[0]
    const untouched = await detent("instance", "history", stored.instanceId)
    assert.strictEqual(untouched.err, "it began as stored; no events since\n")
  })

  it("whose refused items are written as a file takes the corrected file, and stores them", async () => {
    await writeFile(join(cwd, "bad.csv"), "id,title\n1,One\n,Two\n,Three\n")
    const id = String(statuses((await detent("upload", "run", "bad.csv", "--json")).out).at(-1)?.batchId)
    const { code, out, err } = await detent("upload", "failures", id)
    assert.strictEqual(code, 0, err)
    assert.match(out, /^\ufeffdetent:item,detent:line,[^\n]*,id,title\n1,3,,missing_id,[^\n]*,,Two\n2,4,/)
    assert.include(err, `detent upload correct ${id} --from FILE`)
    const lines = await detent("upload", "failures", id, "--format", "jsonl", "--after", "1")
    assert.deepInclude(JSON.parse(lines.out), { item: 2, content: { id: "", title: "Three" } })
    await writeFile(join(cwd, "fixed.csv"), out.replace(",,Two", ",2,Two").replace(",,Three", ",1,Three"))
    const corrected = await detent("upload", "correct", id, "--from", "fixed.csv")
    assert.strictEqual(corrected.code, 5, corrected.err)
    assert.strictEqual(corrected.out, "corrected  1\nunchanged  0\nrefused    1\n")
    assert.include(corrected.err, "line 3: item 2 would fail again (duplicate): item 0 of the batch has the same id 1")
    await writeFile(join(cwd, "fixed2.csv"), "detent:item,id\n2,3\n")
    assert.strictEqual((await detent("upload", "correct", id, "--from", "fixed2.csv")).code, 0)
    const both = await detent("upload", "correct", id, "2", "--from", "fixed2.csv")
    assert.strictEqual(both.code, 2)
    const retried = await detent("upload", "retry", id, "--json")
    assert.deepInclude(statuses(retried.out).at(-1)?.items, { stored: 3, failed: 0 })
  })

  it("of items that are stored already is counted first, and keeps them where it is asked to", async () => {
    await writeFile(join(cwd, "stock.csv"), "id,title\ns1,One\ns2,Two\n")
    assert.strictEqual((await detent("upload", "run", "stock.csv")).code, 0)
    await writeFile(join(cwd, "stock2.csv"), "id,title\ns1,One\ns2,Other\ns3,Three\n,Four\n")
    const counted = await detent("upload", "run", "stock2.csv", "--dry-run")
    assert.strictEqual(counted.code, 5, counted.err)
    assert.match(
      counted.out,
      /^format +csv, utf-8, delimiter ,, 2 columns\ninsert +1\nupdate +1\nskip +1\nrefuse +1\nrefuse +1 missing_id, such as item 3, line 5: /,
    )
    const kept = await detent("upload", "run", "stock2.csv", "--existing", "skip", "--json")
    assert.deepInclude(statuses(kept.out).at(-1)?.items, { stored: 3, failed: 1 })
    const item = await detent("upload", "item", "Items", "s2", "--json")
    assert.deepInclude(JSON.parse(item.out).item, { title: "Two" })
  })

  it("lists as many items as its limit says, and the cursor of the next one", async () => {
    await writeItemFile(join(cwd, "many.jsonl"), { items: 1300, seed: 6, layout: "lines", firstId: 900_000 })
    const id = String(statuses((await detent("upload", "run", "many.jsonl", "--json")).out).at(-1)?.batchId)
    const listed = async (...paging: ReadonlyArray<string>) =>
      JSON.parse((await detent("upload", "show", id, "--items", "stored", ...paging, "--json")).out)
    const all = await listed("--limit", "100000")
    assert.strictEqual(all.listed.length, 1300)
    assert.notProperty(all, "next")
    const first = await listed("--limit", "1250")
    assert.strictEqual(first.listed.length, 1250)
    const rest = await listed("--limit", "1250", "--after", String(first.next))
    assert.strictEqual(rest.listed.length, 50)
  })

  it("is followed to its end, its items have a history, and what was cancelled says why", async () => {
    const { out } = await detent("upload", "run", "mixed.jsonl", "--force", "--json")
    const id = String(statuses(out).at(-1)?.batchId)
    const watched = await detent("upload", "watch", id)
    assert.strictEqual(watched.code, 5, watched.err)
    assert.match(watched.out, /^state +partially_completed$/m)
    const failed = JSON.parse((await detent("upload", "show", id, "--items", "failed", "--limit", "1", "--json")).out).listed[0]
    const history = await detent("upload", "history", id, String(failed.index))
    assert.match(history.out, /^TRY +STATE +AT +PROBLEM\n +1 +ingested .*\n +1 +failed .*it has no id\n$/)
    const refused = await detent("upload", "correct", id, String(failed.index), "--with", '{"type":"story"}')
    assert.strictEqual(refused.code, 4)
    assert.include(refused.err, "would fail again (missing_id): it has no id")
    const cancelled = await detent("upload", "cancel", id, "--reason", "the wrong file", "--yes")
    assert.match(cancelled.out, /^cancelled +it was cancelled: the wrong file$/m)
    const kinds = await detent("upload", "kinds")
    assert.match(kinds.out, /^KIND +DEFAULT +VIEW +FIELDS\nItems +yes +detent_items_items *\n$/)
    const found = await detent("upload", "search", "story", "--kind", "Items", "--limit", "1", "--json")
    assert.deepInclude(JSON.parse(found.out).item, { type: "story" })
    assert.strictEqual((await detent("upload", "search", "--where", "nothing", "--json")).code, 2)
  })

  it("that cannot be read is named in the list, beside the others", async () => {
    const place = await temporaryFolder()
    await writeItemFile(join(place, "good.json"), { items: 3, seed: 3 })
    const here = (...args: ReadonlyArray<string>) => run(args, { cwd: place })
    const uploaded = async (...options: ReadonlyArray<string>) =>
      String(statuses((await here("upload", "run", "good.json", ...options, "--json")).out).at(-1)?.batchId)
    const damaged = await uploaded()
    const whole = await uploaded("--force")
    const database = new DatabaseSync(join(place, ".detent", "detent.db"))
    database
      .prepare("update detent_snapshots set body = '{}' where instance in (select instance from detent_instances where id = ?)")
      .run(damaged)
    database.close()
    const { code, out, err } = await here("upload", "list")
    assert.strictEqual(code, 0, err)
    assert.match(out, new RegExp(`^${whole} +Items +good\\.json +completed +3 `, "m"))
    assert.match(out, new RegExp(`^${damaged} +Items +good\\.json +unreadable `, "m"))
    assert.include(err, `upload ${damaged} cannot be read: `)
    const rows = decoded(UploadApi.UploadListing, (await here("upload", "list", "--json")).out)
    assert.deepStrictEqual(
      rows.map(({ batchId, state }) => [batchId, state]),
      [
        [whole, "completed"],
        [damaged, undefined],
      ],
    )
  })

  it("that is not there, or no file of items, has an error of its own", async () => {
    const [unknown, nothing, missing, folder, cursor] = [
      await detent("upload", "show", "batch-none"),
      await detent("upload", "retry", "batch-none"),
      await detent("upload", "run", "missing.json"),
      await detent("upload", "run", "."),
      await detent("upload", "list", "--after", "x"),
    ]
    for (const { code, err } of [unknown, nothing])
      assert.deepStrictEqual([code, err], [3, "detent: there is no upload batch-none; see `detent upload list`\n"])
    assert.strictEqual(missing.code, 3)
    assert.include(missing.err, "there is no file missing.json")
    const remote = await detent("upload", "run", "gs://docs/items.json")
    assert.strictEqual(remote.code, 2)
    assert.include(remote.err, "only local files can be uploaded, and gs://docs/items.json is not one; copy it to this machine first")
    assert.strictEqual(folder.code, 3)
    assert.include(folder.err, "it is a folder")
    assert.strictEqual(cursor.code, 2)
  })

  it("that is killed resumes where it was, and stores every item once", async () => {
    const killed = start(["upload", "run", "large.jsonl"], { cwd })
    await killed.until("storing, ")
    await killed.stop("SIGKILL")
    const again = /resume with: detent (upload retry \S+)/.exec(killed.err)?.[1] ?? ""
    const repeated = await detent("upload", "run", "large.jsonl")
    assert.strictEqual(repeated.code, 4)
    assert.include(repeated.err, `resume with \`detent ${again}\``)
    assert.include(repeated.err, "not finished")
    const [shown, listed] = [await detent("upload", "show", again.split(" ").at(-1) ?? ""), await detent("upload", "list")]
    for (const { err } of [shown, listed]) assert.match(err, new RegExp(`no server runs here; .* resume with: detent ${again}\\n`))
    const { code, out, err } = await detent(...again.split(" "), "--json")
    assert.strictEqual(code, 0, err)
    assert.deepInclude(statuses(out).at(-1)?.items, { total: 15_000, stored: 15_000, waiting: 0 })
  })
})

const books = `
import { defineUpload } from "@detent/uploads"
import { defineConfig } from "@detent/workspace/Config"
import * as Schema from "effect/Schema"

const Books = defineUpload({
  name: "Books",
  schema: Schema.Struct({ isbn: Schema.String, title: Schema.String }),
  id: "isbn",
  index: { text: ["title"], fields: ["title"] },
  check: ({ title }) => (title === "" ? "its title is empty" : undefined),
})

export default defineConfig({ uploads: [Books] })
`

describe("an upload of a kind of the project", () => {
  const refused = { isbn: "2", title: "" }
  const uploaded = async () => {
    const folder = join(await temporaryFolder(), "books")
    await project(folder, books)
    await writeFile(join(folder, "books.json"), JSON.stringify([{ isbn: "1", title: "The pilot" }, refused, { title: "No number" }]))
    const here = (...args: ReadonlyArray<string>) => run(args, { cwd: folder })
    const { code, out, err } = await here("upload", "run", "books.json")
    assert.strictEqual(code, 5, err)
    return { folder, here, err, id: /^upload +(\S+)/.exec(out)?.[1] ?? "" }
  }

  it("is searched without --kind, and the kind is named where nothing fits", async () => {
    const { here } = await uploaded()
    assert.match((await here("upload", "search", "pilot")).out, /^1 +\{"isbn":"1","title":"The pilot"\}$/m)
    assert.strictEqual((await here("upload", "search", "lamp")).err, "no stored item of Books fits\n")
    assert.include((await here("upload", "search", "pilot", "--kind", "Bokos")).err, "no upload Bokos is defined; use one of Books")
    const titled = await here("upload", "search", "--kind", "Books", "--where", "title=Smith, Sons", "--from", "-5")
    assert.strictEqual(titled.out + titled.err, "no stored item of Books fits\n")
  })

  it("says how to correct what its check refused, shows the item, and that it is corrected until it is retried", async () => {
    const { here, err, id } = await uploaded()
    assert.include(err, `detent upload show ${id} --item ITEM`)
    assert.include(err, `detent upload correct ${id} ITEM --with '{…}'`)
    const shown = await here("upload", "show", id, "--item", "1")
    assert.deepStrictEqual(JSON.parse(shown.out), refused)
    assert.include(shown.err, "item 1, line 1: failed; its title is empty")
    assert.deepInclude(JSON.parse((await here("upload", "show", id, "--item", "1", "--json")).out), {
      index: 1,
      state: "failed",
      source: JSON.stringify(refused),
    })
    assert.strictEqual((await here("upload", "show", id, "--item", "7")).code, 3)
    const misspelt = await here("upload", "correct", id, "1", "--with", '{"isbn":"2","titel":"x"}')
    assert.strictEqual(misspelt.code, 4)
    assert.include(misspelt.err, "would fail again (invalid_field): titel is not known; did you mean title?")
    assert.strictEqual((await here("upload", "correct", id, "1", "--with", JSON.stringify({ ...refused, title: "A lamp" }))).code, 0)
    assert.match((await here("upload", "show", id, "--items", "failed")).out, /^ +1 +1 +failed +2 +1 +corrected, waits for a retry$/m)
    assert.include((await here("upload", "show", id, "--item", "1")).err, "item 1, line 1: corrected, waits for a retry")
    assert.strictEqual((await here("upload", "retry", id)).code, 5)
    const left = await here("upload", "show", id, "--items", "failed")
    assert.match(left.out, /^ +2 +1 +failed +2 +isbn is missing$/m)
    assert.notInclude(left.out, "corrected")
  })

  it("logs above the bar of a terminal, not into it", async () => {
    const { folder } = await uploaded()
    const { out } = await startInTerminal(["upload", "run", "books.json", "--force"], { cwd: folder }).ended
    const erased = "\r\x1b[2K"
    const logged = out.split("\n").filter((text) => text.includes("is partially complete"))
    assert.strictEqual(logged.length, 1, out)
    assert.match(logged[0]?.split(erased).at(-1) ?? "", /^\[\S+\] WARN /)
  })
})

/** An item with this title is never done. */
const stubborn = `
import { defineUpload } from "@detent/uploads"
import { defineConfig } from "@detent/workspace/Config"
import * as Schema from "effect/Schema"

const Notes = defineUpload({
  name: "Notes",
  schema: Schema.Struct({ id: Schema.String, title: Schema.String }),
  id: "id",
  check: ({ title }) => {
    while (title === "forever");
    return undefined
  },
})

export default defineConfig({ uploads: [Notes], limits: { uploadItem: { time: "1 second", memory: 400 } } })
`

describe("an item whose check is never done", () => {
  it("fails alone, while the server that reads it answers", async () => {
    const folder = join(await temporaryFolder(), "notes")
    await project(folder, stubborn)
    const items = ["one", "forever", "three"].map((title, index) => ({ id: String(index), title }))
    await writeFile(join(folder, "notes.json"), JSON.stringify(items))
    const server = start(["serve", "--port", "0"], { cwd: folder })
    await server.until(/http:\/\/127\.0\.0\.1:\d+\n/)
    const { code, out, err } = await run(["upload", "run", "notes.json", "--json"], { cwd: folder })
    assert.strictEqual(code, 5, err)
    const end = statuses(out).at(-1)
    assert.deepInclude(end?.items, { stored: 2, failed: 1 })
    assert.deepInclude(end?.errors[0], { reason: "limit_exceeded", count: 1 })
    assert.include(end?.errors[0]?.example, "item 1, line 1: it took longer than 1s, in 2 attempts")
    await server.stop("SIGTERM")
  })
})

describe("a mapping from the command line", () => {
  it("is proposed, written, kept, used and forgotten; nothing is stored before", async () => {
    const folder = join(await temporaryFolder(), "project")
    await project(
      folder,
      `
      import { defineUpload } from "@detent/uploads"
      import { defineConfig } from "@detent/workspace/Config"
      import * as Schema from "effect/Schema"
      const Products = defineUpload({ name: "Products", schema: Schema.Struct({ sku: Schema.String, price: Schema.Finite }), id: "sku" })
      export default defineConfig({ uploads: [Products] })
    `,
    )
    const here = (...args: ReadonlyArray<string>) => run(args, { cwd: folder })
    await writeFile(join(folder, "products.csv"), 'Nr;Preis\n1;"12,50 EUR"\n2;viel\n')
    const mapped = await here("upload", "map", "products.csv", "--write", "mapping.json")
    assert.strictEqual(mapped.code, 5, mapped.err)
    assert.match(mapped.out, /^mapping +proposed by names and values$/m)
    assert.match(mapped.out, /^price +Preis +amount in de-DE$/m)
    assert.match(mapped.out, /^ +3 +price \(column Preis\): "viel" is no amount in de-DE$/m)
    assert.include(mapped.err, "detent upload run products.csv --kind Products --mapping mapping.json")
    assert.strictEqual((await here("upload", "list", "--json")).out, "")
    await writeFile(join(folder, "bad.csv"), `Nr;Preis\n${"1;viel\n".repeat(25)}`)
    const bad = await here("upload", "map", "bad.csv", "--mapping", "mapping.json", "--keep")
    assert.strictEqual(bad.code, 5, bad.err)
    assert.match(bad.out, /^ +11 +price .*\nand 15 more of the first rows$/m)
    assert.include(bad.err, "the mapping is kept for later files of Products; see it with: detent upload mapping Products")
    assert.include(
      bad.err,
      "none of these rows would be stored; correct the mapping, or the file, and look again with: detent upload map bad.csv",
    )
    assert.notInclude(bad.err, "detent upload run")
    assert.strictEqual((await here("upload", "mapping", "Products", "--forget")).code, 0)
    await writeFile(join(folder, "wrong.json"), '{"fields":[{"field":"prise","column":"Preis"}]}')
    const refused = await here("upload", "run", "products.csv", "--mapping", "wrong.json")
    assert.strictEqual(refused.code, 2)
    assert.include(refused.err, "there is no such field: prise is not known; did you mean price?")
    const given = await here("upload", "run", "products.csv", "--mapping", "mapping.json", "--json")
    assert.deepInclude(statuses(given.out).at(-1), { mappingSource: "given", state: "partially_completed" })
    assert.strictEqual((await here("upload", "mapping", "Products", "--keep", "mapping.json")).code, 0)
    const kept = await here("upload", "run", "products.csv", "--force")
    assert.match(kept.out, /^mapping +kept for the kind$/m)
    assert.include((await here("upload", "mapping", "Products", "--forget")).out, "Products has no mapping of its own now")
    assert.deepStrictEqual(JSON.parse((await here("upload", "mapping", "Products", "--json")).out), { kind: "Products" })
  })
})
