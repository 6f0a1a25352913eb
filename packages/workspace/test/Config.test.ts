import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { type Commands, Engine, Queues } from "@detent/durable"
import { workflow } from "@detent/durable/promise"
import { Event, Machine, Slot, State } from "@detent/machine"
import { defineUpload, Uploads } from "@detent/uploads"
import { decodeConfig, defineConfig, readConfig, Systems, Workspace } from "@detent/workspace"
import { executions, machines, oracle } from "@detent/workspace/operations"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import * as TestClock from "effect/testing/TestClock"
import * as Activity from "effect/workflow/Activity"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import { folder } from "./support/folder.ts"

const S = State({ Open: { count: Schema.Int }, Closed: {} })
const E = Event({ Add: { by: Schema.Int }, Close: {} })
const Tally = Machine.make({ name: "tally", state: S, event: E, initial: S.Open({ count: 0 }) })
  .on(S.Open, E.Add, S.Open, ({ state, event }) => S.Open({ count: state.count + event.by }))
  .on(S.Open, E.Close, S.Closed)
  .final(S.Closed)

class Bell extends Context.Service<Bell, { readonly ring: Effect.Effect<void> }>()("test/Bell") {}

const Alarm = Machine.make({ name: "alarm", state: S, event: E, initial: S.Open({ count: 0 }) }).spawn(S.Open, () =>
  Effect.andThen(
    Effect.flatMap(Bell, (bell) => bell.ring),
    Effect.never,
  ),
)

const Greet = Workflow.make("greet", { payload: { name: Schema.String }, success: Schema.String, idempotencyKey: ({ name }) => name })
const greetLayer = Greet.toLayer(({ name }) =>
  Activity.make({ name: "greet", success: Schema.String, execute: Effect.succeed(`hello ${name}`) }),
)

