import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { releasing } from "../src/error/releasing.ts"

/** The messages that an effect logs. */
const logged = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.suspend(() => {
    const messages: Array<unknown> = []
    const logger = Logger.make(({ message }) => void messages.push(message))
    return Effect.map(Effect.provide(Effect.exit(effect), Layer.fresh(Logger.layer([logger]))), (exit) => ({ exit, messages }))
  })

describe("the end of a resource", () => {
  for (const [how, fail] of [
    ["throws", () => assert.fail("no space")],
    ["rejects", () => Promise.reject(new Error("no space"))],
  ] as const)
    it.effect(`that ${how} is logged, and the failure of the work stays a typed failure`, () =>
      Effect.gen(function* () {
        const using = Effect.acquireUseRelease(
          Effect.succeed(1),
          () => Effect.fail("wrong" as const),
          () => releasing("the file", fail),
        )
        assert.strictEqual(yield* Effect.catch(using, (error) => Effect.succeed(`handled: ${error}`)), "handled: wrong")
        const { messages } = yield* logged(using)
        assert.match(String(messages), /^the file could not be released: no space\n +at /)
      }),
    )
})
