/** The queue of Cloud Tasks by itself: what it sends, and what it makes of the answers. Where DETENT_TEST_CLOUD_TASKS names a real queue, there too. */

import { type GoogleCredentials, googleCredentials } from "@detent/blobs/credentials"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientError from "effect/http/HttpClientError"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as CloudTasks from "../../src/tasks/CloudTasks.ts"
import { CloudTasksSettings, TaskSettings, taskName } from "../../src/tasks/Task.ts"
import type { TaskQueueFailed } from "../../src/tasks/TaskQueue.ts"
import { startFakeCloudTasks } from "../../testing/FakeCloudTasks.ts"

const project = "projects/project/locations/here/queues"

const fakeTasks = Effect.acquireRelease(
  Effect.promise(() => startFakeCloudTasks({ queues: [`${project}/workflow-tasks`], forbidden: [`${project}/forbidden`] })),
  (fake) => Effect.promise(() => fake.close()),
)

/** Credentials that the fake has given out, and whether they were asked for again. */
const setting = Effect.gen(function* () {
  const fake = yield* fakeTasks
  let forgotten = 0
  let token = yield* accessToken(fake.url)
  const credentials: GoogleCredentials = {
    token: Effect.sync(() => Redacted.make(token)),
    forget: Effect.gen(function* () {
      forgotten++
      token = yield* accessToken(fake.url)
    }),
  }
  const settings: CloudTasksSettings = {
    queue: "cloud-tasks",
    project: "project",
    location: "here",
    serviceAccount: "tasks@project.iam.gserviceaccount.com",
    endpoint: "http://127.0.0.1:9",
    tasksUrl: fake.url,
    runUrl: fake.url,
  }
  const expire = Effect.sync(() => {
    token = "ya29.expired"
  })
  return { fake, settings, credentials, expire, forgotten: () => forgotten }
})

const accessToken = (url: string) =>
  Effect.promise(async () => {
    const answer = await fetch(`${url}/computeMetadata/v1/instance/service-accounts/default/token`, {
      headers: { "metadata-flavor": "Google" },
    })
    return ((await answer.json()) as { readonly access_token: string }).access_token
  })

const soon = { key: "batch-0:0:extraction:doc-0:turn-0", delay: "1 hour" } as const

const refusal = (effect: Effect.Effect<void, TaskQueueFailed>) =>
  Effect.map(Effect.flip(effect), ({ problem, nextStep, retryable }) => ({ problem, nextStep, retryable }))