describe("detent.config", () => {
  const config = (text: string) =>
    Effect.gen(function* () {
      const path = yield* folder
      yield* Effect.promise(() => writeFile(join(path, "detent.config.mjs"), text))
      return yield* readConfig(path)
    })

  it.live("is not needed", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* readConfig(yield* folder), { machines: [] })
    }),
  )

  it.live("is where worker processes find the definitions of uploads", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const file = join(path, "detent.config.mjs")
      const upload = "{ name: 'Notes', fields: [], kind: { name: 'Notes', machine: 'NotesItem' } }"
      yield* Effect.promise(() => writeFile(file, `export default { uploads: ["items", ${upload}] }`))
      const { uploads = [] } = yield* readConfig(path)
      assert.deepStrictEqual(
        uploads.map((one) => (one === "items" ? one : one.kind.module)),
        ["items", pathToFileURL(file).href],
      )
    }),
  )

  it.live("needs no machines where it has another setting", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* config("export default { knowledge: {} }"), { machines: [], knowledge: {} })
    }),
  )

  it.live.each([
    ["export const machines = []", "default export is not a configuration"],
    ["export default {}", "it is empty; write export default defineConfig({ machines: [...] })"],
    ["export default { machines: {} }", "machines: Expected array"],
    ["export default { machines: [{}] }", "machines.0: Expected a machine made with Machine.make({ ... })"],
    ["export default { machines: [], upcaster: {} }", "upcaster is not known; did you mean upcasters?"],
    ["export default { knowledge: { extracter: 'built-in' } }", "knowledge.extracter is not known; did you mean extractor?"],
    ["export default { knowledge: { extractor: 'openai' } }", "knowledge.extractor"],
    ["export default { knowledge: { baseUrl: 'localhost' } }", "knowledge.baseUrl: Expected an address like https://gateway.example/v1"],
    [
      "export default { knowledge: { tasks: { queue: 'cloudtasks', project: 'p', location: 'l' } } }",
      'knowledge.tasks: Expected settings with a queue of "durable", "memory" or "cloud-tasks"; the README',
    ],
    [
      "export default { knowledge: { tasks: { queue: 'cloud-tasks', project: 'p', location: 'l', serviceAccount: 'a@b' } } }",
      ": knowledge.tasks.endpoint is missing; the README",
    ],
    ["export default { knowledge: { budget: { costs: 5 } } }", "knowledge.budget.costs is not known; did you mean cost?"],
    ["export default { uploads: ['itmes'] }", 'uploads.0: Expected "items", or an upload made with defineUpload'],
    ["export default { uploads: [] }", "uploads.0 is missing"],
    ["export default { limits: { http: { bodyByte: 1 } } }", "limits.http.bodyByte is not known; did you mean bodyBytes?"],
    ["export default { limits: { http: { stopTimeout: 'soon' } } }", "limits.http.stopTimeout: Expected a duration above zero"],
    ["export default { limits: { commands: 0 } }", "limits.commands: Expected"],
    ["export default { workflows: [{ workflow: 1, layer: 2 }] }", "workflows.0"],
    ["export default { layers: {} }", "layers: Expected a Layer of Effect"],
    [
      "export default { retention: { ordr: '1 day' } }",
      "retention.ordr names no machine or workflow of this configuration; add the machine or workflow to the configuration",
    ],
    ["export default { cloud: {} }", "cloud is not known; use one of machines"],
    ['export default { cluster: { adress: "10.0.0.7:7700" } }', "did you mean address?"],
    ["export default {{", "cannot be loaded"],
  ] as const)("that is %s is refused with what to do", ([text, problem]) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(config(text))
      assert.include(error.message, problem)
      assert.include(error.message, "detent.config.mjs")
    }),
  )

  it.live("has the limits that queues begin with; what was changed since stays", () =>
    Effect.gen(function* () {
      const data = yield* folder
      const opened = <A, E2>(limits: Queues.QueueLimits, use: Effect.Effect<A, E2, Commands>) =>
        Effect.provide(use, Workspace.open({ data, role: "work", config: defineConfig({ machines: [Tally], queues: { mails: limits } }) }))
      const mails = Effect.map(Queues.list, (queues) => queues.find(({ queue }) => queue === "mails"))
      const rate = { limit: 10, interval: "1 minute" } as const
      const first = yield* opened({ concurrency: 20, perGroup: { concurrency: 2, rate } }, mails)
      const perGroup = { concurrency: 2, rate: { limit: 10, intervalMillis: 60_000 } }
      assert.deepStrictEqual(first, { queue: "mails", paused: false, concurrency: 20, rate: undefined, perGroup })
      const changed = Effect.andThen(Queues.limit("mails", { concurrency: 5 }), mails)
      assert.strictEqual((yield* opened({ concurrency: 20 }, changed))?.concurrency, 5)
      const later = yield* opened({ concurrency: 30 }, mails)
      assert.strictEqual(later?.concurrency, 5)
      assert.deepStrictEqual(later?.perGroup, perGroup)
      for (const queues of [
        { mails: { concurrency: 0 } },
        { mails: { perGroup: { rate: { limit: 0, interval: "1 minute" } } } },
        { mails: { perKey: {} } },
        { "": {} },
      ])
        assert.include((yield* Effect.flip(decodeConfig("config", { queues }))).message, "queues.")
    }),
  )

  it.live("refuses names that are used twice or stand for no machine", () =>
    Effect.gen(function* () {
      const problemOf = (value: object) => Effect.map(Effect.flip(decodeConfig("config", value)), ({ message }) => message)
      assert.include(yield* problemOf({ machines: [Tally, Tally] }), "two machines have the name tally")
      const Bulk = Machine.make({ name: "bulk", state: S, event: E, initial: S.Open({ count: 0 }) })
      assert.include(
        yield* problemOf({ machines: [Bulk] }),
        "a machine has the name bulk, which is reserved for jobs of `detent instance bulk`",
      )
      const twice = { workflow: Greet, layer: greetLayer }
      assert.include(yield* problemOf({ workflows: [twice, twice] }), "two workflows have the name greet")
      assert.include(
        yield* problemOf({ machines: [Tally], retention: { taly: "1 day" } }),
        "retention.taly names no machine or workflow of this configuration; did you mean tally?",
      )
      assert.include(yield* problemOf({ machines: [Tally], upcasters: { tally: { one: {} } } }), "upcasters.tally.one")
      yield* decodeConfig("config", { knowledge: {}, retention: { batch: "30 days", bulk: "7 days", "workflow/extraction": "30 days" } })
      const greeting = { workflows: [{ workflow: Greet, layer: greetLayer }] }
      yield* decodeConfig("config", { ...greeting, retention: { "workflow/greet": "1 day" } })
      assert.include(yield* problemOf({ ...greeting, retention: { greet: "1 day" } }), "did you mean workflow/greet?")
      const named = { workflow: Greet, layer: greetLayer, events: { confirmed: { name: "confirmed" } } }
      assert.include(
        yield* problemOf({ workflows: [named] }),
        "workflows.0.events.confirmed: Expected a deferred made with DurableDeferred.make",
      )
      const event = { workflow: Greet, layer: greetLayer, event: {} }
      assert.include(yield* problemOf({ workflows: [event] }), "workflows.0.event is not known; did you mean events?")
      const misspelt = { workflow: Greet, layr: greetLayer }
      assert.include(yield* problemOf({ workflows: [misspelt] }), "workflows.0.layr is not known; did you mean layer?")
    }),
  )
})

