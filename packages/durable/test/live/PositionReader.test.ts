import { PersistenceFailed } from "@detent/machine"
import { Environment } from "@detent/machine/internal"
import type { InstanceKey, InstanceStanding } from "@detent/store"
import { assert, it } from "@effect/vitest"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { makePositionReader } from "../../src/live/ChangeFollower.ts"

const key = (id: string): InstanceKey => ({ machine: "order", id })
const standing = (id: string): InstanceStanding => ({ sequence: id.length, status: "running" })

const reader = (answer: (ids: ReadonlyArray<string>) => Effect.Effect<void, PersistenceFailed>) =>
  Effect.map(Effect.context<never>(), (context) => {
    const questions: Array<ReadonlyArray<string>> = []
    const standings = (keys: ReadonlyArray<InstanceKey>) => {
      const ids = keys.map(({ id }) => id)
      questions.push(ids)
      return Effect.as(
        answer(ids),
        ids.map((id) => (id === "unknown" ? undefined : standing(id))),
      )
    }
    return { questions, positions: makePositionReader({ standings }, new Environment(context as Context.Context<unknown>)) }
  })

it.effect("positions that are asked for in one turn are read together, each instance once, and later ones in the next read", () =>
  Effect.gen(function* () {
    const answered = yield* Deferred.make<void>()
    const { positions, questions } = yield* reader(() => Deferred.await(answered))
    const ask = (id: string) => Effect.forkChild(positions.submit(key(id)), { startImmediately: true })
    const first = yield* Effect.forEach(["a", "bb", "a", "unknown"], ask)
    while (questions.length === 0) yield* Effect.yieldNow
    const late = yield* Effect.forEach(["a", "ccc"], ask)
    yield* Deferred.succeed(answered, undefined)
    assert.deepStrictEqual(yield* Fiber.joinAll(first), [standing("a"), standing("bb"), standing("a"), undefined])
    assert.deepStrictEqual(yield* Fiber.joinAll(late), [standing("a"), standing("ccc")])
    assert.deepStrictEqual(questions, [
      ["a", "bb", "unknown"],
      ["a", "ccc"],
    ])
  }),
)

it.effect("a read that fails fails its callers, and the next one is made", () =>
  Effect.gen(function* () {
    const failure = new PersistenceFailed({ machine: "order", operation: "standings", cause: new Error("no connection") })
    let isBroken = true
    const { positions } = yield* reader(() => (isBroken ? Effect.fail(failure) : Effect.void))
    assert.strictEqual(yield* Effect.flip(positions.submit(key("a"))), failure)
    isBroken = false
    assert.deepStrictEqual(yield* positions.submit(key("a")), standing("a"))
  }),
)