describe("a queue of Cloud Tasks", () => {
  it.live("takes a task once under its key, whose hash is its name", () =>
    Effect.gen(function* () {
      const { fake, settings, credentials } = yield* setting
      const queue = CloudTasks.make(settings, credentials)
      yield* queue.enqueue("extraction", { a: 1 }, soon)
      yield* queue.enqueue("extraction", { a: 1 }, soon)
      yield* queue.enqueue("extraction", { a: 1 }, { ...soon, key: "another" })
      assert.deepStrictEqual(
        fake.created,
        [soon.key, "another"].map((key) => `${project}/workflow-tasks/tasks/${taskName(key)}`),
      )
    }).pipe(Effect.scoped),
  )

  it.live("takes a new token where the one before has expired", () =>
    Effect.gen(function* () {
      const { fake, settings, credentials, expire, forgotten } = yield* setting
      yield* expire
      yield* CloudTasks.make(settings, credentials).enqueue("extraction", {}, soon)
      assert.deepStrictEqual([fake.created.length, forgotten()], [1, 1])
    }).pipe(Effect.scoped),
  )

  it.live("is refused with the next step where it is missing or forbidden, and tried again where it is throttled or away", () =>
    Effect.gen(function* () {
      const { fake, settings, credentials } = yield* setting
      const enqueue = (name: string) => CloudTasks.make({ ...settings, name }, credentials).enqueue("resolution", {}, soon)
      const missing = yield* refusal(enqueue("none"))
      assert.deepInclude(missing, { problem: "404 Queue does not exist.", retryable: false })
      assert.include(missing.nextStep, "create the queue")
      const forbidden = yield* refusal(enqueue("forbidden"))
      assert.isFalse(forbidden.retryable)
      assert.include(forbidden.nextStep, "cloudtasks.enqueuer")
      for (const status of [429, 500, 503]) {
        fake.plan = () => ({ status })
        assert.isTrue((yield* refusal(enqueue("workflow-tasks"))).retryable, String(status))
      }
      fake.plan = () => "reset before"
      assert.isTrue((yield* refusal(enqueue("workflow-tasks"))).retryable)
      fake.plan = () => undefined
      const large = CloudTasks.make(settings, credentials).enqueue("resolution", { text: "x".repeat(120_000) }, soon)
      assert.include((yield* refusal(large)).problem, "102,400")
    }).pipe(Effect.scoped),
  )

  /** Credentials of an environment that the test gives, with the names of hosts that DNS answers for. */
  const credentialsIn = (
    env: Readonly<Record<string, string>>,
    lookUp: (host: string) => "EAI_AGAIN" | "ENOTFOUND" | undefined = () => undefined,
    patience: Duration.Input = "1 second",
  ) =>
    googleCredentials("scope", { patience }).pipe(
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: { CLOUDSDK_CONFIG: "/nonexistent", ...env } })),
      Effect.updateService(HttpClient.HttpClient, (client) =>
        HttpClient.transform(client, (send, request) => {
          const code = lookUp(new URL(request.url).hostname)
          if (code === undefined) return send
          const cause = Object.assign(new Error(`getaddrinfo ${code}`), { code })
          return Effect.fail(new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, cause }) }))
        }),
      ),
      Effect.provide(FetchHttpClient.layer),
    )

  it.live("waits for its credentials while DNS and the metadata server are away for a moment", () =>
    Effect.gen(function* () {
      const { fake, settings } = yield* setting
      const host = new URL(fake.url).host
      for (const code of ["EAI_AGAIN", "ENOTFOUND"] as const) {
        let lookups = 0
        const credentials = yield* credentialsIn({ GCE_METADATA_HOST: host }, () => (lookups++ < 3 ? code : undefined), "20 seconds")
        yield* CloudTasks.make(settings, credentials).enqueue("resolution", {}, { key: code })
      }
      let asked = 0
      fake.plan = ({ path }) => (path.startsWith("/computeMetadata/") && asked++ < 3 ? { status: 503 } : undefined)
      const credentials = yield* credentialsIn({ GCE_METADATA_HOST: host }, undefined, "20 seconds")
      yield* CloudTasks.make(settings, credentials).enqueue("resolution", {}, { key: "server" })
      assert.strictEqual(fake.created.length, 3)
    }).pipe(Effect.scoped),
  )

  it.live("is tried again where its credentials cannot be had for a while, and refused where there are none", () =>
    Effect.gen(function* () {
      const { fake, settings } = yield* setting
      const enqueueWith = (credentials: GoogleCredentials) => CloudTasks.make(settings, credentials).enqueue("resolution", {}, soon)
      const enqueue = (host: string) => Effect.flatMap(credentialsIn({ GCE_METADATA_HOST: host }), enqueueWith)
      const host = new URL(fake.url).host
      for (const fault of ["reset before", { status: 503 }] as const) {
        fake.plan = ({ path }) => (path.startsWith("/computeMetadata/") ? fault : undefined)
        const away = yield* refusal(enqueue(host))
        assert.isTrue(away.retryable)
        assert.match(away.nextStep, /^it is tried again; .*GOOGLE_APPLICATION_CREDENTIALS/)
      }
      fake.plan = () => ({ status: 403 })
      const none = yield* refusal(enqueue(host))
      assert.isFalse(none.retryable)
      assert.include(none.nextStep, "GOOGLE_APPLICATION_CREDENTIALS")
      fake.plan = () => undefined
      // Without an answer of DNS, the machine may be one of Google's; with the answer that there is no such name, it is not.
      const away = yield* credentialsIn({}, () => "EAI_AGAIN")
      assert.isTrue((yield* refusal(enqueueWith(away))).retryable)
      const elsewhere = yield* credentialsIn({}, () => "ENOTFOUND")
      assert.isFalse((yield* refusal(enqueueWith(elsewhere))).retryable)
      yield* enqueue(host)
    }).pipe(Effect.scoped),
  )

  it.live("starts a job with a token of OAuth, and the input as JSON in one variable", () =>
    Effect.gen(function* () {
      const jobs: Array<Readonly<Record<string, string>>> = []
      const fake = yield* Effect.acquireRelease(
        Effect.promise(() =>
          startFakeCloudTasks({
            queues: [`${project}/workflow-tasks`],
            runJob: (_, env) => {
              jobs.push(env)
              return Promise.resolve(0)
            },
          }),
        ),
        (one) => Effect.promise(() => one.close()),
      )
      const { settings } = yield* setting
      const token = yield* accessToken(fake.url)
      const credentials = { token: Effect.succeed(Redacted.make(token)), forget: Effect.void }
      const queue = CloudTasks.make({ ...settings, tasksUrl: fake.url, runUrl: fake.url, job: "activity-runner" }, credentials)
      yield* queue.enqueue("validation", { resolvedUri: 'gs://b/"ø"' }, { key: "k" })
      yield* Effect.repeat(Effect.delay(Effect.void, "20 millis"), { until: () => jobs.length > 0 })
      assert.deepInclude(jobs[0], { ACTIVITY_NAME: "validation", ACTIVITY_KEY: "k", ACTIVITY_INPUT: '{"resolvedUri":"gs://b/\\"ø\\""}' })
    }).pipe(Effect.scoped),
  )

  it("is set by settings that are checked", () => {
    const decode = Schema.decodeUnknownOption(TaskSettings)
    const good = { queue: "cloud-tasks", project: "p", location: "l", serviceAccount: "a@b", endpoint: "https://x.run.app" }
    assert.isTrue(Option.isSome(decode(good)))
    for (const wrong of [
      { endpoint: "x" },
      { endpoint: "https://u:p@x" },
      { serviceAccount: "a" },
      { dispatchSeconds: 3600 },
      { project: "a/b" },
    ])
      assert.isTrue(Option.isNone(decode({ ...good, ...wrong })), JSON.stringify(wrong))
  })
})

const real = process.env["DETENT_TEST_CLOUD_TASKS"]

/** `{"project":"…","location":"…","name":"…","serviceAccount":"…","endpoint":"https://…"}`, with credentials of the environment. */
if (real !== undefined && real !== "")
  describe("a real queue", () => {
    it.live("takes a task once under its key", () =>
      Effect.gen(function* () {
        const settings = Schema.decodeUnknownSync(CloudTasksSettings)({ queue: "cloud-tasks", ...JSON.parse(real) })
        const credentials = yield* googleCredentials("https://www.googleapis.com/auth/cloud-platform")
        const queue = CloudTasks.make(settings, credentials)
        const key = `test:${performance.timeOrigin}`
        yield* queue.enqueue("extraction", {}, { key, delay: "20 days" })
        yield* queue.enqueue("extraction", {}, { key, delay: "20 days" })
      }),
    )
  })
