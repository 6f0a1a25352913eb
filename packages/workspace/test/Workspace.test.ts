import { existsSync } from "node:fs"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Engine } from "@detent/durable"
import { Event, Machine, State } from "@detent/machine"
import { Uploads } from "@detent/uploads"
import { defineConfig, Machines, type Role, Workspace, WorkspaceRefused } from "@detent/workspace"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { takeNodeName } from "../src/NodeName.ts"

const S = State({ Open: { count: Schema.Int }, Closed: {} })
const E = Event({ Add: { by: Schema.Int }, Close: {} })
let worked = 0
const Tally = Machine.make({ name: "tally", state: S, event: E, initial: S.Open({ count: 0 }) })
  .on(S.Open, E.Add, S.Open, ({ state, event }) => S.Open({ count: state.count + event.by }))
  .on(S.Open, E.Close, S.Closed)
  .spawn(S.Open, () =>
    Effect.andThen(
      Effect.sync(() => {
        worked++
      }),
      Effect.never,
    ),
  )
  .final(S.Closed)

const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "detent-home-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true })),
)

const workspace = (data: string, role: Role) => Workspace.open({ data, role, config: defineConfig({ machines: [Tally] }) })

describe("a workspace", () => {
  it.live("is made where it is missing, with everything in one folder", () =>
    Effect.gen(function* () {
      const data = join(yield* folder, "deep", "home")
      const names = yield* Effect.gen(function* () {
        yield* Engine
        yield* Uploads
        return (yield* (yield* Machines).list).map(({ name }) => name)
      }).pipe(
        Effect.provide(Workspace.open({ data, role: "work", config: defineConfig({ machines: [Tally] }), knowledge: {}, uploads: {} })),
      )
      assert.deepStrictEqual(names, ["UploadBatch", "UploadItem", "batch", "bulk", "tally", "workflow/extraction"])
      assert.isTrue(existsSync(join(data, "detent.db")))
    }),
  )

  it.live("can be looked at while another process works in it, and then starts nothing and takes nothing", () =>
    Effect.gen(function* () {
      const data = yield* folder
      yield* Effect.gen(function* () {
        const engine = yield* Engine
        const tally = yield* engine.start(Tally, "one")
        yield* tally.send(E.Add({ by: 3 }))
        const before = worked
        yield* Effect.gen(function* () {
          const found = Option.getOrThrow((yield* Engine).find({ machine: "tally", id: "one" }))
          assert.deepStrictEqual<unknown>(yield* found.state, { _tag: "Open", count: 3 })
          yield* tally.send(E.Add({ by: 4 }))
          assert.deepStrictEqual<unknown>(yield* found.state, { _tag: "Open", count: 7 })
          const refused = yield* Effect.flip(found.send(E.Close()))
          assert.include(refused.message, "only observes")
          assert.strictEqual(yield* (yield* Engine).live, 0)
        }).pipe(Effect.provide(workspace(data, "observe")))
        assert.strictEqual(worked, before)
      }).pipe(Effect.provide(workspace(data, "work")))
    }),
  )

  it.live("continues with what is unfinished when it is opened to work", () =>
    Effect.gen(function* () {
      const data = yield* folder
      yield* Effect.flatMap(Engine, (engine) => engine.start(Tally, "two")).pipe(Effect.provide(workspace(data, "work")))
      const before = worked
      yield* Effect.flatMap(Engine, (engine) => engine.live).pipe(
        Effect.tap((live) => Effect.sync(() => assert.strictEqual(live, 1))),
        Effect.provide(workspace(data, "work")),
      )
      assert.strictEqual(worked, before + 1)
    }),
  )

  it.live.each(["/proc/nothing", "/proc/nothing/deeper", "/dev/null/home"])("in %s, where no folder can be, is refused at once", (data) =>
    Effect.gen(function* () {
      for (const role of ["observe", "work"] as const) {
        const error = yield* Effect.flip(Effect.provide(Effect.void, Workspace.open({ data, role })))
        assert.instanceOf(error, WorkspaceRefused)
        assert.include(error.message, `the folder ${data} cannot be created`)
        assert.include(error.message, "--data")
      }
    }),
  )

  it.live("refuses a file in its place", () =>
    Effect.gen(function* () {
      const data = join(yield* folder, "home")
      yield* Effect.promise(() => writeFile(data, "a file"))
      const error = yield* Effect.flip(Effect.provide(Effect.void, Workspace.open({ data, role: "work" })))
      assert.instanceOf(error, WorkspaceRefused)
    }),
  )

  it.live("refuses a database it does not know, without repeating its address", () =>
    Effect.gen(function* () {
      const data = yield* folder
      const error = yield* Effect.flip(
        Effect.provide(Effect.void, Workspace.open({ data, role: "observe", database: "mysql://root:secret@localhost/x" })),
      )
      assert.include(String(error), "postgres://")
      assert.notInclude(String(error), "secret")
    }),
  )
})

describe("the name of a working process", () => {
  it.live("is its own among those of one workspace and of all workspaces, and goes to the next when it ends", () =>
    Effect.gen(function* () {
      const [data, other] = [yield* folder, yield* folder]
      const take = Effect.map(Effect.all([takeNodeName(data), takeNodeName(data), takeNodeName(other)]), (names) => [...names])
      const first = yield* Effect.scoped(take)
      assert.strictEqual(new Set(first).size, 3)
      assert.deepStrictEqual(yield* Effect.scoped(take), first)
    }),
  )
})

describe("a data folder that cannot be written to", () => {
  it.live.each([
    ["a file in the place of a folder", (data: string) => writeFile(join(data, "nodes"), "")],
    ["a folder in the place of a lock", (data: string) => mkdir(join(data, "nodes", "1.lock"), { recursive: true })],
  ] as const)("by %s is refused with the next step", ([, spoil]) =>
    Effect.gen(function* () {
      const data = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "detent-workspace-"))),
        (path) => Effect.promise(() => rm(path, { recursive: true, force: true })),
      )
      yield* Effect.promise(async () => void (await spoil(data)))
      const error = yield* Effect.flip(Effect.provide(Effect.void, Workspace.open({ data, role: "work" })))
      assert.instanceOf(error, WorkspaceRefused)
      assert.include(error.message, `no process can work in the folder ${data}`)
      assert.include(error.message, "free space on its disk")
    }),
  )
})
