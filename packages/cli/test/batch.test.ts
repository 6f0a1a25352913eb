import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { BatchApi } from "@detent/api"
import { shipModel } from "@detent/knowledge/testing/ProviderServer"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { assert, beforeAll, describe, it, onTestFinished } from "vitest"
import { decoded, detent as run, start, temporaryFolder } from "./support/Detent.ts"
import { copyFewDocuments, corpus } from "./support/Project.ts"
import { seaProject } from "./support/SeaProject.ts"

let cwd = ""
const detent = (...args: ReadonlyArray<string>) => run(args, { cwd })
const statuses = (out: string) => decoded(BatchApi.BatchStatus, out)

const firstBatch = async (data: string) =>
  decoded(BatchApi.BatchListing, (await detent("batch", "list", "--data", data, "--json")).out)[0]?.batchId ?? ""

/** Logs in a folder of their own, and a model that answers some questions and then none until it is released: a batch that waits. */
const waiting = async () => {
  let unanswered = Number.NEGATIVE_INFINITY
  const scope = Scope.makeUnsafe()
  onTestFinished(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const sea = seaProject((heard) => (unanswered++ < 0 ? shipModel(heard) : "hang"))
  const { cwd, env, line } = await Effect.runPromise(Scope.provide(sea, scope))
  const stopAnswering = () => {
    unanswered = -3
  }
  stopAnswering()
  return {
    cwd,
    env,
    line,
    detent: (...args: ReadonlyArray<string>) => run(args, { cwd, env }),
    stopAnswering,
    answer: () => {
      unanswered = Number.NEGATIVE_INFINITY
    },
  }
}

beforeAll(async () => {
  cwd = await temporaryFolder()
  await copyFewDocuments(join(cwd, "corpus"))
  for (const name of ["ontology.ttl", "examples.jsonl"]) await cp(join(corpus, name), join(cwd, name))
  for (const name of ["ada-sol.txt", "el-haddad.txt"]) await cp(join(corpus, "documents", name), join(cwd, "letters", name))
})

describe("a batch from the command line", () => {
  it("turns a folder with a manifest into a graph, with progress on stderr and the outcome on stdout", async () => {
    const { code, out, err } = await detent("batch", "run", "corpus")
    assert.strictEqual(code, 0, err)
    assert.match(out, /^batch +batch-[0-9a-f]{12}\nstate +Completed\n/)
    assert.match(err, /^batch-\S+; if it is stopped, resume with: detent batch resume batch-/)
    assert.match(err, /Extracting, \d+%: \d+\/4 documents/)
    assert.notInclude(err, "\x1b")
    assert.match(out, /^facts +\d+ about \d+ entities$/m)
    assert.match(out, /^triples +(\d+) from this batch; \1 in the graph when it ended$/m)
    assert.match(err, /^See the facts: detent graph relations --namespace coast; the entities: detent graph entities --namespace coast$/m)
    assert.match((await detent("graph", "relations", "--namespace", "coast")).out, /^SUBJECT +PROPERTY +OBJECT/)
    assert.match((await detent("graph", "entities", "--namespace", "coast")).out, /^ENTITY +OTHER NAMES +CLASSES/)
    const id = await firstBatch(".detent")
    const shown = statuses((await detent("batch", "show", id, "--json")).out)
    assert.deepInclude(shown[0], { state: "Completed", percent: 100, isTerminal: true })
    assert.strictEqual(shown[0]?.outcome?.documentsProcessed, 4)
    const watched = statuses((await detent("batch", "watch", id, "--json")).out)
    assert.strictEqual(watched.at(-1)?.state, "Completed")
  })

  it("lists a cause that several documents have once", async () => {
    await mkdir(join(cwd, "broken"))
    for (const name of ["alpha", "beta", "gamma delta"]) await writeFile(join(cwd, "broken", `${name}.pdf`), "this is no pdf")
    const line = ["batch", "run", "broken", "--ontology", "ontology.ttl", "--namespace", "broken", "--data", "failures"]
    const { code, err } = await detent(...line)
    assert.strictEqual(code, 1, err)
    const shown = await detent("batch", "show", await firstBatch("failures"), "--failures", "--data", "failures", "--json")
    const { failures } = JSON.parse(shown.out)
    assert.deepStrictEqual(
      failures.map(({ count, documents }: { readonly count: number; readonly documents: ReadonlyArray<string> }) => [
        count,
        documents.length,
      ]),
      [[3, 3]],
      shown.out,
    )
  })

  it("can be asked, exported and counted afterwards", async () => {
    const label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    const asked = await detent("graph", "query", `SELECT ?name { ?x ${label} ?name . FILTER(?name = "Harbour Lights") }`)
    assert.strictEqual(asked.out, "name\nHarbour Lights\n")
    const json = await run(["graph", "query", "-", "--json"], { cwd, input: `ASK { ?x ${label} "Harbour Lights" }` })
    assert.strictEqual(JSON.parse(json.out).boolean, true)
    const unfinished = await detent("graph", "query", "SELECT * { ?s ?p ")
    assert.strictEqual(unfinished.code, 2)
    assert.match(unfinished.err, /refused: at 1:18 \(line:column\) expected one of \S+, \S+, \S+, \S+, \S+ and others; /)
    assert.include(
      (await detent("graph", "query", "SELEC ?x")).err,
      "SELEC does not begin a query; begin with SELECT, ASK, CONSTRUCT or DESCRIBE",
    )
    assert.include((await detent("graph", "query", "CLEAR ALL")).err, "only SELECT, ASK, CONSTRUCT, DESCRIBE")
    assert.strictEqual((await detent("batch", "list", "--state", "Failed")).err, "no batch is Failed\n")
    const stats = JSON.parse((await detent("graph", "stats", "--json")).out)
    assert.isAbove(stats.triples, 100)
    const relations = await detent("graph", "export", "--format", "relations")
    assert.match(relations.out, /^subject,subjectLabel,property,/)
    const written = await detent("graph", "export", "--output", "coast.ttl", "--json")
    assert.strictEqual(JSON.parse(written.out).file, "coast.ttl")
    assert.include(await readFile(join(cwd, "coast.ttl"), "utf8"), "Harbour Lights")
    const nowhere = await detent("graph", "export", "--output", "no/such/folder.ttl")
    assert.strictEqual(nowhere.code, 1)
    assert.include(nowhere.err, "choose another with --output")
    assert.match((await detent("graph", "report", "--out", "no/such/folder.html")).err, /choose another with --out$/m)
    assert.strictEqual((await detent("graph", "stats", "--namespace", "moon")).code, 3)
  })

  it("accepts the name of a property or class in place of its IRI, and names those that there are", async () => {
    const byIri = await detent("graph", "relations", "--property", "https://example.org/coast#foundingYear")
    assert.match(byIri.out, / foundingYear /, byIri.err)
    for (const name of ["foundingYear", "founding year"])
      assert.strictEqual((await detent("graph", "relations", "--property", name)).out, byIri.out)
    const unknown = await detent("graph", "relations", "--property", "colour")
    assert.strictEqual(unknown.code, 3)
    assert.match(unknown.err, /there is no property "colour" in the graph; (?:it has|some of its properties): .*foundingYear/)
    assert.match((await detent("graph", "entities", "--type", "Organization")).out, /^\S.* Organization /m)
    assert.match(
      (await detent("graph", "relations", "--entity", "Harbour Lights")).err,
      /find it with: detent graph entities "Harbour Lights"/,
    )
  })

  it("counts the same triples in the status, the statistics and the export", async () => {
    const [status] = statuses((await detent("batch", "show", await firstBatch(".detent"), "--json")).out)
    const { triples } = JSON.parse((await detent("graph", "stats", "--json")).out)
    const lines = (await detent("graph", "export", "--format", "ntriples")).out.trimEnd().split("\n")
    assert.strictEqual(triples, lines.length)
    assert.strictEqual(status?.outcome?.triplesIngested, lines.length)
    const statements = lines.filter((line) => line.endsWith("<http://www.w3.org/1999/02/22-rdf-syntax-ns#Statement> ."))
    assert.strictEqual(status?.outcome?.relationsExtracted, statements.length)
  })

  it("run again, skips what is unchanged, withdraws what is gone, and shows what it changed", async () => {
    const few = join(cwd, "few")
    await mkdir(few)
    for (const name of ["0-ada-sol.txt", "1-ada-sol.txt"]) await cp(join(corpus, "documents/ada-sol.txt"), join(few, name))
    const setting = ["--ontology", "ontology.ttl", "--examples", "examples.jsonl", "--namespace", "letters", "--data", "few-data"]
    const again = (...more: ReadonlyArray<string>) =>
      detent("batch", "run", "few", ...setting, "--json", ...more).then(({ out }) => statuses(out).at(-1))
    const first = await again()
    assert.deepInclude(first?.outcome, { documentsProcessed: 2, documentsUnchanged: 0 })
    assert.deepInclude((await again())?.outcome, { documentsProcessed: 2, documentsUnchanged: 2, triplesIngested: 0 })
    const unchanged = await detent("batch", "run", "few", ...setting)
    assert.match(unchanged.out, /^changes +none: no document changed, and the graph is as before$/m)
    assert.notMatch(unchanged.out, /^(?:facts|triples|violations|quarantined) /m)
    await rm(join(few, "1-ada-sol.txt"))
    assert.deepInclude((await again("--keep-missing"))?.outcome, { documentsWithdrawn: 0 })
    const last = await again()
    assert.deepInclude(last?.outcome, { documentsUnchanged: 1, documentsWithdrawn: 1 })
    const diff = await detent("graph", "diff", last?.batchId ?? "", "--data", "few-data")
    assert.match(diff.out, /^letters: 0 facts added, [1-9]\d* removed, in 1 document\n.*1-ada-sol\.txt\n {2}- /)
    const changes = JSON.parse((await detent("graph", "diff", first?.batchId ?? "", "--data", "few-data", "--json")).out)
    assert.strictEqual(changes.added, first?.outcome?.relationsExtracted)
    assert.strictEqual((await detent("graph", "diff", "batch-000000000000", "--data", "few-data")).code, 3)
  })

  it("tells what is missing, and what cannot be found", async () => {
    const [missing, bare, nowhere, noId, unknown, noTurtle, long] = [
      await detent("batch", "run", "nothing-here"),
      await detent("batch", "run", "letters"),
      await detent("batch", "show", "batch-000000000000"),
      await detent("batch", "show", "seven"),
      await detent("batch", "run", "letters", "--ontology", "none.ttl", "--namespace", "letters"),
      await detent("batch", "run", "letters", "--ontology", "letters/ada-sol.txt", "--namespace", "letters"),
      await detent("batch", "run", "letters", "--ontology", "ontology.ttl", "--namespace", "n".repeat(300)),
    ]
    assert.strictEqual(missing.code, 3)
    assert.strictEqual(bare.code, 2)
    assert.include(bare.err, "--ontology FILE")
    assert.strictEqual(nowhere.code, 3)
    assert.strictEqual(noId.code, 2)
    assert.strictEqual(unknown.code, 2)
    assert.include(unknown.err, "--ontology none.ttl: there is no such file")
    assert.strictEqual(noTurtle.code, 2)
    assert.match(noTurtle.err, /letters\/ada-sol\.txt, line 1: no valid Turtle: /)
    assert.notInclude(noTurtle.err, "manifest")
    const document = await detent("batch", "run", "letters/ada-sol.txt", "--ontology", "ontology.ttl", "--namespace", "letters")
    assert.strictEqual(document.code, 2)
    assert.include(document.err, "letters/ada-sol.txt is neither a folder of documents nor a manifest.json; name its folder: letters\n")
    const setting = ["--ontology", "ontology.ttl", "--namespace", "letters"]
    const noShapes = await detent("batch", "run", "letters", ...setting, "--shapes", "ontology.ttl")
    assert.include(noShapes.err, "ontology.ttl cannot be used")
    assert.strictEqual(long.code, 2)
    assert.include(long.err, "is not a name of a graph; use at most 200 lower-case letters")
  })

  it("that cannot read every document finishes in part, and says which failed", async () => {
    await mkdir(join(cwd, "mixed"))
    await writeFile(join(cwd, "mixed/broken.pdf"), "this is no PDF")
    await cp(join(corpus, "documents/ada-sol.txt"), join(cwd, "mixed/ada-sol.txt"))
    const setting = ["--ontology", "ontology.ttl", "--namespace", "mixed", "--data", "mixed-home"]
    await writeFile(join(cwd, "mixed/minutes.docx"), "a kind that is not read")
    await writeFile(join(cwd, "mixed/.hidden"), "")
    await symlink(join(corpus, "documents/newsletter.txt"), join(cwd, "mixed/linked.txt"))
    const { code, out, err } = await detent("batch", "run", "mixed", ...setting, "--json")
    assert.strictEqual(code, 5)
    assert.include(err, "2 files of mixed cannot be read and are left out: linked.txt (a link), minutes.docx\n")
    const end = statuses(out).at(-1)
    assert.deepInclude(end?.documents, { total: 2, completed: 1, failed: 1 })
    const shown = await detent("batch", "show", end?.batchId ?? "", "--documents", "failed", "--data", "mixed-home")
    assert.match(shown.out, /broken\.pdf +failed +\S+/)
    // The first batch has ended in part, and no process continues it.
    assert.notInclude((await detent("batch", "run", "mixed", ...setting)).err, "Unfinished batches")
  })

  it("lists as many facts and entities as a limit above a page says", async () => {
    await mkdir(join(cwd, "many"))
    const rows = Array.from({ length: 1100 }, (_, index) => `Mill Quarter ${"abcdefghij"[index % 10]}${index},1902`)
    await writeFile(join(cwd, "many/works.csv"), ["organization,founding year", ...rows].join("\n"))
    const data = ["--namespace", "many", "--data", "many-home"]
    const { code, err } = await detent("batch", "run", "many", "--ontology", "ontology.ttl", ...data)
    assert.strictEqual(code, 0, err)
    for (const list of ["relations", "entities"]) {
      const all = await detent("graph", list, ...data, "--limit", "100000", "--json")
      assert.strictEqual(all.out.trim().split("\n").length, 1100, list)
      assert.notInclude(all.err, "more with")
      const some = await detent("graph", list, ...data, "--limit", "1050", "--json")
      assert.strictEqual(some.out.trim().split("\n").length, 1050, list)
      assert.include(some.err, "more with --after")
    }
  })

  it("names the values of a table that do not fit their datatype", async () => {
    await mkdir(join(cwd, "tables"))
    const rows = ["Halcyon Works,1902", "Orion Mill,before the war", "Skerry Press,", "Tern House,18x4"]
    await writeFile(join(cwd, "tables/works.csv"), ["organization,founding year", ...rows].join("\n"))
    const setting = ["--ontology", "ontology.ttl", "--namespace", "tables", "--data", "tables-home"]
    const { code, out, err } = await detent("batch", "run", "tables", ...setting)
    assert.strictEqual(code, 0, err)
    const told = 'foundingYear "before the war" (works.csv), foundingYear "18x4" (works.csv)'
    assert.include(out, `not read     2 values of the wrong datatype, or rows without a name: ${told}\n`)
  })

  it("that was withdrawn is marked in the list and in its status", async () => {
    const setting = ["--ontology", "ontology.ttl", "--examples", "unknown.jsonl", "--namespace", "letters", "--data", "withdrawn-home"]
    const fact = { sub: "Ada Sol", rel: "no such relation", obj: "Thessam" }
    await writeFile(join(cwd, "unknown.jsonl"), JSON.stringify({ sent: "Ada Sol lives in Thessam.", triples: [fact] }))
    const { code, err } = await detent("batch", "run", "letters", ...setting)
    assert.strictEqual(code, 0, err)
    assert.match(err, /unknown\.jsonl: the ontology has no property "no such relation"/)
    const id = await firstBatch("withdrawn-home")
    const onData = ["--data", "withdrawn-home"]
    assert.notInclude((await detent("batch", "list", ...onData)).out, "withdrawn")
    assert.match((await detent("batch", "withdraw", id, ...onData, "--yes")).out, /, without batch-/)
    assert.match((await detent("batch", "list", ...onData)).out, / withdrawn$/m)
    assert.match((await detent("batch", "show", id, ...onData)).out, /^graph +letters; the facts of this batch were withdrawn from it$/m)
    assert.strictEqual((await detent("batch", "withdraw", id, ...onData, "--yes")).out, `nothing of ${id} is in letters any more\n`)
  })

  it("in which all fails has failed; with the cause removed it is retried", async () => {
    await mkdir(join(cwd, "bad"))
    await writeFile(join(cwd, "bad/page.pdf"), "this is no PDF")
    const setting = ["--data", "bad-home"]
    const failed = await detent("batch", "run", "bad", "--ontology", "ontology.ttl", "--namespace", "bad", ...setting)
    assert.strictEqual(failed.code, 1)
    assert.include(failed.err, "detent batch retry batch-")
    assert.include(failed.err, "--data bad-home")
    const id = await firstBatch("bad-home")
    await cp(join(corpus, "documents/annual-report.pdf"), join(cwd, "bad/page.pdf"))
    const retried = await detent("batch", "retry", id, ...setting, "--json")
    assert.strictEqual(retried.code, 0, retried.err)
    assert.deepInclude(statuses(retried.out).at(-1), { state: "Completed", retryCount: 1 })
    assert.strictEqual((await detent("batch", "retry", id, ...setting)).code, 4)
  })

  it("can be watched and cancelled from another terminal, and resumed", async () => {
    const { cwd, env, line, detent, answer } = await waiting()
    const running = start([...line, "--data", "shared", "--json"], { cwd, env })
    await running.until("Extracting")
    const id = statuses(running.out)[0]?.batchId ?? ""
    const watching = start(["batch", "watch", id, "--data", "shared"], { cwd })
    await watching.until("Extracting")
    const leaving = start(["batch", "watch", id, "--data", "shared"], { cwd })
    await leaving.until("Extracting")
    const left = await leaving.stop("SIGINT")
    assert.strictEqual(left.code, 130)
    assert.include(left.err, "the batch is not affected")
    const unasked = await detent("batch", "cancel", id, "--data", "shared")
    assert.strictEqual(unasked.code, 4)
    const cancelled = await detent("batch", "cancel", id, "--data", "shared", "--yes", "--json")
    assert.strictEqual(statuses(cancelled.out)[0]?.state, "Cancelled")
    assert.strictEqual((await running.ended).code, 1)
    assert.strictEqual((await watching.ended).code, 1)
    answer()
    const resumed = await detent("batch", "resume", id, "--data", "shared")
    assert.strictEqual(resumed.code, 0, resumed.err)
    const shown = statuses((await detent("batch", "show", id, "--data", "shared", "--json")).out)[0]
    assert.deepInclude(shown, { state: "Completed", percent: 100 })
    assert.strictEqual(shown?.outcome?.documentsProcessed, (await readdir(join(cwd, "logs"))).length)
  })
})
