/**
 * Runs one event, recovery, timer, command, activity and XState event each, and writes as JSON which files of the packages ran a function on
 * the way. Arguments: a folder, and the address of a PostgreSQL or `sqlite`.
 */
import { type Profiler, Session } from "node:inspector/promises"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { DurableWorkflow, Engine } from "@detent/durable"
import * as PostgresStore from "@detent/durable/PostgresStore"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { Event, Machine, Slot, State } from "@detent/machine"
import { defineConfig, Server, serve, Workspace } from "@detent/server"
import { fromXState } from "@detent/xstate"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Activity from "effect/workflow/Activity"
import * as Workflow from "effect/workflow/Workflow"
import { setup } from "xstate"

const [folder = "", database = "sqlite"] = process.argv.slice(2)
const packages = join(import.meta.dirname, "../../..")

const S = State({ Open: { count: Schema.Int }, Waiting: {}, Charging: {}, Working: {}, Late: {}, Done: {} })
const E = Event({ Add: {}, Wait: {}, Charge: {}, Charged: {}, Work: {}, Finish: {} })

/** Each way through it begins with one event. */
const Order = Machine.make({
  name: "order",
  state: S,
  event: E,
  effects: Slot.Effects({ charge: Slot.effect({}, { success: Schema.String }) }),
  initial: S.Open({ count: 0 }),
})
  .on(S.Open, E.Add, S.Open, ({ state }) => S.Open({ count: state.count + 1 }))
  .on(S.Open, E.Wait, S.Waiting)
  .timeout(S.Waiting, "300 millis", S.Late, { name: "late" })
  .on(S.Open, E.Charge, S.Charging, ({ effects }) => {
    effects.charge({})
    return S.Charging()
  })
  .on(S.Charging, E.Charged, S.Done)
  .commands({ charge: { onSuccess: () => E.Charged() } })
  .on(S.Open, E.Work, S.Working)
  .spawn(S.Working, ({ self }) => Effect.andThen(Effect.sleep("1 second"), Effect.andThen(self.send(E.Finish()), Effect.never)))
  .on(S.Working, E.Finish, S.Done)
  .final(S.Done)
  .build({ charge: () => Effect.succeed("receipt") })

const Chart = fromXState(
  setup({ types: { events: {} as { type: "go" } } }).createMachine({
    id: "light",
    initial: "red",
    states: { red: { on: { go: "green" } }, green: {} },
  }),
)

const Checkout = Workflow.make("checkout", {
  payload: { order: Schema.String },
  success: Schema.String,
  idempotencyKey: ({ order }) => order,
})

const CheckoutLive = Checkout.toLayer(({ order }) =>
  Activity.make({ name: "charge", success: Schema.String, execute: Effect.succeed(`charged ${order}`) }),
)

const session = new Session()
session.connect()
await session.post("Profiler.enable")
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false })

/** The files of the packages in which a function was called since the last time. */
const takeFiles = async (): Promise<ReadonlyArray<string>> => {
  const { result } = await session.post("Profiler.takePreciseCoverage")
  return result.flatMap(({ url, functions }) => (url.startsWith("file:") && functions.some(isCalled) ? namedFrom(url) : [])).sort()
}

/** A module itself is a function without a name. */
const isCalled = ({ functionName, ranges }: Profiler.FunctionCoverage): boolean =>
  (functionName !== "" || (ranges[0]?.startOffset ?? 0) > 0) && ranges.some(({ count }) => count > 0)

const namedFrom = (url: string): ReadonlyArray<string> => {
  const file = relative(packages, fileURLToPath(url)).replaceAll("\\", "/")
  return file.includes("/src/") && !file.startsWith("..") ? [file] : []
}

const ways: Record<string, ReadonlyArray<string>> = {}

/** What runs between the ways: the start and the end of engines, and their loops. */
const others = new Set<string>()

const takeOthers = Effect.promise(async () => {
  for (const file of await takeFiles()) others.add(file)
})

const traced = <A, E, R>(name: string, way: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    yield* takeOthers
    const result = yield* way
    ways[name] = yield* Effect.promise(takeFiles)
    return result
  })

const post = (url: string, path: string, body: object) =>
  Effect.promise(async () => {
    const response = await fetch(`${url}/api/v1/instances/order${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  })

/** An event by HTTP: the server and the workspace take part. */
const overHttp = Effect.gen(function* () {
  const config = defineConfig({ machines: [Order] })
  const opened = Workspace.open({
    config,
    data: join(folder, "workspace"),
    database: database === "sqlite" ? undefined : database,
    role: "work",
  })
  const { url } = Context.get(yield* Layer.build(serve({ port: 0 }).pipe(Layer.provideMerge(opened))), Server)
  yield* post(url, "", { id: "o-1" })
  yield* post(url, "/o-1/events", { _tag: "Add" })
  yield* traced("event", post(url, "/o-1/events", { _tag: "Add" }))
})

const store = () =>
  database === "sqlite" ? SqliteStore.layer({ filename: join(folder, "store.db") }) : PostgresStore.layer({ url: database })

const engine = (nodeId: string) => Engine.layer({ nodeId, lease: "2 seconds" }).pipe(Layer.provide(store()))

/** One node ends while the work of its instance runs. Another takes the work over. */
const recovery = Effect.gen(function* () {
  const ending = Effect.gen(function* () {
    const engine = yield* Engine
    yield* engine.register(Order)
    const order = yield* engine.start(Order, "working")
    yield* order.send(E.Add())
    yield* order.send(E.Work())
  })
  yield* Effect.provide(ending, engine("node-1"), { local: true })
  const recovering = Effect.gen(function* () {
    const engine = yield* Engine
    yield* engine.register(Order)
    yield* ended(yield* engine.ensure(Order, "working"))
  })
  yield* traced("recovery", Effect.provide(recovering, engine("node-2"), { local: true }))
})

const ended = (order: { readonly waitFor: (is: (state: typeof S.Type) => boolean) => Effect.Effect<unknown, unknown> }) =>
  order.waitFor(({ _tag }) => _tag === "Done" || _tag === "Late")

const withEngine = Effect.gen(function* () {
  const engine = yield* Engine
  yield* engine.register(Order)
  const late = yield* engine.start(Order, "late")
  yield* traced("timer", Effect.andThen(late.send(E.Wait()), ended(late)))
  const charged = yield* engine.start(Order, "charged")
  yield* traced("command", Effect.andThen(charged.send(E.Charge()), ended(charged)))
  const light = yield* engine.start(Chart, "light")
  yield* traced("XState event", light.send({ type: "go" }))
})

const activity = Effect.provide(
  Effect.gen(function* () {
    yield* Checkout.execute({ order: "first" })
    yield* traced("activity", Checkout.execute({ order: "second" }))
  }),
  CheckoutLive.pipe(Layer.provideMerge(DurableWorkflow.layer({ nodeId: "node-4" }).pipe(Layer.provide(store())))),
)

await Effect.runPromise(Effect.scoped(overHttp) as Effect.Effect<void>)
await Effect.runPromise(recovery as Effect.Effect<void>)
await Effect.runPromise(Effect.scoped(Effect.provide(withEngine, engine("node-3"))) as Effect.Effect<void>)
await Effect.runPromise(activity as Effect.Effect<void>)
await Effect.runPromise(takeOthers)
process.stdout.write(JSON.stringify({ ways, others: [...others] }))
