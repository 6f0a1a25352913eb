/** A process with an engine in it. It does what the test tells it, until it is killed. */

import { flushCompileCache } from "node:module"
import type { ClusterOptions } from "@detent/cluster"
import { Engine, type EngineService, fastLock } from "@detent/durable"
import { NewerVersion, RetryPolicy } from "@detent/machine"
import * as PostgresStore from "@detent/store/PostgresStore"
import * as SqliteStore from "@detent/store/SqliteStore"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as References from "effect/References"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import type { Answer } from "../simulation/Answers.ts"
import { type Driven, driven, machinesAt, upcastersTo } from "../simulation/Machines.ts"
import type { FromWorker, Opening, ToWorker } from "./Protocol.ts"

const tell = (message: FromWorker) => process.send?.(message)

const scope = Scope.makeUnsafe()
const live = Clock.Clock.defaultValue()
let offset = 0
/** The clock of the machine, as the test sets it. */
const clock: Clock.Clock = {
  currentTimeMillisUnsafe: () => live.currentTimeMillisUnsafe() + offset,
  currentTimeMillis: Effect.sync(() => live.currentTimeMillisUnsafe() + offset),
  currentTimeNanosUnsafe: () => live.currentTimeNanosUnsafe() + BigInt(offset) * 1_000_000n,
  currentTimeNanos: Effect.sync(() => live.currentTimeNanosUnsafe() + BigInt(offset) * 1_000_000n),
  monotonicTimeNanosUnsafe: () => live.monotonicTimeNanosUnsafe(),
  monotonicTimeNanos: live.monotonicTimeNanos,
  sleep: (duration) => live.sleep(duration),
}
const run = Effect.runForkWith(
  Context.make(Clock.Clock, clock).pipe(Context.add(References.MinimumLogLevel, "None")) as Context.Context<never>,
)

let engine: EngineService
let machines: ReadonlyArray<Driven>

const open = ({ store, node, pace, version = 1, lockMillis, storeTimeoutMillis, cluster }: Opening) =>
  Effect.gen(function* () {
    const base =
      store._tag === "Sqlite" ? SqliteStore.layer({ filename: store.filename }) : PostgresStore.layer({ url: store.url, maxConnections: 4 })
    const lock = { ...fastLock, duration: lockMillis ?? 0, acquireTimeout: "5 seconds", retryInterval: "20 millis" } as const
    const sweeper = {
      interval: 200,
      claimDuration: 500,
      retry: RetryPolicy.fixed({ delay: 0, maxAttempts: 1_000_000 }),
    }
    const options = {
      nodeId: node,
      sweeper,
      ...(lockMillis === undefined ? {} : { lock }),
      ...(storeTimeoutMillis === undefined ? {} : { storeTimeout: storeTimeoutMillis }),
    }
    const layer =
      cluster === undefined || store._tag === "Sqlite"
        ? Engine.layer(options).pipe(Layer.provide(base))
        : Engine.layer(options).pipe(Layer.provide(yield* inCluster(cluster, store.url)))
    const context = yield* Layer.buildWithMemoMap(layer, Layer.makeMemoMapUnsafe(), scope)
    engine = Context.get(context, Engine)
    machines = machinesAt(pace, version)
    const patient = Schedule.spaced("100 millis")
    yield* Effect.forEach(machines, ({ machine }) => Effect.retry(engine.register(machine, { upcasters: upcastersTo(version) }), patient), {
      discard: true,
    })
  })

/** Loaded only where it is used: most workers are not nodes of a cluster. */
const inCluster = (options: ClusterOptions, url: string) =>
  Effect.map(
    Effect.promise(() => import("@detent/cluster")),
    ({ Cluster }) => Cluster.layer(options).pipe(Layer.provideMerge(PostgresStore.layer({ url, maxConnections: 6 }))),
  )

const answerOf = (exit: Exit.Exit<Extract<Answer, { _tag: "Taken" }>, { readonly _tag: string; readonly message: string }>): Answer => {
  if (Exit.isSuccess(exit)) return { _tag: "Taken", from: exit.value.from, state: exit.value.state }
  const failure = exit.cause.reasons.find(Cause.isFailReason)
  if (failure === undefined) return { _tag: "Defect", defect: Cause.pretty(exit.cause) }
  const { error } = failure
  return { _tag: "Refused", error: { _tag: error instanceof NewerVersion ? "NewerVersion" : error._tag, message: error.message } }
}

const receive = (message: ToWorker) => {
  switch (message._tag) {
    case "Open":
      return void run(open(message)).addObserver((exit) =>
        tell(Exit.isSuccess(exit) ? { _tag: "Opened" } : { _tag: "Failed", problem: Cause.pretty(exit.cause) }),
      )
    case "Send": {
      const { machine, id, token, event, dedupeId } = message
      const sending = Effect.flatMap(engine.ensure(driven(machine, machines).machine, id), (instance) =>
        Effect.map(instance.call(event, dedupeId === undefined ? {} : { id: dedupeId }), ({ from, state }) => ({
          _tag: "Taken" as const,
          from,
          state,
        })),
      )
      return void run(sending).addObserver((exit) => tell({ _tag: "Answered", token, answer: answerOf(exit) }))
    }
    case "Read": {
      const { machine, id } = message
      const reading = Effect.flatMap(engine.get(driven(machine, machines).machine, id), (found) =>
        found._tag === "None" ? Effect.undefined : found.value.snapshot,
      )
      return void run(reading).addObserver((exit) => {
        const snapshot = Exit.isSuccess(exit) ? exit.value : undefined
        tell({ _tag: "State", machine, id, sequence: snapshot?.sequence ?? -1, state: snapshot?.state })
      })
    }
    case "Jump":
      offset += message.millis
      return
    case "Block":
      return void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, message.millis)
    case "Stop":
      return void run(Scope.close(scope, Exit.void)).addObserver(() => {
        tell({ _tag: "Stopped" })
        process.disconnect()
      })
  }
}

process.on("message", receive)
// A test that dies takes its workers along.
process.on("disconnect", () => process.exit(0))
// A killed process does not write its cache of compiled modules, so this one does it before it may be killed.
flushCompileCache()
tell({ _tag: "Ready" })
