import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, beforeAll, describe, it } from "vitest"
import { detent as run, temporaryFolder } from "./support/Detent.ts"
import { bothSystems, copyFewDocuments, lampConfig, project } from "./support/Project.ts"

let cwd = ""
const detent = (...args: ReadonlyArray<string>) => run(args, { cwd })

beforeAll(async () => {
  cwd = join(await temporaryFolder(), "lamps")
  await project(cwd, lampConfig("Schema.Int", bothSystems))
  await copyFewDocuments(join(cwd, "corpus"))
})

describe("what the API can do, the command line can", () => {
  it("forks an instance, and pauses and resumes a queue", async () => {
    await detent("instance", "start", "lamp", "hall", "--with", '{"pin":"pin-4711"}')
    await detent("instance", "send", "hall", "Switch", "--with", '{"level":3}')
    const forked = await detent("instance", "fork", "hall", "attic", "--through", "0", "--json")
    assert.deepStrictEqual(JSON.parse(forked.out), { machine: "lamp", id: "attic", state: { _tag: "Off", pin: "•••" } })
    const [queue] = (await detent("queue", "list", "--json")).out.split("\n")
    const { queue: name } = JSON.parse(queue ?? "")
    assert.deepInclude(JSON.parse((await detent("queue", "pause", name, "--json")).out), { queue: name, paused: true })
    assert.deepInclude(JSON.parse((await detent("queue", "resume", name, "--json")).out), { queue: name, paused: false })
    const misspelt = await detent("queue", "pause", "lmap")
    assert.include(misspelt.err, `no command is in the queue lmap; queues with commands: ${name}`)
    const [requested] = (await detent("command", "list", "--json")).out.split("\n")
    const { key } = JSON.parse(requested ?? "")
    const shown = await detent("command", "show", key)
    assert.match(shown.out, new RegExp(`^command +${key}$`, "m"))
    assert.strictEqual((await detent("command", "show", "lamp/none/1/0")).code, 3)
  })

  it("limits a queue, and groups, retries and skips dead letters by cause", async () => {
    const limited = await detent("queue", "limit", "lamp", "--concurrency", "2", "--rate", "10/1minute", "--json")
    assert.deepInclude(JSON.parse(limited.out), { queue: "lamp", concurrency: 2, rate: { limit: 10, intervalMillis: 60_000 } })
    const free = await detent("queue", "limit", "lamp", "--rate", "none", "--json")
    assert.deepInclude(JSON.parse(free.out), { concurrency: 2 })
    assert.notProperty(JSON.parse(free.out), "rate")
    assert.include((await detent("queue", "limit", "lamp", "--rate", "often")).err, "--rate often is not a limit")
    const each = await detent("queue", "limit", "lamp", "--per-group-concurrency", "2", "--per-group-rate", "10/1minute")
    assert.strictEqual(each.out, "lamp: concurrency 2, no rate limit; each group: concurrency 2, 10 in 1 min 0 s\n")
    const kept = await detent("queue", "limit", "lamp", "--per-group-rate", "none", "--json")
    assert.deepInclude(JSON.parse(kept.out), { perGroup: { concurrency: 2 } })
    const own = await detent("queue", "limit", "lamp", "--group", "acme", "--concurrency", "8")
    assert.strictEqual(own.out, "lamp, group acme: concurrency 8, no rate limit\n")
    assert.match((await detent("queue", "groups", "lamp")).out, /acme +0 +0 +concurrency 8/)
    assert.include((await detent("queue", "limit", "lamp", "--per-group-concurrency", "0")).err, "--per-group-concurrency 0 is not a limit")
    assert.include((await detent("queue", "limit", "lamp", "--group", "x".repeat(501), "--concurrency", "1")).err, "the limit is 500")
    await detent("queue", "limit", "lamp", "--group", "acme", "--concurrency", "none")
    await detent("queue", "limit", "lamp", "--per-group-concurrency", "none")

    await detent("instance", "start", "lamp", "bath", "--with", '{"pin":"pin-4711"}')
    await detent("instance", "send", "bath", "Switch", "--with", '{"level":7}')
    assert.strictEqual((await detent("worker", "--until-idle")).code, 1)
    const [group] = (await detent("command", "groups", "--machine", "lamp", "--json")).out.split("\n")
    const { fingerprint, count, problem } = JSON.parse(group ?? "")
    assert.strictEqual(problem, "the post office is closed")
    const listed = (await detent("command", "list", "--fingerprint", fingerprint, "--json")).out.trim().split("\n")
    assert.strictEqual(listed.length, count)
    const counted = await detent("command", "retry", "--fingerprint", fingerprint, "--dry-run", "--json")
    assert.deepStrictEqual(JSON.parse(counted.out), { count, dryRun: true })
    assert.deepStrictEqual(JSON.parse((await detent("command", "skip", "--machine", "lamp", "--dry-run", "--json")).out), {
      count,
      dryRun: true,
    })
    const skip = ["command", "skip", "--fingerprint", fingerprint, "--reason", "paid in cash", "--yes", "--key", "cash", "--json"]
    for (const _ of ["first", "again"]) assert.deepStrictEqual(JSON.parse((await detent(...skip)).out), { count, dryRun: false })
    assert.strictEqual((await detent("command", "groups", "--json")).out, "")
    assert.strictEqual((await detent("command", "skip", "--reason", "none")).code, 2)
  })

  it("shows a history from its end, by event and without fields, and the layout of a diagram", async () => {
    await detent("instance", "start", "lamp", "stairs", "--with", '{"pin":"pin-4711"}')
    for (const level of [1, 2]) {
      await detent("instance", "send", "stairs", "Switch", "--with", `{"level":${level}}`)
      await detent("instance", "send", "stairs", "Rest")
    }
    const rows = async (...options: ReadonlyArray<string>) =>
      (await detent("instance", "history", "stairs", "--json", ...options)).out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
    const newest = await rows("--order", "newest", "--limit", "2", "--brief")
    assert.deepStrictEqual(
      newest.map(({ sequence, event }) => [sequence, event]),
      [
        [4, { _tag: "Rest" }],
        [3, { _tag: "Switch" }],
      ],
    )
    assert.deepStrictEqual(
      (await rows("--event", "switch", "--before", "3")).map(({ sequence }) => sequence),
      [1],
    )
    const layout = JSON.parse((await detent("machine", "diagram", "lamp", "--format", "layout", "--direction", "right")).out)
    assert.sameMembers(
      layout.states.map((state: { readonly name: string }) => state.name),
      ["Off", "On"],
    )
  })

  it("previews an event, finds instances by order and id, and sends an event to many", async () => {
    await detent("instance", "start", "lamp", "porch-1", "--with", '{"pin":"pin-4711"}')
    await detent("instance", "start", "lamp", "porch-2", "--with", '{"pin":"pin-4711"}')
    const previewed = await detent("instance", "send", "porch-1", "Switch", "--with", '{"level":3}', "--dry-run", "--json")
    assert.deepInclude(JSON.parse(previewed.out), {
      dryRun: true,
      outcome: "Goto",
      from: "Off",
      state: { _tag: "On", pin: "•••", level: 3 },
    })
    assert.strictEqual(JSON.parse((await detent("instance", "show", "porch-1", "--json")).out).sequence, 0)
    const ids = async (...options: ReadonlyArray<string>) =>
      (await detent("instance", "list", "--json", ...options)).out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).id)
    assert.deepStrictEqual(await ids("--search", "porch-"), ["porch-1", "porch-2"])
    assert.deepStrictEqual(await ids("--order", "newest", "--limit", "1"), ["porch-2"])
    const bulk = ["instance", "bulk", "lamp", "Switch", "--with", '{"level":5}', "--search", "porch-"]
    const counted = await detent(...bulk, "--dry-run", "--json")
    assert.deepStrictEqual(JSON.parse(counted.out), {
      count: 2,
      sample: ["porch-1", "porch-2"],
      outcomes: [{ from: "Off", to: "On", example: "porch-1", count: 2 }],
      dryRun: true,
    })
    assert.match((await detent(...bulk, "--dry-run")).out, /COUNT +FROM +TO +SUCH AS\n +2 +Off +On +porch-1/)
    const sent = await detent(...bulk, "--yes", "--json")
    assert.strictEqual(sent.code, 0, sent.err)
    const { job } = JSON.parse(sent.out)
    const done = JSON.parse((await detent("instance", "show", `${job.machine}/${job.id}`, "--json")).out)
    assert.deepInclude(done.state, { _tag: "Done", sent: 2, refused: 0 })
    assert.deepInclude(JSON.parse((await detent("instance", "show", "porch-2", "--json")).out).state, { _tag: "On", level: 5 })
    const none = await detent("instance", "fire", "porch-1", "too long")
    assert.strictEqual(none.code, 3)
    assert.include(none.err, "lamp porch-1 has no timer too long")
  })

  it("lists timers that were given up, and finds no stored item where there is none", async () => {
    assert.strictEqual((await detent("timer", "list")).err, "no timer was given up\n")
    const none = await detent("timer", "revive", "lamp/hall", "too long")
    assert.strictEqual(none.code, 3)
    assert.include(none.err, "see `detent timer list`")
    assert.strictEqual((await detent("upload", "search", "database")).err, "no stored item of Items fits\n")
    assert.strictEqual((await detent("upload", "cancel", "batch-none", "--yes")).code, 3)
    assert.strictEqual((await detent("batch", "withdraw", "batch-3f9c2a71b0d4", "--yes")).code, 3)
  })

  it.each([
    ["batch", "run", "corpus"],
    ["upload", "run", "detent.config.ts"],
    ["instance", "send", "hall", "Switch"],
  ])("refuses a --key for `detent %s %s` that no header of a request can hold", async (...command) => {
    const { code, err } = await detent(...command, "--key", "clé")
    assert.strictEqual(code, 2, err)
    assert.include(err, "--key does not fit; it has 1 to 200 visible ASCII characters")
  })

  it("lists what a batch has stored, prints one file of it, and downloads it", async () => {
    const ran = await detent("batch", "run", "corpus", "--key", "artifacts", "--json")
    const { batchId } = JSON.parse(ran.out.trim().split("\n").at(-1) ?? "")
    const listed = (await detent("batch", "artifacts", batchId, "--json")).out.trim().split("\n")
    const artifacts = listed.map((line) => JSON.parse(line))
    assert.include(
      artifacts.map(({ name }) => name),
      "validation/report.json",
    )
    const printed = await detent("batch", "artifacts", batchId, "validation/report.json")
    assert.property(JSON.parse(printed.out), "statements")
    const written = await detent("batch", "artifacts", batchId, "validation/report.json", "--output", "report.json")
    assert.strictEqual(written.code, 0, written.err)
    assert.strictEqual(await readFile(join(cwd, "report.json"), "utf8"), printed.out)
    const none = await detent("batch", "artifacts", batchId, "../../detent.db")
    assert.strictEqual(none.code, 3)
    assert.include(none.err, "detent batch artifacts")
    const documents = JSON.parse((await detent("batch", "show", batchId, "--documents", "all", "--limit", "1", "--json")).out)
    assert.strictEqual(documents.listed.length, 1)
    assert.strictEqual(documents.listed[0].chunks, 1)
    assert.deepStrictEqual(JSON.parse((await detent("batch", "show", batchId, "--failures", "--json")).out).failures, [])
  })

  it("finds its way in the graph: entities, their facts, neighbours, texts and versions", async () => {
    const entities = (await detent("graph", "entities", "--limit", "2", "--json")).out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
    assert.strictEqual(entities.length, 2)
    const { subject } = JSON.parse((await detent("graph", "relations", "--limit", "1", "--json")).out)
    const facts = await detent("graph", "provenance", subject)
    const placed = await detent("graph", "provenance", subject, "--places")
    const named = await detent("graph", "provenance", "Ada Sol")
    assert.strictEqual(named.code, 2)
    assert.include(named.err, '"Ada Sol" is not the IRI of an entity; find it with: detent graph entities "Ada Sol"')
    assert.match(placed.out, /PLACE/)
    assert.match(placed.out, /characters \d+-\d+|record \d+|page \d+|\/\w/)
    assert.match(facts.out, /^PROPERTY +OBJECT +DOCUMENT +WORDS/)
    const page = await detent("graph", "relations", "--limit", "1")
    const [, cursor = ""] = /--after (\S+)/.exec(page.err) ?? []
    const next = await detent("graph", "relations", "--limit", "1", "--after", cursor)
    const malformed = await detent("graph", "relations", "--after", "garbage")
    assert.deepStrictEqual([malformed.code, malformed.out], [2, ""])
    assert.include(malformed.err, "--after garbage is not a cursor")
    assert.notStrictEqual(next.out, page.out)
    const around = JSON.parse((await detent("graph", "neighbourhood", entities[0].iri, "--json")).out)
    assert.strictEqual(around.entity, entities[0].iri)
    const [fact] = (await detent("graph", "provenance", subject, "--json")).out.trim().split("\n")
    const { property, documentId } = JSON.parse(fact ?? "")
    const narrowed = (await detent("graph", "provenance", subject, "--property", property, "--json")).out.trim().split("\n")
    assert.isTrue(narrowed.every((line) => JSON.parse(line).property === property))
    assert.isNotEmpty(JSON.parse((await detent("graph", "text", documentId, "--json")).out).text)
    const { classes } = JSON.parse((await detent("graph", "vocabulary", "--json")).out)
    assert.isAbove(classes[0].count, 0)
    const { version } = JSON.parse((await detent("graph", "versions", "--limit", "1", "--json")).out)
    assert.strictEqual(
      (await detent("graph", "entities", "--limit", "2", "--version", version, "--json")).out,
      entities.map((one) => `${JSON.stringify(one)}\n`).join(""),
    )
    assert.deepInclude(JSON.parse((await detent("graph", "diff", "--from", version, "--json")).out), { added: 0, removed: 0 })
    assert.strictEqual((await detent("graph", "diff")).code, 2)
    const report = (of: string) => detent("graph", "report", "--version", of, "--out", "-")
    assert.include((await report(version)).out, version)
    assert.strictEqual((await report("0000000000000000")).code, 3)
  })

  it("starts an instance in a state, lists by time, and shows a stored item by its id", async () => {
    const begun = await detent("instance", "start", "lamp", "cellar", "--state", "On", "--with", '{"pin":"pin-4711","level":2}', "--json")
    assert.deepStrictEqual(JSON.parse(begun.out).state, { _tag: "On", pin: "•••", level: 2 })
    assert.include((await detent("instance", "list", "--since", "2026-01-01")).out, "cellar")
    assert.notInclude((await detent("instance", "list", "--until", "2026-01-01T00:00:00Z")).out, "cellar")
    const wrong = await detent("instance", "list", "--since", "soon")
    assert.strictEqual(wrong.code, 2)
    assert.include(wrong.err, "--since soon is not a time")
    assert.strictEqual((await detent("upload", "item", "Items", "1")).code, 3)
  })
})