/** Checked by the compiler: each of these lines must not compile without its comment. */
export const refusedByTypes = () => [
  // @ts-expect-error: a service that no layer provides.
  defineConfig({ machines: [Alarm] }),
  // @ts-expect-error: a setting that does not exist.
  defineConfig({ machines: [Tally], upcaster: {} }),
  // @ts-expect-error: a setting of a section that does not exist.
  defineConfig({ knowledge: { extracter: "built-in" } }),
  // @ts-expect-error: an extractor without a model.
  defineConfig({ knowledge: { extractor: "openai" } }),
  // @ts-expect-error: an item type that does not exist.
  defineConfig({ uploads: ["itmes"] }),
  // @ts-expect-error: a layer that needs a service no workspace provides.
  // @effect-diagnostics-next-line missingLayerContext:off
  defineConfig({ layers: Layer.effectDiscard(Bell) }),
]

describe("the services of a configuration", () => {
  it.live("are those of its layers, which use the services of the workspace", () =>
    Effect.gen(function* () {
      let rings = 0
      const layers = Layer.effect(
        Bell,
        Effect.map(Effect.all([SqlClient, Engine]), ([sql]) => ({
          ring: Effect.orDie(Effect.tap(sql`select 1`, () => Effect.sync(() => rings++))).pipe(Effect.asVoid),
        })),
      )
      const open = Workspace.open({ data: yield* folder, role: "work", config: defineConfig({ machines: [Alarm], layers }) })
      yield* Effect.gen(function* () {
        yield* (yield* Engine).start((yield* Engine).machine("alarm").pipe(Option.getOrThrow), "one")
        while (rings === 0) yield* Effect.sleep("10 millis")
      }).pipe(Effect.provide(open))
      assert.strictEqual(rings, 1)
    }),
  )

  it.live("are those of the workspace without being provided: a handler starts an instance of another machine", () =>
    Effect.gen(function* () {
      const P = State({ Idle: {}, Asked: {} })
      const Q = Event({ Ask: {} })
      const Parent = Machine.make({ name: "parent", state: P, event: Q, effects: Slot.Effects({ startChild: {} }), initial: P.Idle() })
        .on(
          P.Idle,
          Q.Ask,
          P.Asked,
          ({ effects }) => {
            effects.startChild({})
            return P.Asked()
          },
          { requests: ["startChild"] },
        )
        .final(P.Asked)
        .build({
          startChild: (_, { id }) =>
            Effect.orDie(Effect.asVoid(Effect.flatMap(Engine, (engine) => engine.ensure(Tally, `child-of-${id}`)))),
        })
      const open = Workspace.open({ data: yield* folder, role: "work", config: defineConfig({ machines: [Parent, Tally] }) })
      yield* Effect.gen(function* () {
        const engine = yield* Engine
        const found = Option.getOrThrow(engine.find({ machine: "tally", id: "child-of-one" }))
        yield* (yield* engine.start(Parent, "one")).send(Q.Ask())
        while ((yield* Effect.option(found.state))._tag === "None") yield* Effect.sleep("10 millis")
        assert.deepStrictEqual<unknown>(yield* found.state, S.Open({ count: 0 }))
      }).pipe(Effect.provide(open))
    }),
  )

  it.live("stay until the engines have stopped: work that ends with the process still has them", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const layers = Layer.effect(
        Bell,
        Effect.acquireRelease(Effect.succeed({ ring: Effect.sync(() => void events.push("rung")) }), () =>
          Effect.sync(() => void events.push("bell closed")),
        ),
      )
      const Guard = Machine.make({ name: "guard", state: S, event: E, initial: S.Open({ count: 0 }) }).spawn(S.Open, () =>
        Effect.onExit(Effect.never, () => Effect.flatMap(Bell, (bell) => bell.ring)),
      )
      const open = Workspace.open({ data: yield* folder, role: "work", config: defineConfig({ machines: [Guard], layers }) })
      yield* Effect.gen(function* () {
        const engine = yield* Engine
        yield* engine.start(Option.getOrThrow(engine.machine("guard")), "one")
        yield* Effect.sleep("50 millis")
      }).pipe(Effect.provide(open))
      assert.deepStrictEqual(events, ["rung", "bell closed"])
    }),
  )

  it.live("that cannot be built keep the workspace from opening, with the reason", () =>
    Effect.gen(function* () {
      const layers = Layer.effect(Bell, Effect.fail("the bell is out of order"))
      const open = Workspace.open({ data: yield* folder, role: "work", config: defineConfig({ machines: [Alarm], layers }) })
      const error = yield* Effect.flip(Effect.provide(Effect.void, open))
      assert.include(String(error), "the bell is out of order")
      assert.include(String(error), "detent.config.ts")
    }),
  )
})

