/** What `detent batch run` allows a workspace to read, for good and for the start. */
import { cp, mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { startFakeGcs } from "@detent/blobs/testing/cloud"
import { assert, beforeAll, describe, it, onTestFinished } from "vitest"
import { detent, start, temporaryFolder } from "./support/Detent.ts"
import { corpus } from "./support/Project.ts"

const bucket = "detent-test"
let outside = ""
let cwd = ""

/** The list of a data folder. */
const listed = async (data: string): Promise<ReadonlyArray<string>> =>
  JSON.parse(await readFile(join(cwd, data, "sources.json"), "utf8").catch(() => '{"readable":[]}')).readable

const letters = async (name: string) => {
  await mkdir(join(outside, name), { recursive: true })
  await cp(join(corpus, "documents/ada-sol.txt"), join(outside, name, "ada-sol.txt"))
}

beforeAll(async () => {
  outside = await temporaryFolder()
  cwd = join(outside, "project")
  await mkdir(cwd)
  await cp(join(corpus, "ontology.ttl"), join(outside, "ontology.ttl"))
  await cp(join(corpus, "examples.jsonl"), join(outside, "examples.jsonl"))
  await writeFile(join(outside, "broken.ttl"), "this is no ontology")
  for (const name of ["letters", "refused", "served"]) await letters(name)
})

const about = (ontology: string) => ["--ontology", ontology, "--namespace", "family"]

/** A workspace in a bucket, with letters and ontologies in another bucket. */
const inBuckets = async (database: string) => {
  const fake = await startFakeGcs({ buckets: [bucket, "shelf"], anonymous: true })
  onTestFinished(() => fake.close())
  const put = async (into: string, name: string, body: string) => {
    const address = `${fake.url}/upload/storage/v1/b/${into}/o?uploadType=media&name=${encodeURIComponent(name)}`
    assert.strictEqual((await fetch(address, { method: "POST", body })).status, 200)
  }
  for (const name of ["ontology.ttl", "broken.ttl", "letters/ada-sol.txt"])
    await put("shelf", name, await readFile(join(outside, name), "utf8"))
  const env = { STORAGE_EMULATOR_HOST: fake.url, HOME: outside, XDG_STATE_HOME: join(outside, "state") }
  const place = ["--data", `gs://${bucket}/data`, "--database", `sqlite:${database}`]
  return {
    put,
    run: (ontology: string) => detent(["batch", "run", "gs://shelf/letters", ...about(ontology), ...place], { cwd, env }),
    shared: () => JSON.parse(fake.bytesOf(bucket, "data/sources.json")?.toString() ?? '{"readable":[]}'),
  }
}

describe("the source of a batch", () => {
  it("stays allowed; the folders of its ontology and examples are not", async () => {
    const ended = await detent(["batch", "run", "../letters", ...about("../ontology.ttl"), "--examples", "../examples.jsonl"], { cwd })
    assert.strictEqual(ended.code, 0, ended.err)
    assert.deepStrictEqual(await listed(".detent"), [join(outside, "letters")])
  })

  it("is not allowed where the batch is refused, here or by a server", async () => {
    const line = ["batch", "run", "../refused", ...about("../broken.ttl"), "--data", "asked"]
    const here = await detent(line, { cwd })
    assert.strictEqual(here.code, 2, here.err)
    assert.isEmpty(await listed("asked"))
    const server = start(["dev", "--port", "0", "--data", "asked"], { cwd })
    onTestFinished(async () => void (await server.stop("SIGKILL")))
    await server.until(/http:\/\/\S+/)
    const there = await detent(line, { cwd })
    assert.strictEqual(there.code, 2, there.err)
    assert.isEmpty(await listed("asked"))
    const taken = await detent(["batch", "run", "../served", ...about("../ontology.ttl"), "--data", "asked"], { cwd })
    assert.strictEqual(taken.code, 0, taken.err)
    assert.deepStrictEqual(await listed("asked"), [join(outside, "served")])
  })

  it("is allowed in a bucket too, without the bucket of its ontology", async () => {
    const { shared, run } = await inBuckets("allowed.db")
    const refused = await run("gs://shelf/broken.ttl")
    assert.strictEqual(refused.code, 2, refused.err)
    assert.isEmpty(shared().readable)
    const ended = await run("gs://shelf/ontology.ttl")
    assert.strictEqual(ended.code, 0, ended.err)
    assert.deepStrictEqual(shared(), { readable: ["gs://shelf/letters"] })
  })

  it("that is refused leaves the list of a bucket as it was, with the local folders of other machines", async () => {
    const { shared, put, run } = await inBuckets("refused.db")
    const before = { readable: ["gs://shelf/other"], local: { "other-machine": ["/srv/letters"] } }
    await put(bucket, "data/sources.json", JSON.stringify(before))
    const refused = await run("gs://shelf/broken.ttl")
    assert.strictEqual(refused.code, 2, refused.err)
    assert.deepStrictEqual(shared(), before)
  })
})
