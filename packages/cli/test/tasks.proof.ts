/** A batch by tasks whose server is killed again and again, with stages that jobs of Cloud Run do. */
import { cp, mkdir, readFile, writeFile } from "node:fs/promises"
import { type AddressInfo, createServer } from "node:net"
import { join } from "node:path"
import { type FakeCloudTasks, startFakeCloudTasks } from "@detent/knowledge/testing/FakeCloudTasks"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { detent, type Settings, start, temporaryFolder } from "./support/Detent.ts"
import { corpus } from "./support/Project.ts"

let fake: FakeCloudTasks
let runJob: (env: Readonly<Record<string, string>>) => Promise<number> = async () => 1

beforeAll(async () => {
  fake = await startFakeCloudTasks({
    queues: ["projects/project/locations/here/queues/workflow-tasks"],
    maxAttempts: 100,
    maxBackoffMillis: 500,
    runJob: (_, env) => runJob(env),
  })
})

afterAll(() => fake.close())

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

/** Without the times at which documents were extracted. */
const graphIn = async (cwd: string, id: string) =>
  (await readFile(join(cwd, ".detent", "batches", id, "canonical", "final.ttl"), "utf8")).replaceAll(/generatedAtTime>? "[^"]+"/g, "")

describe("a batch by tasks", () => {
  it("ends like one in process though its server and a job are killed with SIGKILL", async () => {
    const root = await temporaryFolder()
    const documents = join(root, "corpus")
    await mkdir(documents)
    for (const name of ["ontology.ttl", "shapes.ttl", "examples.jsonl", "documents"])
      await cp(join(corpus, name), join(documents, name), { recursive: true })
    const some = ["ada-sol", "census-1999", "el-haddad", "gazette", "hafen"].map((name) => ({ source: `documents/${name}.txt` }))
    const manifest = JSON.parse(await readFile(join(corpus, "manifest.json"), "utf8"))
    await writeFile(join(documents, "manifest.json"), JSON.stringify({ ...manifest, documents: some }))
    const place = async (name: string) => {
      await mkdir(join(root, name))
      return join(root, name)
    }
    const plain = await place("plain")
    const expected = await detent(["batch", "run", documents, "--key", "same", "--json"], { cwd: plain })
    assert.strictEqual(expected.code, 0, expected.err)
    const { batchId: plainId } = JSON.parse(expected.out.trim().split("\n").at(-1) ?? "")

    const cwd = await place("cloud")
    const port = await freePort()
    const tasks = {
      queue: "cloud-tasks",
      project: "project",
      location: "here",
      serviceAccount: "tasks@project.iam.gserviceaccount.com",
      endpoint: `http://127.0.0.1:${port}`,
      tasksUrl: fake.url,
      runUrl: fake.url,
      keysUrl: fake.keysUrl,
      job: "activity-runner",
      maxAttempts: 100,
    }
    await writeFile(join(cwd, "detent.config.mjs"), `export default { knowledge: { tasks: ${JSON.stringify(tasks)} } }\n`)
    const env = { GCE_METADATA_HOST: new URL(fake.url).host, GOOGLE_APPLICATION_CREDENTIALS: "", CLOUDSDK_CONFIG: join(root, "none") }
    const settings: Settings = { cwd, env }
    const jobs: Array<string> = []
    runJob = async (variables) => {
      jobs.push(`${variables["ACTIVITY_NAME"]} ${variables["CLOUD_RUN_TASK_ATTEMPT"]}`)
      const job = start(["activity"], { cwd, env: { ...env, ...variables } })
      // The first job is killed as it begins.
      if (jobs.length === 1) return (await job.stop("SIGKILL")).code ?? 137
      return (await job.ended).code ?? 1
    }
    const serve = async () => {
      const server = start(["serve", "--port", String(port), "--token", "a-token-of-the-operator"], settings)
      await server.until("http://")
      return server
    }

    let server = await serve()
    const token = { DETENT_TOKEN: "a-token-of-the-operator" }
    const begun = await detent(["batch", "run", documents, "--dispatch", "tasks", "--key", "same", "--detach", "--json"], {
      cwd,
      env: { ...env, ...token },
    })
    assert.strictEqual(begun.code, 0, begun.err)
    const { batchId } = JSON.parse(begun.out.trim().split("\n").at(-1) ?? "")
    for (let kill = 0; kill < 2; kill++) {
      const seen = fake.deliveries.length
      while (fake.deliveries.length < seen + 2) await new Promise((resolve) => setTimeout(resolve, 20))
      assert.strictEqual((await server.stop("SIGKILL")).signal, "SIGKILL")
      server = await serve()
    }
    let state = ""
    while (!/Completed|Failed/.test(state)) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      const headers = { authorization: `Bearer ${token.DETENT_TOKEN}` }
      const shown = await fetch(`http://127.0.0.1:${port}/api/v1/batch/${batchId}`, { headers })
      state = JSON.parse(await shown.text()).state
    }
    await server.stop("SIGTERM")
    assert.include(["Completed", "PartiallyCompleted"], state)
    assert.strictEqual(batchId, plainId)
    assert.strictEqual(await graphIn(cwd, batchId), await graphIn(plain, plainId))
    assert.includeMembers(
      jobs.map((one) => one.split(" ")[0] ?? ""),
      ["resolution", "validation", "ingestion"],
    )
    assert.deepStrictEqual(fake.exhausted, [])
  })
})
