/** A process that requests commands and executes them, until it is killed. */
import { flushCompileCache } from "node:module"
import { type Commands, CommandWorker, Engine, Queues } from "@detent/durable"
import * as PostgresStore from "@detent/store/PostgresStore"
import * as SqliteStore from "@detent/store/SqliteStore"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as References from "effect/References"
import * as Scope from "effect/Scope"
import { commandsLost } from "../../src/outbox/CommandMetrics.ts"
import { E, errands, Letters, letters } from "./CommandMachine.ts"
import type { FromCommandWorker, ToCommandWorker } from "./CommandProcess.ts"

const tell = (message: FromCommandWorker) => process.send?.(message)

const scope = Scope.makeUnsafe()
const run = Effect.runForkWith(Context.make(References.MinimumLogLevel, "None") as Context.Context<never>)
let context: Context.Context<Engine | Commands>
let isAsking = false

const open = ({ store, log, slowness, claimMillis }: Extract<ToCommandWorker, { readonly _tag: "Open" }>) =>
  Effect.gen(function* () {
    const base =
      store._tag === "Sqlite" ? SqliteStore.layer({ filename: store.filename }) : PostgresStore.layer({ url: store.url, maxConnections: 4 })
    const worker = { claimDuration: claimMillis, pollInterval: 100, concurrency: 4, drainTimeout: "5 seconds" } as const
    const layer = Layer.mergeAll(Engine.layer({ worker }), CommandWorker.layer([letters(log, slowness)], worker)).pipe(
      Layer.provideMerge(base),
    )
    context = yield* Layer.buildWithMemoMap(layer, Layer.makeMemoMapUnsafe(), scope)
    yield* Context.get(context, Engine).register(errands(log, slowness))
    yield* Effect.provideContext(Queues.limit(Letters.name, { perGroup: { concurrency: 4 } }), context)
    return errands(log, slowness)
  })

/** Requests one command after the other, and reports which were accepted. */
const ask = (machine: ReturnType<typeof errands>, node: string, client: number) =>
  Effect.gen(function* () {
    const engine = Context.get(context, Engine)
    for (let count = 0; isAsking; count++) {
      const token = `${node}-${client}-${count}`
      const instance = yield* engine.ensure(machine, `i-${client}`)
      yield* instance.send(E.Ask({ token }), { id: token })
      tell({ _tag: "Accepted", token })
      const { key } = yield* Effect.provideContext(Letters.enqueue({ token }, { key: token, group: `client-${client}` }), context)
      tell({ _tag: "Enqueued", key })
      yield* Effect.sleep(15)
    }
  })

const receive = (message: ToCommandWorker) => {
  switch (message._tag) {
    case "Open": {
      const { node, clients } = message
      const opened = Effect.gen(function* () {
        const machine = yield* open(message)
        isAsking = clients > 0
        tell({ _tag: "Opened" })
        yield* Effect.forEach(Array.from({ length: clients }), (_, client) => ask(machine, node, client), { concurrency: "unbounded" })
      })
      return void run(opened).addObserver((exit) => {
        if (Exit.isFailure(exit)) tell({ _tag: "Failed", problem: Cause.pretty(exit.cause) })
      })
    }
    case "Quiet":
      isAsking = false
      return
    case "Count":
      return void run(Metric.value(commandsLost)).addObserver((exit) => {
        tell({ _tag: "Lost", count: Exit.isSuccess(exit) ? exit.value.count : -1 })
      })
    case "Stop":
      isAsking = false
      return void run(Scope.close(scope, Exit.void)).addObserver(() => {
        tell({ _tag: "Stopped" })
        process.disconnect()
      })
  }
}

process.on("message", receive)
// Ends with the process of the test.
process.on("disconnect", () => process.exit(0))
// A killed process does not write its cache of compiled modules, so this one does it before it may be killed.
flushCompileCache()
tell({ _tag: "Ready" })
