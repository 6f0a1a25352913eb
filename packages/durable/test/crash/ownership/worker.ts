/** A process with an engine that runs the work of shifts, until it is killed or told to stop. */
import { flushCompileCache } from "node:module"
import { Engine, type EngineService, Journal, Placement } from "@detent/durable"
import * as PostgresStore from "@detent/store/PostgresStore"
import * as SqliteStore from "@detent/store/SqliteStore"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as References from "effect/References"
import * as Scope from "effect/Scope"
import { upcastersTo } from "../../simulation/Machines.ts"
import type { StoreAddress } from "../Protocol.ts"
import { E, type ShiftOptions, shift } from "./Shift.ts"

export interface WorkerConfig extends ShiftOptions {
  readonly store: StoreAddress
  readonly leaseMillis: number
  /** With a node id, processes on the same host wait for the lease of one that is killed. */
  readonly hasNodeId: boolean
  /** As a node of a cluster at this address. */
  readonly address?: string
  readonly instances: number
  /** How often this process sends an event to an instance of any owner. */
  readonly skipMillis: number
}

export type ToShiftWorker = { readonly _tag: "Start" } | { readonly _tag: "Count" } | { readonly _tag: "Stop" }

export type FromShiftWorker =
  | { readonly _tag: "Ready" }
  | { readonly _tag: "Started" }
  | { readonly _tag: "Counted"; readonly counts: Readonly<Record<string, number>> }
  | { readonly _tag: "Stopped" }
  | { readonly _tag: "Failed"; readonly problem: string }

/** The owner that an instance of this process has in the store, without the life. */
export const nodeIdOf = (pid: number, address: string | undefined): string =>
  address === undefined ? `shift-worker-${pid}` : `cluster/${address}`

export const idOf = (number: number): string => `shift-${number}`

const say = (message: FromShiftWorker) => process.send?.(message)

const token = "a secret of the tests that is long enough"

/** Loaded only where it is used: most workers are not nodes of a cluster. */
const placementOf = ({ leaseMillis, hasNodeId, address }: WorkerConfig) =>
  address === undefined
    ? Effect.succeed(Placement.leases({ lease: leaseMillis, ...(hasNodeId && { nodeId: nodeIdOf(process.pid, address) }) }))
    : Effect.map(
        Effect.promise(() => import("@detent/cluster")),
        ({ Cluster }) => Cluster.layer({ address, token, lease: leaseMillis }),
      )

const serve = (config: WorkerConfig) => {
  const { store, instances, skipMillis, ...options } = config
  const scope = Scope.makeUnsafe()
  const run = Effect.runForkWith(Context.make(References.MinimumLogLevel, "None") as Context.Context<never>)
  const machine = shift(options)

  const open = Effect.gen(function* () {
    const stores =
      store._tag === "Sqlite" ? SqliteStore.layer({ filename: store.filename }) : PostgresStore.layer({ url: store.url, maxConnections: 6 })
    const layer = Engine.layer({ sweeper: { interval: 500 } }).pipe(
      Layer.provideMerge(yield* placementOf(config)),
      Layer.provideMerge(stores),
    )
    const context = yield* Layer.buildWithMemoMap(layer, Layer.makeMemoMapUnsafe(), scope)
    const engine = Context.get(context, Engine)
    yield* engine.register(machine, { upcasters: upcastersTo(options.version) })
    return { engine, journal: Context.get(context, Journal) }
  })

  const start = (engine: EngineService) =>
    Effect.forEach(
      Array.from({ length: instances }, (_, number) => idOf(number)),
      (id) => engine.ensure(machine, id),
      { concurrency: 32, discard: true },
    )

  /** Sends an event to an instance of any owner now and then. Refusals and conflicts are part of the game. */
  const skip = (engine: EngineService) =>
    Effect.gen(function* () {
      yield* Effect.sleep(skipMillis * (0.5 + (yield* Random.next)))
      const instance = engine.find({ machine: machine.name, id: idOf(yield* Random.nextIntBetween(0, instances)) })
      if (instance._tag === "Some") yield* Effect.ignore(instance.value.send(E.Skip()))
    })

  const failed = (cause: Cause.Cause<unknown>) => Effect.sync(() => say({ _tag: "Failed", problem: Cause.pretty(cause) }))

  run(
    Effect.gen(function* () {
      const { engine, journal } = yield* open
      yield* Scope.provide(Effect.forkScoped(Effect.forever(skip(engine))), scope)
      process.on("message", (message: ToShiftWorker) => {
        switch (message._tag) {
          case "Start":
            return void run(
              Effect.catchCause(
                Effect.tap(start(engine), () => Effect.sync(() => say({ _tag: "Started" }))),
                failed,
              ),
            )
          case "Count":
            return void run(
              Effect.matchCauseEffect(journal.count(machine.name), {
                onFailure: failed,
                onSuccess: (counts) => Effect.sync(() => say({ _tag: "Counted", counts: Object.fromEntries(counts) })),
              }),
            )
          case "Stop":
            return void run(Scope.close(scope, Exit.void)).addObserver(() => {
              say({ _tag: "Stopped" })
              process.disconnect()
            })
        }
      })
      say({ _tag: "Ready" })
    }).pipe(Effect.catchCause(failed)),
  )
}

if (process.argv[1] === import.meta.filename && process.send !== undefined) {
  // A controller that dies takes its workers along.
  process.on("disconnect", () => process.exit(0))
  // A killed process does not write its cache of compiled modules, so this one does it before it may be killed.
  flushCompileCache()
  serve(JSON.parse(process.argv[2] ?? "{}"))
}
