import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { Engine } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { E, Payment, S } from "../durable/Payment.ts"

const run = promisify(execFile)
const program = join(import.meta.dirname, "..", "durable", "Payment.ts")

const inFolder = <A>(use: (folder: string) => Promise<A>) => {
  const folder = mkdtempSync(join(tmpdir(), "detent-payment-"))
  return use(folder).finally(() => rmSync(folder, { recursive: true }))
}

describe("an order that waits for its payment", () => {
  it("resumes where an earlier process left it", () =>
    inFolder(async (folder) => {
      const outputs: Array<string> = []
      for (let times = 0; times < 3; times++) outputs.push((await run(process.execPath, [program, join(folder, "orders.db")])).stdout)
      expect(outputs).toEqual([
        expect.stringContaining("order-123 is Pending after 0 events"),
        expect.stringContaining("order-123 is AwaitingPayment after 1 events"),
        expect.stringContaining("order-123 is Paid after 2 events"),
      ])
    }))

  it("is cancelled by its original deadline, however often the process was restarted", () =>
    inFolder((folder) => {
      const engine = Layer.fresh(Engine.layer().pipe(Layer.provide(SqliteStore.layer({ filename: join(folder, "orders.db") }))))
      const inAnotherProcess = <A, X>(use: Effect.Effect<A, X, Engine>) => use.pipe(Effect.provide(engine))
      return Effect.runPromise(
        Effect.gen(function* () {
          yield* inAnotherProcess(
            Effect.gen(function* () {
              const order = yield* (yield* Engine).start(Payment, "order-1", { total: 1 })
              yield* order.send(E.RequestPayment())
            }),
          )
          yield* TestClock.adjust("20 minutes")
          yield* inAnotherProcess(Effect.flatMap(Engine, (engine) => engine.restore("order-1", Payment)))
          yield* TestClock.adjust("9 minutes")
          yield* inAnotherProcess(
            Effect.gen(function* () {
              const order = yield* (yield* Engine).ensure(Payment, "order-1", { total: 1 })
              expect((yield* order.state)._tag).toBe("AwaitingPayment")
              yield* TestClock.adjust("1 minute")
              expect(yield* order.awaitFinal).toEqual(S.Cancelled({ reason: "not paid in time" }))
            }),
          )
        }).pipe(Effect.provide(TestClock.layer())) as Effect.Effect<void>,
      )
    }))
})
