/** `POST /activities/:name`, and a whole batch that Cloud Tasks carries there. */
import { readdir, readFile, stat } from "node:fs/promises"
import { type AddressInfo, createServer } from "node:net"
import { join } from "node:path"
import { Batches, type BatchId, type BatchState } from "@detent/knowledge"
import { type FakeCloudTasks, startFakeCloudTasks } from "@detent/knowledge/testing/FakeCloudTasks"
import { defineConfig } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { afterAll, beforeAll } from "vitest"
import { corpusFolder, smallManifest } from "../support/manifest.ts"
import { json, request, served } from "../support/served.ts"

const serviceAccount = "tasks-invoker@project.iam.gserviceaccount.com"
const queue = "projects/project/locations/here/queues/workflow-tasks"
const token = "a-token-of-the-operator"
const batchId = "batch-0123456789ab" as BatchId

let fake: FakeCloudTasks

beforeAll(async () => {
  fake = await startFakeCloudTasks({ queues: [queue], maxAttempts: 5 })
})

afterAll(() => fake.close())

/** Credentials come from the fake. By default, Effect reads the environment of a process once, which other files of tests may have done. */
const fromFake = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const env = { GCE_METADATA_HOST: new URL(fake.url).host, CLOUDSDK_CONFIG: "/nonexistent" }
    return Effect.provideService(effect, ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env }))
  })

const freePort = Effect.promise(
  () =>
    new Promise<number>((resolve) => {
      const server = createServer().listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        server.close(() => resolve(port))
      })
    }),
)

const cloud = Effect.gen(function* () {
  const port = yield* freePort
  const endpoint = `http://127.0.0.1:${port}`
  const tasks = {
    queue: "cloud-tasks",
    project: "project",
    location: "here",
    serviceAccount,
    endpoint,
    tasksUrl: fake.url,
    keysUrl: fake.keysUrl,
    maxAttempts: 5,
  } as const
  const home = yield* fromFake(served({ config: defineConfig({ knowledge: { tasks } }), serve: { port, token: Redacted.make(token) } }))
  return { ...home, endpoint }
})

/** When a document was extracted is the one thing that differs. */
const withoutTimes = (text: string) => text.replaceAll(/generatedAtTime>? "[^"]+"/g, "generatedAtTime")

/** How the batch ended, what was wrong with its documents, and how each call was answered. */
const whyNot = (data: string, end: BatchState) =>
  Effect.promise(async () => {
    const documents = await readFile(join(data, "batches", batchId, "metadata.json"), "utf8").catch(() => "there is no metadata.json")
    return JSON.stringify({ end, documents, deliveries: fake.deliveries, exhausted: fake.exhausted })
  })

const ended = (home: Effect.Success<ReturnType<typeof served>>, config: object) =>
  Effect.gen(function* () {
    const batches = yield* Batches
    yield* batches.start(corpusFolder as never, smallManifest as never, { batchId, config })
    const end = yield* batches.awaitEnd(batchId)
    if (end._tag !== "Completed") return assert.fail(yield* whyNot(home.data, end))
    const files = ["canonical/final.ttl", "resolution/merges.json", "validation/report.ttl"].map((name) =>
      join(home.data, "batches", batchId, name),
    )
    return { files: yield* Effect.promise(() => Promise.all(files.map(async (file) => withoutTimes(await readFile(file, "utf8"))))) }
  }).pipe(Effect.provideContext(home.context as Context.Context<Batches>))

/** The files of the data folder's batches, each with its last change. */
const written = (data: string) =>
  Effect.promise(async () => {
    const names = (await readdir(join(data, "batches"), { recursive: true })).toSorted()
    return Promise.all(names.map(async (name) => [name, (await stat(join(data, "batches", name))).mtimeMs] as const))
  })

