/** A process whose instances take one step of their work after the other, and that remembers when it took each. */
import { flushCompileCache } from "node:module"
import { Engine, Placement } from "@detent/durable"
import { Event, Machine, State, stay } from "@detent/machine"
import * as PostgresStore from "@detent/store/PostgresStore"
import * as SqliteStore from "@detent/store/SqliteStore"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as References from "effect/References"
import * as Scope from "effect/Scope"
import type { StoreAddress } from "../Protocol.ts"
import { monotonicMillis } from "./Shift.ts"

export interface SteppingConfig {
  readonly store: StoreAddress
  readonly leaseMillis: number
  readonly nodeId: string
  readonly instances: number
}

/** An instance, when it took a step of its work here, by the system's monotonic clock, and the owner that this process was then. */
export type Step = readonly [id: string, at: number, owner: string]

export type ToStepping =
  | { readonly _tag: "Start" }
  /** How many instances took steps here since this time. */
  | { readonly _tag: "Count"; readonly since: number }
  | { readonly _tag: "Stop" }

export type FromStepping =
  | { readonly _tag: "Ready" }
  | { readonly _tag: "Counted"; readonly instances: number }
  | { readonly _tag: "Stopped"; readonly steps: ReadonlyArray<Step> }

const S = State({ Running: {} })
const E = Event({ Step: {} })

/** Every step ends with a commit, whose answer begins the next one. */
const stepping = (steps: Array<Step>, owner: () => string) => {
  const machine = Machine.make({ name: "stepping", state: S, event: E, initial: S.Running() }).on(S.Running, E.Step, stay)
  const step = (id: string) => {
    steps.push([id, monotonicMillis(), owner()])
  }
  return machine.spawn(S.Running, ({ self }) =>
    Effect.forever(
      Effect.andThen(
        Effect.sync(() => step(self.id)),
        self.send(E.Step()),
      ),
    ),
  )
}

const say = (message: FromStepping) => process.send?.(message)

const serve = (config: SteppingConfig) => {
  const { store, leaseMillis, nodeId, instances } = config
  const scope = Scope.makeUnsafe()
  const run = Effect.runForkWith(Context.make(References.MinimumLogLevel, "None") as Context.Context<never>)
  const steps: Array<Step> = []
  run(
    Effect.gen(function* () {
      const stores =
        store._tag === "Sqlite"
          ? SqliteStore.layer({ filename: store.filename })
          : PostgresStore.layer({ url: store.url, maxConnections: 6 })
      const layer = Engine.layer().pipe(Layer.provideMerge(Placement.leases({ lease: leaseMillis, nodeId })), Layer.provideMerge(stores))
      const context = yield* Layer.buildWithMemoMap(layer, Layer.makeMemoMapUnsafe(), scope)
      const engine = Context.get(context, Engine)
      const machine = stepping(steps, Context.get(context, Placement).node)
      yield* engine.register(machine)
      const ids = Array.from({ length: instances }, (_, number) => `s-${number}`)
      process.on("message", (message: ToStepping) => {
        switch (message._tag) {
          case "Start":
            return void run(Effect.forEach(ids, (id) => engine.ensure(machine, id), { concurrency: 16, discard: true }))
          case "Count":
            return say({ _tag: "Counted", instances: new Set(steps.flatMap(([id, at]) => (at > message.since ? [id] : []))).size })
          case "Stop":
            return void run(Scope.close(scope, Exit.void)).addObserver(() => {
              // A disconnect before that would drop what has not been written.
              process.send?.({ _tag: "Stopped", steps } satisfies FromStepping, undefined, undefined, () => process.disconnect())
            })
        }
      })
      say({ _tag: "Ready" })
    }),
  )
}

if (process.argv[1] === import.meta.filename && process.send !== undefined) {
  // A controller that dies takes its workers along.
  process.on("disconnect", () => process.exit(0))
  flushCompileCache()
  serve(JSON.parse(process.argv[2] ?? "{}"))
}
