/** The check of tokens by itself: how long cached keys are used. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { TaskCallers } from "../../src/tasks/TaskCallers.ts"
import { startFakeCloudTasks } from "../../testing/FakeCloudTasks.ts"

const serviceAccount = "tasks@project.iam.gserviceaccount.com"
const endpoint = "https://tasks.example.org"

const fakeTasks = Effect.acquireRelease(
  Effect.promise(() => startFakeCloudTasks({ queues: [] })),
  (fake) => Effect.promise(() => fake.close()),
)

describe("the keys of Google's tokens", () => {
  it.effect("verify tokens for a day after they have expired while they cannot be fetched, and no longer", () =>
    Effect.gen(function* () {
      const fake = yield* fakeTasks
      const layer = TaskCallers.layer({
        queue: "cloud-tasks",
        project: "project",
        location: "here",
        serviceAccount,
        endpoint,
        keysUrl: fake.keysUrl,
      })
      yield* Effect.gen(function* () {
        const { verify } = yield* TaskCallers
        const call = Effect.gen(function* () {
          const now = (yield* Clock.currentTimeMillis) / 1000
          yield* verify(fake.token({ email: serviceAccount, aud: endpoint, iat: now, exp: now + 3600 }))
        })
        yield* call
        yield* Effect.promise(() => fake.close())
        // The response allows to cache the keys for an hour.
        yield* TestClock.adjust("59 minutes")
        yield* call
        yield* TestClock.adjust("24 hours")
        yield* call
        yield* TestClock.adjust("1 minute")
        const failed = yield* Effect.flip(call)
        assert.strictEqual(failed._tag, "KeysUnavailable")
        assert.include(failed.message, "the keys of Google's tokens cannot be fetched")
      }).pipe(Effect.provide(layer))
    }).pipe(Effect.scoped),
  )
})
