import { existsSync } from "node:fs"
import { join } from "node:path"
import { BatchApi, UploadApi } from "@detent/api"
import { writeItemFile } from "@detent/uploads/generate"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { decoded, type Running, detent as run, start, temporaryFolder } from "./support/Detent.ts"
import { copyFewDocuments, lampConfig, project } from "./support/Project.ts"

let cwd = ""
let server: Running | undefined
let url = ""
const detent = (...args: ReadonlyArray<string>) => run(args, { cwd })

beforeAll(async () => {
  cwd = join(await temporaryFolder(), "served")
  await project(cwd, lampConfig())
  await copyFewDocuments(join(cwd, "corpus"))
  await writeItemFile(join(cwd, "items.json"), { items: 50, seed: 6, firstId: 900_000 })
  server = start(["dev", "--demo", "--port", "0"], { cwd })
  await server.until(/items: detent upload show/)
  url = server.out.trim()
})

afterAll(async () => {
  await server?.stop("SIGKILL")
})

const ask = async (path: string) => (await fetch(`${url}${path}`)).json()

describe("detent dev", () => {
  it("answers at the address it printed, and works on its sample data", async () => {
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/)
    assert.deepInclude(await ask("/health/ready"), { status: "ready", role: "work" })
    const { batches } = await ask("/api/v1/batch")
    const ended = await detent("batch", "watch", batches[0].batchId, "--json")
    assert.strictEqual(ended.code, 0, ended.err)
    assert.strictEqual(decoded(BatchApi.BatchStatus, ended.out).at(-1)?.documents.completed, 32)
    const { graph, ...status } = JSON.parse((await detent("batch", "show", batches[0].batchId, "--json")).out)
    assert.deepStrictEqual(status, await ask(`/api/v1/batch/${batches[0].batchId}`))
    assert.match(graph, /^file:/)
    const uploads = decoded(UploadApi.UploadListing, (await detent("upload", "list", "--json")).out)
    assert.strictEqual(uploads[0]?.fileName, "items.jsonl")
  })

  it("is asked by the other commands for whatever changes something", async () => {
    assert.strictEqual((await detent("instance", "start", "lamp", "hall", "--with", '{"pin":"pin-4711"}')).code, 0)
    assert.strictEqual((await ask("/api/v1/instances/lamp/hall")).state._tag, "Off")
    const sent = await detent("instance", "send", "hall", "Switch", "--with", '{"level":2}', "--key", "k")
    assert.strictEqual(sent.code, 0, sent.err)
    assert.strictEqual((await ask("/api/v1/instances/lamp/hall")).state._tag, "On")
    assert.strictEqual((await detent("instance", "send", "hall", "Switch", "--with", '{"level":2}')).code, 4)
    // On another database there is another hall, or none.
    const elsewhere = await detent("instance", "send", "hall", "Rest", "--database", `sqlite:${join(cwd, "other.db")}`)
    assert.strictEqual(elsewhere.code, 3)
    assert.strictEqual((await detent("instance", "send", "hall", "Rest", "--with", '{"x":[]}', "--key", "a b")).code, 2)
  })

  it("takes batches and uploads, watched or left alone", async () => {
    const watched = await detent("batch", "run", "corpus")
    assert.strictEqual(watched.code, 0, watched.err)
    const detached = await detent("batch", "run", "corpus", "--detach", "--json")
    const id = decoded(BatchApi.BatchStatus, detached.out)[0]?.batchId ?? ""
    assert.include(detached.err, `detent batch watch ${id}`)
    assert.strictEqual((await detent("batch", "resume", id)).code, 0)
    const uploaded = await detent("upload", "run", "items.json", "--json")
    assert.strictEqual(decoded(UploadApi.UploadStatus, uploaded.out).at(-1)?.items.stored, 50)
    assert.strictEqual((await detent("upload", "run", "items.json")).code, 4)
  })

  it("does not share its home with a second one, and stops well, leaving nothing behind", async () => {
    const second = await detent("serve", "--port", "0")
    assert.strictEqual(second.code, 4)
    assert.include(second.err, url)
    const ended = await server?.stop("SIGTERM")
    assert.strictEqual(ended?.code, 0, ended?.err)
    assert.isFalse(existsSync(join(cwd, ".detent/server.json")))
    const alone = await detent("batch", "run", "corpus", "--detach")
    assert.strictEqual(alone.code, 3)
    assert.include(alone.err, "start one with `detent dev`, or remove --detach")
    const elsewhere = ["--data", "other", "--database", "postgres://127.0.0.1:1/none"]
    const deployed = await detent("batch", "run", "corpus", "--detach", ...elsewhere)
    assert.strictEqual(deployed.code, 3)
    assert.include(deployed.err, "start one with `detent serve --data other --database …`, or remove --detach")
  })
})

