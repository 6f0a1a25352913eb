import { cp } from "node:fs/promises"
import { join } from "node:path"
import { BatchApi } from "@detent/api"
import { ReviewItem, ReviewOutcome } from "@detent/knowledge"
import { assert, beforeAll, describe, it } from "vitest"
import { decoded, detent as run, start, temporaryFolder } from "./support/Detent.ts"
import { corpus } from "./support/Project.ts"

let cwd = ""
let batch = ""
const detent = (...args: ReadonlyArray<string>) => run(args, { cwd })
const facts = async (...more: ReadonlyArray<string>) =>
  decoded(ReviewItem, (await detent("batch", "review", "list", batch, "--json", ...more)).out)
const outcome = (out: string) => decoded(ReviewOutcome, out)[0]

beforeAll(async () => {
  cwd = await temporaryFolder()
  await cp(corpus, join(cwd, "corpus"), { recursive: true })
  const { code, err } = await detent("batch", "run", "corpus")
  assert.strictEqual(code, 0, err)
  batch = decoded(BatchApi.BatchListing, (await detent("batch", "list", "--json")).out)[0]?.batchId ?? ""
})

describe("the review list from the command line", () => {
  it("shows each fact with its words, its document and the reason, and says what is missing", async () => {
    const { out } = await detent("batch", "review", "list", batch, "--limit", "2")
    assert.match(
      out,
      /^[a-f0-9]{16} {2}\S.*\n {2}quote +"\S.*"\n {2}document +file:.*corpus.* \d+-\d+\n {2}confidence +0\.\d+\n {2}why +the confidence of .* less than 0\.5\n/,
    )
    const none = await detent("batch", "review", "accept", batch)
    assert.strictEqual(none.code, 2)
    assert.include(none.err, "name ids of `detent batch review list`, or use --all")
    assert.strictEqual((await detent("batch", "review", "accept", batch, "--all", "--below", "2")).code, 2)
    assert.strictEqual((await detent("batch", "review", "accept", batch, "0123456789abcdef")).code, 3)
    const asking = await detent("batch", "review", "reject", batch, "--all", "--property", "population")
    assert.strictEqual(asking.code, 4)
    assert.include(asking.err, "confirm with --yes")
  })

  it("accepts and rejects without a server, in a name, once for a key", async () => {
    const [one, two, three] = await facts("--property", "employees")
    const accepting = ["batch", "review", "accept", batch, one?.factId ?? "", "--by", "ada", "--key", "first", "--json"]
    const accepted = outcome((await detent(...accepting)).out)
    assert.deepInclude(accepted, { decided: 1, refused: [] })
    assert.deepStrictEqual(outcome((await detent(...accepting)).out), accepted)
    const rejected = outcome((await detent("batch", "review", "reject", batch, two?.factId ?? three?.factId ?? "", "--json")).out)
    assert.deepInclude(rejected?.review, { accepted: 1, rejected: 1 })
    const again = await detent("batch", "review", "reject", batch, one?.factId ?? "")
    assert.strictEqual(again.code, 5)
    assert.match(again.out, /stays as it is: ada accepted it at 2/)
    const by = await detent("graph", "query", "SELECT ?by { ?s <urn:detent:vocabulary:acceptedBy> ?by }")
    assert.strictEqual(by.out, "by\nada\n")
    const [status] = decoded(BatchApi.BatchStatus, (await detent("batch", "show", batch, "--json")).out)
    assert.deepStrictEqual(status?.review, rejected?.review)
    const { triples } = JSON.parse((await detent("graph", "stats", "--json")).out) as { readonly triples: number }
    assert.strictEqual(status?.inGraph, triples)
    const { open = 0, accepted: taken = 0, rejected: refused = 0 } = status?.review ?? {}
    assert.strictEqual(open + taken + refused, status?.outcome?.forReview)
    assert.match(
      (await detent("batch", "show", batch)).out,
      /for review +\d+ facts too unsure for the graph: \d+ open, 1 accepted, 1 rejected\n/,
    )
    const named = await detent("batch", "show", batch, "--data", "./.detent", "--database", "sqlite:.detent/detent.db")
    assert.match(named.out, /review them +detent batch review list batch-[0-9a-f]{12} --data \.\/\.detent --database …\n/)
  })

  it("takes a decision back, and shows who decided what", async () => {
    const [fact] = await facts("--property", "employees")
    const id = fact?.factId ?? ""
    await detent("batch", "review", "accept", batch, id, "--by", "ada")
    const { code, out } = await detent("batch", "review", "reopen", batch, id, "--by", "bo")
    assert.strictEqual(code, 0)
    assert.match(out, /^1 reopened: out of the graph, and open again\n/)
    const { out: list } = await detent("batch", "review", "list", batch, "--property", "employees")
    assert.match(list, / {2}accepted +by ada, .*\n {2}reopened +by bo, /)
    const [again] = await facts("--property", "employees")
    assert.deepInclude(again, { factId: id, status: "open" })
  })

  it("works beside a running server, which makes the change", async () => {
    const server = start(["serve", "--port", "0"], { cwd })
    await server.until(/http:\/\/127\.0\.0\.1:\d+/)
    const rejected = outcome((await detent("batch", "review", "reject", batch, "--all", "--below", "0.35", "--yes", "--json")).out)
    assert.isAbove(rejected?.decided ?? 0, 0)
    assert.strictEqual(rejected?.remaining, 0)
    assert.lengthOf(await facts("--below", "0.35"), 0)
    assert.lengthOf(await facts("--status", "rejected"), rejected?.review.rejected ?? -1)
    assert.strictEqual((await server.stop("SIGTERM")).code, 0)
  })
})
