import { cp, mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { BatchApi } from "@detent/api"
import { shipModel } from "@detent/knowledge/testing/ProviderServer"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { assert, beforeAll, describe, it, onTestFinished } from "vitest"
import { decoded, detent as run, start, startInTerminal, temporaryFolder } from "./support/Detent.ts"
import { copyFewDocuments, corpus, withoutRuns } from "./support/Project.ts"
import { seaProject } from "./support/SeaProject.ts"

let cwd = ""
const detent = (...args: ReadonlyArray<string>) => run(args, { cwd })
const statuses = (out: string) => decoded(BatchApi.BatchStatus, out)

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
  it("that contradicts an earlier one shows what validation held back, with the reason and the document", async () => {
    for (const [folder, place] of [
      ["before", "Kaldby"],
      ["after", "Mirova"],
    ] as const) {
      await mkdir(join(cwd, folder))
      await writeFile(join(cwd, folder, "people.txt"), `Ada Sol was born in ${place}.`)
    }
    const setting = ["--ontology", "ontology.ttl", "--examples", "examples.jsonl", "--namespace", "works", "--data", "works-home"]
    assert.strictEqual((await detent("batch", "run", "before", ...setting)).code, 0)
    const refused = await detent("batch", "run", "after", ...setting, "--validation", "fail")
    assert.strictEqual(refused.code, 1)
    assert.match(refused.out, /bornIn: More than 1 values \(.*Ada Sol was born in /)
    const held = await detent("batch", "run", "after", ...setting)
    assert.strictEqual(held.code, 0, held.err)
    assert.match(held.out, /^quarantined +1 statement$/m)
    const show = /detent (batch show \S+ --quarantine --data works-home)/.exec(held.err)?.[1] ?? ""
    const shown = await detent(...show.split(" "))
    assert.match(shown.out, /graph:works\/\w+ +\S+bornIn +\S+ +More than 1 values +\S+after\/people\.txt +Ada Sol was born in Mirova/)
    const [listed] = JSON.parse((await detent(...show.split(" "), "--json")).out).quarantined
    assert.strictEqual(listed.message, "More than 1 values")
    const { out } = await detent(
      "graph",
      "query",
      "SELECT ?place { ?x <https://example.org/coast#bornIn> ?y . ?y <http://www.w3.org/2000/01/rdf-schema#label> ?place }",
      "--data",
      "works-home",
    )
    assert.strictEqual(out, "place\nKaldby\n")
  })

  it("lists violations that were not quarantined, and says what to do after a failed validation", async () => {
    await mkdir(join(cwd, "old"))
    await writeFile(join(cwd, "old/works.txt"), "Halcyon Works is a company based in Thessam. Halcyon Works was founded in 1702.")
    const shape = "sh:targetClass c:Organization ; sh:property [ sh:path c:foundingYear ; sh:minInclusive '1800'^^xsd:gYear ]"
    const prefixes = ["c: <https://example.org/coast#>", "sh: <http://www.w3.org/ns/shacl#>", "xsd: <http://www.w3.org/2001/XMLSchema#>"]
    await writeFile(join(cwd, "years.ttl"), `${prefixes.map((one) => `@prefix ${one} .`).join("\n")}\nc:Years a sh:NodeShape ; ${shape} .`)
    const setting = ["--ontology", "ontology.ttl", "--examples", "examples.jsonl", "--shapes", "years.ttl", "--namespace", "old"]
    const runWith = (policy: string) => detent("batch", "run", "old", ...setting, "--data", "old-home", "--validation", policy)
    const listing = /detent (batch show \S+ --quarantine --data old-home)/
    const violation = /graph:old\/\w+ +\S+foundingYear +1702 +.+ \S+old\/works\.txt +Halcyon Works was founded in 1702/
    const failed = await runWith("fail")
    assert.strictEqual(failed.code, 1)
    assert.include(failed.err, "correct the documents or the shapes, then start the same `detent batch run` again")
    assert.notInclude(failed.err, "batch retry")
    const unpublished = await detent(...(listing.exec(failed.out)?.[1] ?? "").split(" "))
    assert.include(unpublished.out, "1 violation was not quarantined; the batch added nothing to the graph:\n")
    assert.match(unpublished.out, violation)
    const warned = await runWith("warn")
    assert.strictEqual(warned.code, 0, warned.err)
    assert.notInclude(warned.err, "Unfinished batches")
    assert.match(warned.err, /^See what violates the shapes: detent batch show /m)
    assert.match(warned.out, /^violations +1; list them: detent batch show /m)
    const show = (listing.exec(warned.out)?.[1] ?? "").split(" ")
    const published = await detent(...show)
    assert.include(published.out, "1 violation was not quarantined; the batch added the statements to the graph:\n")
    assert.match(published.out, violation)
    const json = JSON.parse((await detent(...show, "--json")).out)
    assert.deepStrictEqual([json.quarantined.length, json.violations[0].value], [0, "1702"])
  })

  it("that is stopped with Ctrl-C says how to resume, continues, and ends with the same graph as one that was killed", async () => {
    const { cwd, env, line, detent, stopAnswering, answer } = await waiting()
    const graphOf = async (data: string) => withoutRuns(await readFile(join(cwd, data, "canonical/sea/entities.ttl"), "utf8"))
    const stopped = start([...line, "--data", "stopped"], { cwd, env })
    await stopped.until("Extracting")
    const { code, err } = await stopped.stop("SIGINT")
    assert.strictEqual(code, 130)
    const again = /Resume with: detent (batch resume \S+ --data stopped)/.exec(err)?.[1] ?? ""
    const listed = decoded(BatchApi.BatchListing, (await detent("batch", "list", "--data", "stopped", "--json")).out)
    assert.strictEqual(listed[0]?.state, "Extracting")
    answer()
    const resumed = await detent(...again.split(" "))
    assert.strictEqual(resumed.code, 0, resumed.err)

    stopAnswering()
    const killed = start([...line, "--data", "killed"], { cwd, env })
    await killed.until("Extracting")
    assert.strictEqual((await killed.stop("SIGKILL")).signal, "SIGKILL")
    const told = /resume with: detent (batch resume \S+ --data killed)/.exec(killed.err)?.[1] ?? ""
    answer()
    const taken = await detent(...told.split(" "), "--json")
    assert.strictEqual(taken.code, 0, taken.err)
    assert.strictEqual(statuses(taken.out).at(-1)?.documents.failed, 0)
    assert.strictEqual(await graphOf("killed"), await graphOf("stopped"))
  })

  it("says which unfinished batches the process continues beside the one it was started for", async () => {
    const { cwd, env, line, detent, answer } = await waiting()
    const killed = start(line, { cwd, env })
    await killed.until("Extracting")
    await killed.stop("SIGKILL")
    answer()
    const { code, err } = await detent(...line)
    assert.strictEqual(code, 0, err)
    assert.match(err, /^Unfinished batches continue too: batch-[0-9a-f]{12} \(Extracting\)\. End one with: detent batch cancel ID$/m)
  })

  it("shows a bar in a terminal, drawn over itself; Ctrl-C there stops it, too", async () => {
    const letters = ["batch", "run", join(cwd, "letters"), "--ontology", join(cwd, "ontology.ttl"), "--namespace", "letters"]
    const drawn = startInTerminal([...letters, "--data", "drawn"], { cwd })
    const { code, out } = await drawn.ended
    assert.strictEqual(code, 0)
    assert.include(out, "\r\x1b[2K\x1b[32m█")
    assert.include(out, "Completed    100%")
    const plain = await startInTerminal([...letters, "--data", "drawn"], { cwd, env: { NO_COLOR: "1" } }).ended
    assert.include(plain.out, "█")
    assert.notInclude(plain.out, "\x1b[32m")
    const { line, ...sea } = await waiting()
    const stopped = startInTerminal([...line, "--data", "typed"], sea)
    await stopped.until("Extracting")
    stopped.type("\x03")
    const end = await stopped.ended
    assert.strictEqual(end.code, 130)
    assert.include(end.out, "Resume with: detent batch resume")

    // Another batch in the same home does not resume the first one: another process may work on it.
    assert.strictEqual((await sea.detent(...letters, "--data", "typed")).code, 0)
    const listed = decoded(BatchApi.BatchListing, (await sea.detent("batch", "list", "--data", "typed", "--json")).out)
    assert.deepStrictEqual(listed.map(({ state }) => state).toSorted(), ["Completed", "Extracting"])
  })
})
