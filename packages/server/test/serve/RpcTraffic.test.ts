import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { RpcTraffic } from "../../src/serve/RpcTraffic.ts"
import { defaultLimits } from "../../src/serve/ServeOptions.ts"

const limits = RpcTraffic.layer({ ...defaultLimits, requests: 2, streams: 1, answerTimeout: "60 seconds" })

describe("procedures under way", () => {
  it.effect("are as many as there is room for, each kind by itself, and whoever ends in any way makes room", () =>
    Effect.gen(function* () {
      const traffic = yield* RpcTraffic
      const started = (procedure: Effect.Effect<never, unknown>) => Effect.forkChild(procedure, { startImmediately: true })
      const stream = yield* started(traffic.streamed(Effect.never))
      const request = yield* started(traffic.answered(Effect.never))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(traffic.answered(Effect.fail("failed")))))
      assert.strictEqual(yield* traffic.answered(Effect.succeed("done")), "done")
      const second = yield* started(traffic.answered(Effect.never))
      const refused = yield* Effect.flip(traffic.answered(Effect.void))
      assert.deepStrictEqual([refused._tag, refused.status, refused.type], ["Unavailable", 503, "urn:detent:problem:Busy"])
      assert.strictEqual((yield* Effect.flip(traffic.streamed(Effect.void)))._tag, "Unavailable")
      for (const fiber of [stream, request, second]) yield* Fiber.interrupt(fiber)
      assert.strictEqual(yield* traffic.answered(Effect.succeed("again")), "again")
      assert.strictEqual(yield* traffic.streamed(Effect.succeed("again")), "again")
    }).pipe(Effect.provide(limits)),
  )

  it.effect("are answered in time or told to have taken too long; streams may go on", () =>
    Effect.gen(function* () {
      const traffic = yield* RpcTraffic
      const slow = yield* Effect.forkChild(Effect.flip(traffic.answered(Effect.never)))
      const stream = yield* Effect.forkChild(traffic.streamed(Effect.as(Effect.sleep("1 hour"), "told")))
      yield* TestClock.adjust("1 hour")
      const tooSlow = yield* Fiber.join(slow)
      assert.deepStrictEqual([tooSlow._tag, tooSlow.type], ["TimedOut", "urn:detent:problem:AnswerTimeout"])
      assert.strictEqual(yield* Fiber.join(stream), "told")
    }).pipe(Effect.provide(limits)),
  )
})