describe("the workflows of a configuration", () => {
  const Gate = DurableDeferred.make("gate", { success: Schema.String })
  const Wait = Workflow.make("wait", { payload: { id: Schema.String }, success: Schema.String, idempotencyKey: ({ id }) => id })
  const Count = workflow({ name: "count", input: { to: Schema.Int } }, async ({ to }, durable) => durable.step("add", async () => to + 1))
  const config = defineConfig({
    machines: [Tally],
    workflows: [{ workflow: Greet, layer: greetLayer }, { workflow: Wait, layer: Wait.toLayer(() => DurableDeferred.await(Gate)) }, Count],
  })

  it.live("run, and are listed with their executions", () =>
    Effect.gen(function* () {
      const data = yield* folder
      yield* Effect.gen(function* () {
        assert.strictEqual(yield* Greet.execute({ name: "Ada" }), "hello Ada")
        const counting = (yield* WorkflowEngine).execute(Count.definition, { executionId: "two", payload: { to: 1 }, discard: false })
        yield* counting as Effect.Effect<unknown, unknown>
        const names = (yield* machines.list).map(({ name }) => name)
        assert.deepStrictEqual(names, ["tally", "workflow/count", "workflow/greet", "workflow/wait"])
        const { executions: all } = yield* executions.list({ limit: 10 })
        assert.deepStrictEqual(all.map(({ workflow, phase, ended }) => [workflow, phase, ended]).sort(), [
          ["count", "Completed", true],
          ["greet", "Completed", true],
        ])
        const [greeted] = (yield* executions.list({ workflow: "greet", limit: 10 })).executions
        const { events } = yield* executions.history("greet", greeted?.id ?? "")
        assert.includeMembers(
          events.map(({ event }) => event),
          ["Activity/greet", "Completed"],
        )
      }).pipe(Effect.provide(Workspace.open({ data, role: "work", config })))
      // A process that observes runs none of them, and lists them all the same.
      yield* Effect.gen(function* () {
        const listed = yield* machines.list
        assert.deepStrictEqual(
          listed.map(({ name, counts }) => [name, counts["Completed"] ?? 0]),
          [
            ["tally", 0],
            ["workflow/count", 1],
            ["workflow/greet", 1],
            ["workflow/wait", 0],
          ],
        )
      }).pipe(Effect.provide(Workspace.open({ data, role: "observe", config })))
    }),
  )

  it.live("that a layer registers besides its own are listed, can be called, and are changed by name", () =>
    Effect.gen(function* () {
      const data = yield* folder
      const Outer = Workflow.make("outer", { payload: { name: Schema.String }, success: Schema.String, idempotencyKey: ({ name }) => name })
      const outerLayer = Outer.toLayer(({ name }) => Greet.execute({ name }))
      const nested = defineConfig({ workflows: [{ workflow: Outer, layer: Layer.merge(outerLayer, greetLayer) }] })
      yield* Effect.gen(function* () {
        assert.strictEqual(yield* Outer.execute({ name: "Ada" }), "hello Ada")
        const names = (yield* machines.list).map(({ name }) => name)
        assert.deepStrictEqual(names, ["workflow/greet", "workflow/outer"])
        const [greeted] = (yield* executions.list({ workflow: "greet", limit: 10 })).executions
        assert.strictEqual((yield* Effect.flip(executions.interrupt("greet", greeted?.id ?? "")))._tag, "ExecutionEnded")
      }).pipe(Effect.provide(Workspace.open({ data, role: "work", config: nested })))
      const observed = yield* Effect.provide(machines.list, Workspace.open({ data, role: "observe", config: nested }))
      assert.deepStrictEqual(
        observed.map(({ name, kind }) => [name, kind]),
        [
          ["workflow/greet", "effect-workflow"],
          ["workflow/outer", "effect-workflow"],
        ],
      )
    }),
  )

  it.live("whose layer registers another one instead are refused", () =>
    Effect.gen(function* () {
      const wrong = defineConfig({ workflows: [{ workflow: Wait, layer: greetLayer }] })
      const error = yield* Effect.flip(Effect.provide(Effect.void, Workspace.open({ data: yield* folder, role: "work", config: wrong })))
      assert.include(error.message, "workflow wait of the configuration could not be started: its layer does not register it")
      assert.include(error.message, "detent.config.ts")
    }),
  )

  it.effect("with a retention are removed some time after their end, and no others", () =>
    Effect.gen(function* () {
      const kept = { ...config, retention: { "workflow/greet": "10 minutes" } } as const
      yield* Effect.gen(function* () {
        const live = <A, E, R>(effect: Effect.Effect<A, E, R>) => TestClock.withLive(effect)
        yield* live(Greet.execute({ name: "Ada" }))
        const left = Effect.map(executions.list({ limit: 10 }), (page) => page.executions.map(({ workflow: name }) => name).sort())
        yield* live(
          (yield* WorkflowEngine).execute(Count.definition, { executionId: "one", payload: { to: 1 }, discard: false }) as Effect.Effect<
            unknown,
            unknown
          >,
        )
        yield* TestClock.adjust("5 minutes")
        assert.deepStrictEqual(yield* left, ["count", "greet"])
        for (let minute = 0; (yield* left).length > 1; minute++) {
          assert.isBelow(minute, 60)
          yield* TestClock.adjust("1 minute")
          yield* live(Effect.sleep("5 millis"))
        }
        assert.deepStrictEqual(yield* left, ["count"])
      }).pipe(Effect.provide(Workspace.open({ data: yield* folder, role: "work", config: kept })))
    }),
  )

  it.live("resume after a restart, and are left alone by a process that resumes nothing", () =>
    Effect.gen(function* () {
      const data = yield* folder
      const id = yield* Wait.execute({ id: "one" }, { discard: true }).pipe(Effect.provide(Workspace.open({ data, role: "work", config })))
      const phase = Effect.map(executions.get("wait", id), (found) => found.phase)
      const passing = Workspace.open({ data, role: "work", config, engine: { resume: false } })
      yield* Effect.provide(
        DurableDeferred.succeed(Gate, {
          token: DurableDeferred.tokenFromExecutionId(Gate, { workflow: Wait, executionId: id }),
          value: "open",
        }),
        passing,
      )
      assert.notStrictEqual(yield* Effect.provide(phase, passing), "Completed")
      yield* Effect.repeat(phase, { until: (now) => now === "Completed", schedule: Schedule.spaced("20 millis") }).pipe(
        Effect.provide(Workspace.open({ data, role: "work", config })),
      )
    }),
  )

  it.live("can be interrupted and resumed by name, and refuse what is not there", () =>
    Effect.gen(function* () {
      yield* Effect.gen(function* () {
        const id = yield* Wait.execute({ id: "two" }, { discard: true })
        yield* executions.resume("wait", id)
        yield* executions.interrupt("wait", id)
        while (!(yield* executions.get("wait", id)).ended) yield* Effect.sleep("10 millis")
        assert.strictEqual((yield* executions.get("wait", id)).phase, "Interrupted")
        const ended = yield* Effect.flip(executions.interrupt("wait", id))
        assert.strictEqual(ended._tag, "ExecutionEnded")
        assert.strictEqual((yield* Effect.flip(executions.get("wait", "nothing")))._tag, "ExecutionNotFound")
        const unknown = yield* Effect.flip(executions.list({ workflow: "wiat", limit: 1 }))
        assert.include(unknown.message, "use one of count, greet, wait")
      }).pipe(Effect.provide(Workspace.open({ data: yield* folder, role: "work", config })))
    }),
  )
})