describe("detent serve", () => {
  it("is not reached from other machines without a token, and then only with it", async () => {
    const open = await detent("serve", "--host", "0.0.0.0", "--port", "0")
    assert.strictEqual(open.code, 2)
    assert.include(open.err, "DETENT_TOKEN")
    assert.strictEqual((await detent("serve", "--port", "65536")).code, 2)
    // Of the range that is kept for documentation: no machine has it.
    const nowhere = await run(["serve", "--host", "192.0.2.1", "--port", "0", "--token", "a-token-that-is-long-enough"], { cwd })
    assert.strictEqual(nowhere.code, 2)
    assert.include(nowhere.err, "192.0.2.1 is not an address of this machine; correct --host")
    const env = { DETENT_TOKEN: "a-token-that-is-long-enough" }
    const closed = start(["serve", "--host", "0.0.0.0", "--port", "0", "--json"], { cwd, env })
    await closed.until("}\n")
    const there = JSON.parse(closed.out).url
    assert.strictEqual((await fetch(`${there}/api/v1/machines`)).status, 401)
    const refused = await detent("instance", "send", "hall", "Rest")
    assert.strictEqual(refused.code, 4)
    assert.match(refused.err, /the server at http:\S+ requires a token; set DETENT_TOKEN/)
    const wrong = await run(["instance", "send", "hall", "Rest"], { cwd, env: { DETENT_TOKEN: "another-token-that-is-long" } })
    assert.match(wrong.err, /the server at http:\S+ does not accept the token in DETENT_TOKEN; set it to the token/)
    assert.strictEqual((await run(["instance", "send", "hall", "Rest"], { cwd, env })).code, 0)
    assert.notInclude(closed.err, env.DETENT_TOKEN)
    await closed.stop("SIGINT")
  })

  it("runs once, though two are started at the same moment in one folder", async () => {
    const folder = await temporaryFolder()
    const both = [1, 2].map(() => start(["serve", "--port", "0", "--data", "two servers"], { cwd: folder }))
    const [refused, other] = await Promise.race(both.map(async (one, index) => [await one.ended, both[1 - index]] as const))
    assert.strictEqual(refused.code, 4, refused.err)
    assert.include(refused.err, "a server already runs in two servers")
    await other?.until("http://")
    assert.isTrue(existsSync(join(folder, "two servers/server.json")))
    assert.strictEqual((await other?.stop("SIGTERM"))?.code, 0)
    assert.isFalse(existsSync(join(folder, "two servers/server.json")))
  })

  it("that was killed is not asked any more", async () => {
    const killed = start(["serve", "--port", "0"], { cwd })
    await killed.until("http://")
    await killed.stop("SIGKILL")
    assert.isTrue(existsSync(join(cwd, ".detent/server.json")))
    assert.strictEqual((await detent("instance", "send", "hall", "Switch", "--with", '{"level":1}')).code, 0)
    const observing = start(["serve", "--observe", "--port", "0"], { cwd })
    await observing.until("http://")
    const response = await fetch(`${observing.out.trim()}/api/v1/instances/lamp/hall`)
    assert.deepInclude(await response.json(), { sequence: 3 })
    await observing.stop("SIGTERM")
  })
})

describe("detent worker", () => {
  it("ends well when it is stopped", async () => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const working = start(["worker"], { cwd })
      await working.until("stop with Ctrl-C")
      assert.strictEqual((await working.stop(signal)).code, 0)
    }
  })
})
