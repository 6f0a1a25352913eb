import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { RequestKeys } from "@detent/workspace/RequestKeys"
import { Workspace } from "@detent/workspace/Workspace"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"

/** Two processes of one workspace: each has its own service, and both the same database. */
const twoProcesses = Effect.gen(function* () {
  const data = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "detent-keys-"))),
    (path) => Effect.promise(() => rm(path, { recursive: true, force: true })),
  )
  const open = () => Effect.map(Layer.build(Workspace.open({ data, role: "observe" })), (services) => Context.get(services, RequestKeys))
  return [yield* open(), yield* open()] as const
})

const request = (content: string) => ({ operation: "batches.start", key: "k", content })

describe("an idempotency key", () => {
  it.live("stays with the request that succeeded, though the same request fails afterwards", () =>
    Effect.gen(function* () {
      const [keys] = yield* twoProcesses
      yield* keys.guard(request("one"), Effect.succeed("done"))
      yield* Effect.flip(keys.guard(request("one"), Effect.fail("the connection broke off")))
      const refused = yield* Effect.flip(keys.guard(request("other"), Effect.succeed("done")))
      assert.strictEqual(refused._tag, "RequestKeyTaken")
    }),
  )

  it.live("is free again after a request that failed", () =>
    Effect.gen(function* () {
      const [keys] = yield* twoProcesses
      for (const method of ["once", "guard"] as const) {
        const of = (content: string) => ({ ...request(content), operation: method })
        yield* Effect.flip(keys[method](of("one"), Effect.fail("refused")))
        assert.strictEqual(yield* keys[method](of("other"), Effect.succeed("done")), "done")
        yield* Effect.flip(keys[method](of("one"), Effect.succeed("done")))
      }
    }),
  )

  for (const method of ["once", "guard"] as const)
    it.live(`belongs to the request that succeeds in one process while the same one fails in another (${method})`, () =>
      Effect.gen(function* () {
        const [first, second] = yield* twoProcesses
        const failing = yield* Deferred.make<void>()
        const succeeding = yield* Deferred.make<void>()
        const begun = yield* Deferred.make<void>()
        const losing = yield* Effect.forkChild(
          Effect.flip(
            first[method](
              request("one"),
              Effect.andThen(Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(failing)), Effect.fail("lost")),
            ),
          ),
          { startImmediately: true },
        )
        yield* Deferred.await(begun)
        const winning = yield* Effect.forkChild(second[method](request("one"), Effect.as(Deferred.await(succeeding), "done")), {
          startImmediately: true,
        })
        yield* Effect.sleep("50 millis")
        yield* Deferred.succeed(failing, undefined)
        yield* Fiber.join(losing)
        yield* Deferred.succeed(succeeding, undefined)
        assert.strictEqual(yield* Fiber.join(winning), "done")
        const refused = yield* Effect.flip(first[method](request("other"), Effect.succeed("done")))
        assert.strictEqual(refused._tag, "RequestKeyTaken")
      }),
    )
})
