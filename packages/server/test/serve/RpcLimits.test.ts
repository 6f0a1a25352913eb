import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { RpcLimits } from "../../src/serve/RpcLimits.ts"
import { defaultLimits } from "../../src/serve/ServeOptions.ts"

const limits = RpcLimits.layer({ ...defaultLimits, requests: 2, streams: 1, answerTimeout: "60 seconds" })

describe("procedures under way", () => {
  it.effect("are as many as there is room for, each kind by itself, and a request that ends in any way makes room", () =>
    Effect.gen(function* () {
      const procedures = yield* RpcLimits
      const started = (procedure: Effect.Effect<never, unknown>) => Effect.forkChild(procedure, { startImmediately: true })
      const stream = yield* started(procedures.streamed(Effect.never))
      const request = yield* started(procedures.answered(Effect.never))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(procedures.answered(Effect.fail("failed")))))
      assert.strictEqual(yield* procedures.answered(Effect.succeed("done")), "done")
      const second = yield* started(procedures.answered(Effect.never))
      const refused = yield* Effect.flip(procedures.answered(Effect.void))
      assert.deepStrictEqual([refused._tag, refused.status, refused.type], ["Unavailable", 503, "urn:detent:problem:Busy"])
      assert.strictEqual((yield* Effect.flip(procedures.streamed(Effect.void)))._tag, "Unavailable")
      for (const fiber of [stream, request, second]) yield* Fiber.interrupt(fiber)
      assert.strictEqual(yield* procedures.answered(Effect.succeed("again")), "again")
      assert.strictEqual(yield* procedures.streamed(Effect.succeed("again")), "again")
    }).pipe(Effect.provide(limits)),
  )

  it.effect("are answered in time or told to have taken too long; streams may continue", () =>
    Effect.gen(function* () {
      const procedures = yield* RpcLimits
      const slow = yield* Effect.forkChild(Effect.flip(procedures.answered(Effect.never)))
      const stream = yield* Effect.forkChild(procedures.streamed(Effect.as(Effect.sleep("1 hour"), "told")))
      // Each begins in a turn of the event loop of its own.
      for (let turn = 0; turn < 3; turn++) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      yield* TestClock.adjust("1 hour")
      const tooSlow = yield* Fiber.join(slow)
      assert.deepStrictEqual([tooSlow._tag, tooSlow.type], ["TimedOut", "urn:detent:problem:AnswerTimeout"])
      assert.strictEqual(yield* Fiber.join(stream), "told")
    }).pipe(Effect.provide(limits)),
  )

  it.live("begin in turns, so that a message with many of them keeps nothing else waiting", () =>
    Effect.gen(function* () {
      const procedures = yield* RpcLimits
      let turn = 0
      const turns: Array<number> = []
      const count = () => {
        turn++
        if (turns.length < 50) setImmediate(count)
      }
      setImmediate(count)
      const procedure = Effect.sync(() => turns.push(turn))
      yield* Effect.forEach(Array.from({ length: 50 }), () => procedures.answered(procedure), { concurrency: "unbounded", discard: true })
      assert.strictEqual(new Set(turns).size, 50)
    }).pipe(Effect.provide(RpcLimits.layer(defaultLimits))),
  )

  it.live("leave room when their caller goes before their turn", () =>
    Effect.gen(function* () {
      const procedures = yield* RpcLimits
      const both = yield* Effect.forEach([1, 2], () => Effect.forkChild(procedures.answered(Effect.never), { startImmediately: true }))
      for (const fiber of both) yield* Fiber.interrupt(fiber)
      assert.strictEqual(yield* procedures.answered(Effect.succeed("done")), "done")
    }).pipe(Effect.provide(limits)),
  )
})