describe("upcasters, retention and limits of a configuration", () => {
  it.live("upcasters are used by the check of machines", () =>
    Effect.gen(function* () {
      const data = yield* folder
      const Old = Machine.make({ name: "tally", state: State({ Open: {} }), event: E, initial: State({ Open: {} }).Open() })
      yield* Effect.flatMap(Engine, (engine) => engine.start(Old, "one")).pipe(
        Effect.provide(Workspace.open({ data, role: "work", config: defineConfig({ machines: [Old] }) })),
      )
      const New = Machine.make({ name: "tally", version: 2, state: S, event: E, initial: S.Open({ count: 0 }) })
      const failing = (config: ReturnType<typeof defineConfig>) =>
        Effect.map(oracle.check({ machine: "tally" }), (reports) => reports.reduce((sum, report) => sum + report.held, 0)).pipe(
          Effect.provide(Workspace.open({ data, role: "observe", config })),
        )
      assert.strictEqual(yield* failing(defineConfig({ machines: [New] })), 1)
      const upcasters = { tally: { 1: { state: (json: object) => ({ count: 0, ...json }) } } }
      assert.strictEqual(yield* failing(defineConfig({ machines: [New], upcasters })), 0)
    }),
  )

  it.effect("retention removes instances that ended long ago, and no others", () =>
    Effect.gen(function* () {
      const config = defineConfig({ machines: [Tally], retention: { tally: "10 minutes" } })
      yield* Effect.gen(function* () {
        const engine = yield* Engine
        const ended = yield* engine.start(Tally, "ended")
        yield* ended.send(E.Close())
        yield* engine.start(Tally, "running")
        const left = Effect.map(engine.list(Tally), ({ instances }) => instances.map(({ id }) => id).sort())
        yield* TestClock.adjust("5 minutes")
        assert.deepStrictEqual(yield* left, ["ended", "running"])
        for (let minute = 0; (yield* left).length > 1; minute++) {
          assert.isBelow(minute, 60)
          yield* TestClock.adjust("1 minute")
          yield* TestClock.withLive(Effect.sleep("5 millis"))
        }
        assert.deepStrictEqual(yield* left, ["running"])
      }).pipe(Effect.provide(Workspace.open({ data: yield* folder, role: "work", config })))
    }),
  )

  it.live("limits hold for events", () =>
    Effect.gen(function* () {
      const config = defineConfig({ machines: [Tally], limits: { eventSize: 10 } })
      const error = yield* Effect.flatMap(Engine, (engine) =>
        Effect.flatMap(engine.start(Tally, "one"), (tally) => Effect.flip(tally.send(E.Add({ by: 1234567890 })))),
      ).pipe(Effect.provide(Workspace.open({ data: yield* folder, role: "work", config })))
      assert.include(error.message, "10")
    }),
  )
})

