/** Commands that are killed with SIGKILL and repeated under their key: nothing is lost, and nothing is done twice. */
import { cp } from "node:fs/promises"
import { join } from "node:path"
import { BatchApi, UploadApi } from "@detent/api"
import { ReviewItem, ReviewOutcome } from "@detent/knowledge"
import { writeItemFile } from "@detent/uploads/generate"
import { assert, beforeAll, describe, it } from "vitest"
import { decoded, detentProcess, detent as run, start, temporaryFolder } from "./support/Detent.ts"
import { corpus } from "./support/Project.ts"

let cwd = ""
let batch = ""
let millis = 0
const detent = (...args: ReadonlyArray<string>) => run(args, { cwd })

beforeAll(async () => {
  cwd = await temporaryFolder()
  for (const name of ["newsletter.txt", "ada-sol.txt"]) await cp(join(corpus, "documents", name), join(cwd, "few", name))
  const setting = ["--ontology", join(corpus, "ontology.ttl"), "--examples", join(corpus, "examples.jsonl"), "--namespace", "few"]
  const ran = await detent("batch", "run", "few", ...setting, "--json")
  assert.strictEqual(ran.code, 0, ran.err)
  batch = decoded(BatchApi.BatchStatus, ran.out)[0]?.batchId ?? ""
  const begun = performance.now()
  await detentProcess(["batch", "show", batch], { cwd })
  millis = performance.now() - begun
})

/** As parts of the time that a command takes: around the moments in which it works. */
const moments = [0.5, 0.65, 0.75, 0.8, 0.85, 0.9, 0.95, 1, 1.05, 1.15]

/** Kills the command at each of the moments, then lets it end. */
const killedFirst = async (...args: ReadonlyArray<string>) => {
  for (const part of moments) {
    const running = start(args, { cwd })
    const timer = setTimeout(() => running.process.kill("SIGKILL"), millis * part)
    await running.ended
    clearTimeout(timer)
  }
  return run(args, { cwd })
}

describe("a command that is killed again and again, and repeated under its key", () => {
  it("accepts and rejects facts once", async () => {
    const [one, two] = decoded(ReviewItem, (await detent("batch", "review", "list", batch, "--json")).out)
    const decide = (verdict: "accept" | "reject", fact: ReviewItem | undefined) =>
      killedFirst("batch", "review", verdict, batch, fact?.factId ?? "", "--by", "ada", "--key", verdict, "--json")
    for (const [verdict, fact] of [
      ["accept", one],
      ["reject", two],
    ] as const) {
      const { code, out, err } = await decide(verdict, fact)
      assert.strictEqual(code, 0, err)
      assert.deepInclude(decoded(ReviewOutcome, out)[0], { decided: 1, unchanged: 0, refused: [] })
    }
    const by = await detent("graph", "query", "SELECT ?by { ?s <urn:detent:vocabulary:acceptedBy> ?by }", "--namespace", "few")
    assert.strictEqual(by.out, "by\nada\n")
    const decided = decoded(ReviewItem, (await detent("batch", "review", "list", batch, "--status", "accepted", "--json")).out)
    assert.deepStrictEqual(
      decided.map(({ factId, history = [] }) => [factId, history.length]),
      [[one?.factId, 1]],
    )
  })

  it("withdraws a batch once", async () => {
    const { code, out, err } = await killedFirst("batch", "withdraw", batch, "--yes", "--key", "withdraw", "--json")
    assert.strictEqual(code, 0, err)
    const { version } = JSON.parse(out)
    const stats = JSON.parse((await detent("graph", "stats", "--namespace", "few", "--json")).out)
    assert.deepInclude(stats, { version, triples: 0 })
    const again = await detent("batch", "withdraw", batch, "--yes")
    assert.strictEqual(again.out, `nothing of ${batch} is in few any more\n`)
  })

  it("corrects an item of an upload once", async () => {
    await writeItemFile(join(cwd, "mixed.jsonl"), { items: 40, seed: 4, layout: "lines", firstId: 10_000, bad: { missing_id: 0.05 } })
    const ran = await detent("upload", "run", "mixed.jsonl", "--json")
    const { batchId, items } = decoded(UploadApi.UploadStatus, ran.out).at(-1) ?? {}
    assert.isAbove(items?.failed ?? 0, 0)
    const id = String(batchId)
    const failed = JSON.parse((await detent("upload", "show", id, "--items", "failed", "--json")).out).listed
    const item = '{"id":77,"type":"story","by":"ada","time":1175714200,"title":"corrected"}'
    const { code, err } = await killedFirst("upload", "correct", id, String(failed[0].index), "--with", item, "--key", "correct")
    assert.strictEqual(code, 0, err)
    await detent("upload", "retry", id)
    const [status] = decoded(UploadApi.UploadStatus, (await detent("upload", "show", id, "--json")).out)
    assert.deepInclude(status?.items, { total: 40, stored: (items?.stored ?? 0) + 1, failed: (items?.failed ?? 0) - 1 })
    const found = await detent("upload", "search", "corrected", "--json")
    assert.lengthOf(found.out.trim().split("\n"), 1)
    // The request is answered, and the stored item stays as it is.
    const again = await detent("upload", "correct", id, String(failed[0].index), "--with", item, "--key", "correct")
    assert.strictEqual(again.code, 0, again.err)
  })
})
