import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Engine, Placement } from "@detent/durable"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Knowledge from "../../src/Knowledge.ts"
import { makeWorkerPool, WorkerPool } from "../../src/threads/WorkerPool.ts"

const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "detent-node-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true })),
)

it.live("one process is one node: its batches and the runs of their documents share a lease", () =>
  Effect.gen(function* () {
    const path = yield* folder
    yield* Effect.gen(function* () {
      const registered = yield* Effect.flatMap(Engine, ({ machines }) => machines)
      assert.include(
        registered.map(({ name }) => name),
        "batch",
      )
      const sql = yield* SqlClient
      const leases = yield* sql<{ readonly name: string; readonly owner: string }>`select name, owner from detent_leases`
      assert.deepStrictEqual(leases, [{ name: "workflow/node/desk", owner: (yield* Placement).node() }])
    }).pipe(Effect.provide(Knowledge.layerEmbedded({ folder: path, nodeId: "desk" })))
  }),
)

it.live("a placement of the caller is used", () =>
  Effect.gen(function* () {
    const path = yield* folder
    const others = {
      node: () => "other/1",
      fence: () => undefined,
      isAlive: () => Effect.succeed(true),
      fenceDead: () => Effect.succeed(false),
    }
    const placement = { ...others, onLost: () => () => {}, onRegained: () => () => {} }
    const node = Effect.map(Placement, ({ node }) => node())
    const found = yield* node.pipe(
      Effect.provide(Knowledge.layerEmbedded({ folder: path, nodeId: "desk" })),
      Effect.provideService(Placement, placement),
    )
    assert.strictEqual(found, "other/1")
  }),
)

it.live("pipelines use the workers in the context, except where they have limits of their own", () =>
  Effect.gen(function* () {
    const path = yield* folder
    const pool = yield* makeWorkerPool()
    const workersOf = (options: Omit<Knowledge.KnowledgeOptions, "folder">) =>
      Effect.map(WorkerPool, (one) => one).pipe(
        Effect.provide(Knowledge.layerEmbedded({ folder: path, nodeId: "desk", ...options })),
        Effect.provideService(WorkerPool, pool),
      )
    assert.strictEqual(yield* workersOf({}), pool)
    const own = yield* workersOf({ contentLimits: { document: { memory: 700 } } })
    assert.notStrictEqual(own, pool)
    assert.strictEqual(own.limits.document.memory, 700)
  }),
)
