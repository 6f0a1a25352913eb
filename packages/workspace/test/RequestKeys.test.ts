import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Event, Machine, State } from "@detent/machine"
import { defineConfig } from "@detent/workspace"
import { CommandNotFailed } from "@detent/workspace/errors"
import * as instances from "@detent/workspace/operations/instances"
import { CurrentAttempt, changeOnce, RequestKeys } from "@detent/workspace/RequestKeys"
import { Workspace } from "@detent/workspace/Workspace"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const S = State({ Open: { count: Schema.Int } })
const Tally = Machine.make({ name: "tally", state: S, event: Event({ Close: {} }), initial: S.Open })

/** Two processes of one workspace: each has its own services, and both the same database. */
const twoProcesses = Effect.gen(function* () {
  const data = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "detent-keys-"))),
    (path) => Effect.promise(() => rm(path, { recursive: true, force: true })),
  )
  const config = defineConfig({ machines: [Tally] })
  const open = () => Layer.build(Workspace.open({ data, role: "work", config }))
  return [yield* open(), yield* open()] as const
})

type Keys = (typeof RequestKeys)["Service"]

/** Nothing was done. */
const refused = Effect.fail(new CommandNotFailed({ key: "k", status: "completed" }))

const request = (content: string) => ({ operation: "batches.start", key: "k", content })

describe("an idempotency key", () => {
  it.live("stays with the request that succeeded, though the same request fails afterwards", () =>
    Effect.gen(function* () {
      const keys = Context.get((yield* twoProcesses)[0], RequestKeys)
      yield* keys.guard(request("one"), Effect.succeed("done"))
      yield* Effect.flip(keys.guard(request("one"), Effect.fail("the connection broke off")))
      const other = yield* Effect.flip(keys.guard(request("other"), Effect.succeed("done")))
      assert.strictEqual(other._tag, "RequestKeyTaken")
    }),
  )

  it.live("makes requests with other keys wait for nothing, however many run", () =>
    Effect.gen(function* () {
      const keys = Context.get((yield* twoProcesses)[0], RequestKeys)
      const end = yield* Deferred.make<void>()
      let running = 0
      const work = Effect.andThen(
        Effect.sync(() => running++),
        Deferred.await(end),
      )
      const all = Array.from({ length: 400 }, (_, index) => keys.once({ ...request("one"), key: `key ${index}` }, work))
      const fiber = yield* Effect.forkChild(Effect.all(all, { concurrency: "unbounded", discard: true }))
      while (running < all.length) yield* Effect.sleep("10 millis")
      yield* Deferred.succeed(end, undefined)
      yield* Fiber.join(fiber)
    }),
  )

  it.live("is free again after a request that failed", () =>
    Effect.gen(function* () {
      const keys = Context.get((yield* twoProcesses)[0], RequestKeys)
      for (const method of ["once", "guard"] as const) {
        const of = (content: string) => ({ ...request(content), operation: method })
        yield* Effect.flip(keys[method](of("one"), refused))
        assert.strictEqual(yield* keys[method](of("other"), Effect.succeed("done")), "done")
        yield* Effect.flip(keys[method](of("one"), Effect.succeed("done")))
      }
    }),
  )

  for (const method of ["once", "guard"] as const)
    it.live(`belongs to the request that succeeds in one process while the same one fails in another (${method})`, () =>
      Effect.gen(function* () {
        const [first, second] = (yield* twoProcesses).map((services) => Context.get(services, RequestKeys)) as [Keys, Keys]
        const failing = yield* Deferred.make<void>()
        const succeeding = yield* Deferred.make<void>()
        const begun = yield* Deferred.make<void>()
        const losing = yield* Effect.forkChild(
          Effect.flip(
            first[method](
              request("one"),
              Effect.andThen(Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(failing)), refused),
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
        const other = yield* Effect.flip(first[method](request("other"), Effect.succeed("done")))
        assert.strictEqual(other._tag, "RequestKeyTaken")
      }),
    )

  it.live("stays with a request that was interrupted, of which it is not known what it did", () =>
    Effect.gen(function* () {
      const keys = Context.get((yield* twoProcesses)[0], RequestKeys)
      const begun = yield* Deferred.make<void>()
      const seen = Effect.flatMap(CurrentAttempt, ({ before }) => before(Effect.succeed("before")))
      const first = Effect.andThen(Effect.andThen(seen, Deferred.succeed(begun, undefined)), Effect.never)
      const fiber = yield* Effect.forkChild(keys.once(request("one"), first), { startImmediately: true })
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(fiber)
      const other = yield* Effect.flip(keys.once(request("other"), Effect.succeed("done")))
      assert.strictEqual(other._tag, "RequestKeyTaken")
      const second = Effect.gen(function* () {
        const { isRepeated, before } = yield* CurrentAttempt
        return { isRepeated, before: yield* before(Effect.succeed("after")) }
      })
      assert.deepStrictEqual(yield* keys.once(request("one"), second), { isRepeated: true, before: "before" })
    }),
  )

  it.live("names an event of its own for each request, the same when it is repeated", () =>
    Effect.gen(function* () {
      const keys = Context.get((yield* twoProcesses)[0], RequestKeys)
      const ids: Array<string | undefined> = []
      const failing = Effect.flatMap(CurrentAttempt, ({ eventId }) => {
        ids.push(eventId)
        return Effect.fail("the database is away")
      })
      for (const key of ["k", "k", "l"]) yield* Effect.flip(keys.once({ ...request("one"), key }, failing))
      assert.strictEqual(ids[0], ids[1])
      assert.notStrictEqual(ids[1], ids[2])
      assert.isUndefined((yield* CurrentAttempt).eventId)
    }),
  )

  it.live("of a start whose process was killed before it answered gives the answer, and to another instance it does not", () =>
    Effect.gen(function* () {
      const [killed, next] = yield* twoProcesses
      const keyed = (operation: string, content: object) => ({ operation, params: {}, content, key: "k" })
      /** Does its work and never comes to its answer. */
      const dying = <A, E, R>(operation: Effect.Effect<A, E, R>) =>
        Effect.gen(function* () {
          const done = yield* Deferred.make<void>()
          const change = changeOnce(
            keyed("instances.start", { id: "one" }),
            Effect.andThen(operation, Effect.andThen(Deferred.succeed(done, undefined), Effect.never)),
          )
          yield* Effect.forkChild(change, { startImmediately: true })
          yield* Deferred.await(done)
        })
      const start = instances.start({ machine: "tally", id: "one", input: { count: 3 } })
      yield* Effect.provideContext(dying(start), killed)
      const again = (operation: typeof start) => Effect.provideContext(changeOnce(keyed("instances.start", { id: "one" }), operation), next)
      const other = instances.start({ machine: "tally", id: "one", input: { count: 4 } })
      assert.strictEqual((yield* Effect.flip(again(other)))._tag, "ActorExists")
      assert.deepInclude(yield* again(start), { id: "one", state: { _tag: "Open", count: 3 } })
      const plain = yield* Effect.flip(Effect.provideContext(start, next))
      assert.strictEqual(plain._tag, "ActorExists")
    }),
  )
})
