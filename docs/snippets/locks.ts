import { defaultLock, Engine, holdLease } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

// #region locks
/** One process at a time writes the report of this order. Stops where another process may have the lock. */
const report = Effect.gen(function* () {
  const lock = yield* (yield* Engine).lock({ machine: "order", id: "order-7" })
  yield* Effect.raceFirst(Console.log("the report of order-7"), lock.lost)
}).pipe(Effect.scoped)

/** Leads while it holds the lease, and waits for it while another process leads. */
const lead = Effect.gen(function* () {
  const lease = yield* holdLease("nightly", { ...defaultLock, acquireTimeout: "Infinity" })
  yield* Effect.raceFirst(Console.log("this process leads"), lease.lost)
}).pipe(Effect.scoped)
// #endregion locks

const layer = Engine.layer().pipe(Layer.provideMerge(SqliteStore.layer({ filename: ":memory:" })))
await Effect.runPromise(Effect.andThen(report, lead).pipe(Effect.provide(layer)))
