/** Commands of an engine that is about to close, and of one that closes while instances postpone the events of their results. */
import { Event, Machine, Slot, State } from "@detent/machine"
import { countsOf, eventually, freshName, type Topic } from "@detent/store/testing/CommandKit"
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { journaled, openEngine } from "./Requesting.ts"

const S = State({ Open: { paid: Schema.Int }, Locked: { paid: Schema.Int } })
const E = Event({ Pay: {}, Charged: {}, Unlock: {} })
const effects = Slot.Effects({ charge: {}, unlock: {} })

/** Charges when it is to be paid, and counts what was charged once it is unlocked. */
const account = (name: string) =>
  Machine.make({ name, state: S, event: E, effects, initial: S.Open({ paid: 0 }) })
    .postpone(S.Locked, E.Charged)
    .on(S.Locked, E.Unlock, S.Open)
    .on(S.Open, E.Charged, S.Open, ({ state }) => S.Open({ paid: state.paid + 1 }))
    .commands({ charge: { onSuccess: () => E.Charged() }, unlock: { onSuccess: () => E.Unlock() } })

/** Is locked when it is to be paid, so that it postpones the event of the charge. */
const chargedWhileLocked = (name: string) =>
  account(name)
    .on(S.Open, E.Pay, S.Locked, ({ state, effects }) => {
      effects.charge()
      return S.Locked(state)
    })
    .build({ charge: () => Effect.void, unlock: () => Effect.void })

export const closing: Topic = (it) => {
  it.effect("executeDue waits for the commands that are due and for those that follow from them", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const Account = account(name)
        .on(S.Open, E.Pay, S.Locked, ({ state, effects }) => {
          effects.unlock()
          return S.Locked(state)
        })
        .exit(S.Locked, ({ effects }) => effects.charge(), { requests: ["charge"] })
        .build({ charge: () => Effect.sleep(20), unlock: () => Effect.sleep(20) })
      const { engine } = yield* openEngine()
      const paying = yield* engine.start(Account, "a")
      yield* paying.send(E.Pay())
      yield* engine.executeDue
      assert.deepStrictEqual(yield* journaled(name, "a"), ["Pay", "Unlock", "Charged"])
      assert.deepStrictEqual(yield* countsOf(name), { completed: 2 })
    }),
  )

  it.effect("executeDue does not wait for an event that an instance has postponed", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const Account = chargedWhileLocked(name)
      const { engine } = yield* openEngine({ worker: { drainTimeout: "1 hour" } })
      const paying = yield* engine.start(Account, "a")
      yield* paying.send(E.Pay())
      yield* engine.executeDue
      assert.deepStrictEqual(yield* journaled(name, "a"), ["Pay"])
      yield* paying.send(E.Unlock())
    }),
  )

  it.effect("an engine that closes does not wait for a postponed event; the next engine executes the command and delivers it", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const Account = chargedWhileLocked(name)
      const first = yield* openEngine({ worker: { drainTimeout: "20 seconds" } })
      let postponed = 0
      first.engine.inspectUnsafe(({ _tag }) => {
        if (_tag === "Postponed") postponed++
      })
      const paying = yield* first.engine.start(Account, "a")
      yield* paying.send(E.Pay())
      yield* eventually(
        Effect.sync(() => postponed),
        (count) => count === 1,
      )
      const closed = yield* Effect.forkChild(first.close, { startImmediately: true })
      yield* eventually(
        Effect.sync(() => closed.pollUnsafe()),
        (exit) => exit !== undefined,
      )
      const second = yield* openEngine()
      const unlocking = yield* second.engine.ensure(Account, "a")
      yield* unlocking.send(E.Unlock())
      assert.deepStrictEqual(yield* unlocking.waitFor((state) => state.paid === 1), S.Open({ paid: 1 }))
      yield* eventually(countsOf(name), ({ completed }) => completed === 1)
      assert.deepStrictEqual(yield* journaled(name, "a"), ["Pay", "Unlock", "Charged"])
    }),
  )

  it.effect("an engine that closes waits for a postponed event while a command runs whose event may release it", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const gate = yield* Deferred.make<void>()
      let charged = 0
      const Account = account(name)
        .on(S.Open, E.Pay, S.Locked, ({ state, effects }) => {
          effects.charge()
          effects.unlock()
          return S.Locked(state)
        })
        .build({ charge: () => Effect.sync(() => charged++), unlock: () => Deferred.await(gate) })
      const { engine, close } = yield* openEngine({ worker: { drainTimeout: "20 seconds" } })
      let postponed = 0
      engine.inspectUnsafe(({ _tag }) => {
        if (_tag === "Postponed") postponed++
      })
      const paying = yield* engine.start(Account, "a")
      yield* paying.send(E.Pay())
      yield* eventually(
        Effect.sync(() => postponed),
        (count) => count === 1,
      )
      const closed = yield* Effect.forkChild(close, { startImmediately: true })
      yield* Effect.sleep(200)
      assert.isUndefined(closed.pollUnsafe())
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(closed)
      assert.deepStrictEqual(yield* journaled(name, "a"), ["Pay", "Unlock", "Charged"])
      assert.strictEqual(charged, 1)
      assert.deepStrictEqual(yield* countsOf(name), { completed: 2 })
    }),
  )
}