describe("systems", () => {
  const names = Effect.map(machines.list, (listed) => listed.map(({ name }) => name))

  it.live("are off without their sections: no machines, and a refusal with the next step", () =>
    Effect.gen(function* () {
      const open = Workspace.open({ data: yield* folder, role: "work", config: defineConfig({ machines: [Tally] }) })
      yield* Effect.gen(function* () {
        assert.deepStrictEqual(yield* names, ["tally"])
        const knowledge = yield* Effect.flip(Layer.build(Systems.knowledge))
        assert.strictEqual(knowledge.message, "knowledge is off; add `knowledge: {}` to detent.config.ts")
        const uploads = yield* Effect.flip(Layer.build(Systems.uploads))
        assert.strictEqual(uploads.message, 'uploads are off; add `uploads: ["items"]` to detent.config.ts')
      }).pipe(Effect.provide(open))
    }),
  )

  it.live("are on with their sections, each by itself", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* folder, yield* folder]
      const knowing = Workspace.open({ data: one, role: "work", config: defineConfig({ knowledge: {} }) })
      assert.deepStrictEqual(yield* Effect.provide(names, knowing), ["batch", "workflow/extraction"])
      const uploading = Workspace.open({ data: other, role: "work", config: defineConfig({ uploads: ["items"] }) })
      assert.deepStrictEqual(yield* Effect.provide(names, uploading), ["UploadBatch", "UploadItem"])
    }),
  )

  it.live("have the item types of the configuration, and the built-in one where it is named", () =>
    Effect.gen(function* () {
      const Products = defineUpload({ name: "Products", schema: Schema.Struct({ sku: Schema.String }), id: "sku" })
      const open = Workspace.open({ data: yield* folder, role: "work", config: defineConfig({ uploads: [Products] }) })
      yield* Effect.gen(function* () {
        assert.deepStrictEqual(yield* names, ["UploadBatch", "UploadItem"])
        const { kinds } = yield* Effect.provide(Uploads, Systems.uploads)
        assert.deepStrictEqual(
          kinds.map(({ name, isDefault }) => [name, isDefault]),
          [["Products", true]],
        )
      }).pipe(Effect.provide(open))
    }),
  )

  it.live("without a configuration are on where the database has something of them", () =>
    Effect.gen(function* () {
      const data = yield* folder
      assert.deepStrictEqual(yield* Effect.provide(names, Workspace.open({ data, role: "work" })), [])
      const file = join(data, "items.json")
      yield* Effect.promise(() => writeFile(file, '[{"id":1,"type":"story","by":"ada","time":1,"title":"one"}]'))
      yield* Effect.gen(function* () {
        const uploads = yield* Uploads
        const { batchId } = yield* uploads.start(file)
        yield* uploads.finished(batchId)
      }).pipe(Effect.provide(Workspace.open({ data, role: "work", uploads: {} })))
      assert.deepStrictEqual(yield* Effect.provide(names, Workspace.open({ data, role: "observe" })), ["UploadBatch", "UploadItem"])
      // A configuration decides for itself.
      const config = defineConfig({ machines: [Tally] })
      assert.deepStrictEqual(yield* Effect.provide(names, Workspace.open({ data, role: "observe", config })), ["tally"])
      // A caller that asks for a system by name gets what is stored.
      const asking = Workspace.open({ data, role: "observe", config, asked: ["uploads", "knowledge"] })
      assert.deepStrictEqual(yield* Effect.provide(names, asking), ["UploadBatch", "UploadItem", "tally"])
    }),
  )
})
