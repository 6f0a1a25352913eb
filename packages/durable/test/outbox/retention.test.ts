/** A worker removes commands that ended long ago, as its options say. */
import { type CommandStatus, Commands } from "@detent/store"
import { claim, command, enqueue, finish } from "@detent/store/testing/CommandKit"
import { assert, it } from "@effect/vitest"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { Engine, MemoryStore, type WorkerOptions } from "../../src/index.ts"

/** The statuses of one finished and one failed command, the given time after their end. */
const statusesAfter = (retention: NonNullable<WorkerOptions["retention"]>, time: Duration.Input) =>
  Effect.gen(function* () {
    yield* enqueue(command("mail", "sent"), command("mail", "lost"))
    const [sent, lost] = yield* claim("mail")
    yield* finish({ _tag: "Completed" }, sent === undefined ? [] : [sent])
    yield* finish({ _tag: "Failed", problem: "no such address" }, lost === undefined ? [] : [lost])
    yield* TestClock.adjust(time)
    const { commands } = yield* (yield* Commands).list({}, 10)
    return commands.map(({ status }): CommandStatus => status)
  }).pipe(
    Effect.provide(Engine.layer({ worker: { retention } }).pipe(Layer.provideMerge(Layer.fresh(MemoryStore.layer))), { local: true }),
    Effect.scoped,
  )

it.effect("finished commands and dead letters are removed after their own times, and kept where none is given", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* statusesAfter({}, "10 minutes"), ["completed", "failed"])
    assert.deepStrictEqual(yield* statusesAfter({ finished: "5 minutes" }, "3 minutes"), ["completed", "failed"])
    assert.deepStrictEqual(yield* statusesAfter({ finished: "5 minutes" }, "8 minutes"), ["failed"])
    assert.deepStrictEqual(yield* statusesAfter({ finished: "9 minutes", deadLetters: "2 minutes" }, "5 minutes"), ["completed"])
    assert.deepStrictEqual(yield* statusesAfter({ finished: "2 minutes", deadLetters: "3 minutes" }, "6 minutes"), [])
  }),
)