describe("activities over HTTP", () => {
  it.live("carry a batch of Cloud Tasks to the same end, byte for byte, though a third of the calls fail, come twice or late", () =>
    Effect.gen(function* () {
      const expected = yield* ended(yield* served(), {})
      const faults = ["lost", "twice", "answer lost", { lateByMillis: 100 }] as const
      fake.deliveryPlan = (_, index) => (index % 3 === 0 ? faults[(index / 3) % faults.length] : undefined)
      const got = yield* ended(yield* cloud, { dispatch: "tasks" })
      fake.deliveryPlan = () => undefined
      assert.isNotEmpty(got.files[0])
      assert.deepStrictEqual(got.files, expected.files)
      // Two documents and three stages, each under one name.
      assert.strictEqual(fake.created.length, 5)
      assert.strictEqual(new Set(fake.created).size, 5)
    }).pipe(Effect.scoped),
  )

  it.live("take the token of the service account only", () =>
    Effect.gen(function* () {
      const { endpoint } = yield* cloud
      const good = { email: serviceAccount, aud: endpoint }
      const now = Math.floor(performance.timeOrigin / 1000)
      const asked = (authorization: string | undefined, headers: Readonly<Record<string, string>> = {}, input: object = {}) =>
        request(
          `${endpoint}/activities/extraction`,
          json(input, authorization === undefined ? {} : { authorization: `Bearer ${authorization}`, ...headers }),
        )
      for (const [what, given, status] of [
        ["none", undefined, 401],
        ["no token of OIDC", "a.b.c", 401],
        ["expired", fake.token({ ...good, iat: now - 7200, exp: now - 3600 }), 401],
        ["forged", fake.forge(good), 401],
        ["without signature", `${fake.token(good, { alg: "none" }).split(".").slice(0, 2).join(".")}.x`, 401],
        ["of another algorithm", fake.token(good, { alg: "HS256" }), 401],
        ["of an unknown key", fake.token(good, { kid: "0" }), 401],
        ["of another issuer", fake.token({ ...good, iss: "https://example.org" }), 401],
        ["for another audience", fake.token({ ...good, aud: "https://example.org" }), 403],
        ["of another account", fake.token({ ...good, email: "x@project.iam.gserviceaccount.com" }), 403],
        ["of an account that is not verified", fake.token({ ...good, email_verified: false }), 403],
      ] as const)
        assert.strictEqual((yield* asked(given)).status, status, what)
      // The input is refused, after the caller was recognised. Nothing is kept of a call that is not a task.
      const document = { documentId: "doc-1a2b3c4d5e6f", sourceUri: "file:///a.txt", ontologyUri: "file:///o.ttl" }
      for (const caller of [fake.token(good), token])
        for (const [input, problem] of [
          [{}, "is refused"],
          [{ batchId, ...document }, `there is no batch ${batchId}`],
        ] as const) {
          const refused = yield* asked(caller, {}, input)
          assert.strictEqual(refused.status, 422, refused.text)
          assert.include(refused.text, problem)
        }
      const kept = Effect.map(request(`${endpoint}/api/v1/commands`, { headers: { authorization: `Bearer ${token}` } }), ({ text }) => text)
      assert.notInclude(yield* kept, "activities")
      // A task is a dead letter, and delivered again it is known to be dead.
      const task = { "x-detent-task": "a-task" }
      assert.strictEqual((yield* asked(fake.token(good), task)).status, 422)
      assert.include(yield* kept, "activities")
      assert.deepInclude(JSON.parse((yield* asked(fake.token(good), task)).text), { outcome: "dead" })
      // The operator's token is taken too; that of the queue opens nothing else.
      assert.strictEqual((yield* asked(token, task)).status, 200)
      const elsewhere = yield* request(`${endpoint}/api/v1/batch`, { headers: { authorization: `Bearer ${fake.token(good)}` } })
      assert.strictEqual(elsewhere.status, 401)
      const unknown = yield* request(`${endpoint}/activities/other`, json({}, { authorization: `Bearer ${fake.token(good)}` }))
      assert.strictEqual(unknown.status, 401)
    }).pipe(Effect.scoped),
  )

  it.live("take tokens of a new key", () =>
    Effect.gen(function* () {
      const { endpoint } = yield* cloud
      fake.rotateKey()
      const call = json({}, { authorization: `Bearer ${fake.token({ email: serviceAccount, aud: endpoint })}` })
      assert.strictEqual((yield* request(`${endpoint}/activities/extraction`, call)).status, 422)
    }).pipe(Effect.scoped),
  )

  it.live("do nothing for a batch that has ended, or is in another attempt", () =>
    Effect.gen(function* () {
      const home = yield* cloud
      yield* ended(home, {})
      const authorization = `Bearer ${fake.token({ email: serviceAccount, aud: home.endpoint })}`
      const call = (input: object) => request(`${home.endpoint}/activities/resolution`, json(input, { authorization }))
      const late = yield* call({ batchId, attempt: 0 })
      assert.strictEqual(late.status, 200, late.text)
      assert.deepStrictEqual(JSON.parse(late.text), { outcome: "late", reason: `${batchId} is Completed` })
      assert.deepInclude(JSON.parse((yield* call({ batchId, attempt: 3 })).text), { outcome: "late" })
      assert.deepInclude(JSON.parse((yield* call({ batchId: "batch-ffffffffffff", attempt: 0 })).text), { outcome: "late" })
      // Without an attempt it is a call for the current one.
      const before = yield* written(home.data)
      const byHand = yield* call({ batchId })
      assert.strictEqual(byHand.status, 200, byHand.text)
      assert.deepStrictEqual(JSON.parse(byHand.text), { outcome: "late", reason: `${batchId} is Completed` })
      assert.deepStrictEqual(yield* written(home.data), before)
    }).pipe(Effect.scoped),
  )

  it.live("say what an operator does first for a batch that is cancelled, or not yet at the stage", () =>
    Effect.gen(function* () {
      const home = yield* cloud
      const call = (name: string, body: RequestInit) => request(`${home.endpoint}/activities/${name}`, body)
      const authorization = `Bearer ${token}`
      const resolution = call("resolution", json({ batchId }, { authorization }))
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        yield* batches.start(corpusFolder as never, smallManifest as never, { batchId, config: { dispatch: "activities" } })
        yield* Stream.runHead(Stream.filter(batches.watch(batchId), ({ _tag }) => _tag === "Extracting"))
        const early = yield* resolution
        assert.strictEqual(early.status, 422, early.text)
        assert.include(early.text, `${batchId} is Extracting with 2 documents to extract; run the activity extraction first`)
        yield* batches.cancel(batchId)
        const cancelled = yield* resolution
        assert.strictEqual(cancelled.status, 200, cancelled.text)
        assert.deepStrictEqual(JSON.parse(cancelled.text), { outcome: "late", reason: `${batchId} is Cancelled; resume it first` })
      }).pipe(Effect.provideContext(home.context as Context.Context<Batches>))
      const unknown = yield* call("other", json({ batchId }, { authorization }))
      assert.strictEqual(unknown.status, 400, unknown.text)
      const broken = { ...json({}, { authorization }), body: "{" }
      assert.strictEqual((yield* call("resolution", broken)).status, 400)
    }).pipe(Effect.scoped),
  )
})
