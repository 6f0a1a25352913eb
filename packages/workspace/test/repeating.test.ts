import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Journal, Timers } from "@detent/durable"
import { Event, Machine, State } from "@detent/machine"
import { defineConfig } from "@detent/workspace"
import * as commands from "@detent/workspace/operations/commands"
import * as instances from "@detent/workspace/operations/instances"
import { changeOnce } from "@detent/workspace/RequestKeys"
import { Workspace, type WorkspaceServices } from "@detent/workspace/Workspace"
import { assert, describe, it } from "@effect/vitest"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

const temporaryFolder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "detent-repeating-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true })),
)

/** A machine whose events have a field of this schema. */
const tally = (by: Schema.Codec<number> | Schema.Codec<string>) => {
  const S = State({ Open: {}, Paused: {} })
  const E = Event({ Add: { by: by as Schema.Codec<unknown> }, Pause: {} })
  return Machine.make({ name: "tally", state: S, event: E, initial: S.Open() })
    .on(S.Open, E.Add, S.Open)
    .on(S.Open, E.Pause, S.Paused)
    .timeout(S.Paused, "1 hour", S.Open, { name: "paused too long" })
}

const open = (data: string, by: Schema.Codec<number> | Schema.Codec<string>) =>
  Layer.build(Workspace.open({ data, role: "work", config: defineConfig({ machines: [tally(by)] }) }))

const keyed = { operation: "test", params: {}, content: {}, key: "k" }

/** Makes a change and never comes to its answer, then makes it again in another process. */
const repeated = <A, E>(
  killed: Context.Context<WorkspaceServices>,
  next: Context.Context<WorkspaceServices>,
  change: Effect.Effect<A, E, WorkspaceServices>,
) =>
  Effect.gen(function* () {
    const done = yield* Deferred.make<void>()
    const dying = Effect.andThen(change, Effect.andThen(Deferred.succeed(done, undefined), Effect.never))
    yield* Effect.forkChild(Effect.provideContext(changeOnce(keyed, dying), killed), { startImmediately: true })
    yield* Deferred.await(done)
    return yield* Effect.provideContext(changeOnce(keyed, change), next)
  })

const key = { machine: "tally", id: "one" }

describe("a change whose process was killed before its answer is answered when it is repeated", () => {
  it.live("the repair of an instance", () =>
    Effect.gen(function* () {
      const data = yield* temporaryFolder
      yield* Effect.scoped(
        Effect.gen(function* () {
          const before = yield* open(data, Schema.Int)
          yield* Effect.provideContext(instances.start(key), before)
          yield* Effect.provideContext(instances.send(key, { _tag: "Add", by: 3 } as never), before)
        }),
      )
      const [killed, next] = [yield* open(data, Schema.String), yield* open(data, Schema.String)]
      const repair = instances.repair(key, 1, { _tag: "Add", by: "three" } as never)
      const { status, sequence } = yield* repeated(killed, next, repair)
      assert.deepStrictEqual([status, sequence], ["running", 1])
      const refused = yield* Effect.flip(Effect.provideContext(repair, next))
      assert.strictEqual(refused._tag, "RepairRefused")
    }),
  )

  it.live("the revival of a timer", () =>
    Effect.gen(function* () {
      const data = yield* temporaryFolder
      const [killed, next] = [yield* open(data, Schema.Int), yield* open(data, Schema.Int)]
      const bury = Effect.gen(function* () {
        yield* instances.start(key)
        yield* instances.send(key, { _tag: "Pause" })
        const opened = Option.getOrThrow(yield* (yield* Journal).open(key))
        for (const timer of opened.timers) yield* (yield* Timers).bury({ ...key, ...timer }, "it could not be fired")
      })
      yield* Effect.provideContext(bury, killed)
      const revive = commands.reviveTimer({ ...key, name: "paused too long" })
      yield* repeated(killed, next, revive)
      assert.deepStrictEqual(yield* Effect.provideContext(commands.deadTimers(10), next), [])
      const refused = yield* Effect.flip(Effect.provideContext(revive, next))
      assert.strictEqual(refused._tag, "TimerNotFound")
    }),
  )
})
