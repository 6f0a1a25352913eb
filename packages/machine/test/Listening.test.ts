/** Streams of callbacks: what a reader that does not read costs. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { listening } from "../src/actor/Listening.ts"

it.effect("15 a reader that does not read keeps the newest 16,384 values and misses the oldest", () =>
  Effect.gen(function* () {
    const stream = listening<number>((queue) => {
      for (let value = 0; value < 20_000; value++) Queue.offerUnsafe(queue, value)
      Queue.endUnsafe(queue)
      return () => undefined
    })
    const values = yield* Stream.runCollect(stream)
    assert.strictEqual(values.length, 16_384)
    assert.strictEqual(values[0], 20_000 - 16_384)
    assert.strictEqual(values.at(-1), 19_999)
  }),
)
