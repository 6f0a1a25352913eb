/** What `detent batch run` allows a workspace to read, for good and for the start. */
import { cp, mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { startFakeGcs } from "@detent/knowledge/testing/cloud"
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

describe("the source of a batch", { timeout: 120_000 }, () => {
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
    const fake = await startFakeGcs({ buckets: [bucket, "shelf"], anonymous: true })
    onTestFinished(() => fake.close())
    const env = { STORAGE_EMULATOR_HOST: fake.url, HOME: outside, XDG_STATE_HOME: join(outside, "state") }
    const put = async (name: string, from: string) =>
      fetch(`${fake.url}/upload/storage/v1/b/shelf/o?uploadType=media&name=${encodeURIComponent(name)}`, {
        method: "POST",
        body: await readFile(join(outside, from)),
      })
    for (const [name, from] of [
      ["ontology.ttl", "ontology.ttl"],
      ["broken.ttl", "broken.ttl"],
      ["letters/ada-sol.txt", "letters/ada-sol.txt"],
    ] as const)
      assert.strictEqual((await put(name, from)).status, 200)
    const place = ["--data", `gs://${bucket}/data`, "--database", "sqlite:bucket.db"]
    const shared = () => JSON.parse(fake.bytesOf(bucket, "data/sources.json")?.toString() ?? '{"readable":[]}').readable
    const refused = await detent(["batch", "run", "gs://shelf/letters", ...about("gs://shelf/broken.ttl"), ...place], { cwd, env })
    assert.strictEqual(refused.code, 2, refused.err)
    assert.isEmpty(shared())
    const ended = await detent(["batch", "run", "gs://shelf/letters", ...about("gs://shelf/ontology.ttl"), ...place], { cwd, env })
    assert.strictEqual(ended.code, 0, ended.err)
    assert.deepStrictEqual(shared(), ["gs://shelf/letters"])
  })
})
