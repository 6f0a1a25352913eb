/** How requested effects are carried out in memory, and which events follow from their results. */
import { CommandResult, Event, Machine, RetryPolicy, Slot, State, spawn } from "@detent/machine"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"

const S = State({ Idle: {}, Asking: {}, Answered: { text: Schema.String } })
const E = Event({ Ask: { question: Schema.String }, Answer: { text: Schema.String }, GiveUp: { why: Schema.String } })
const effects = Slot.Effects({
  ask: Slot.effect({ question: Schema.String }, { success: Schema.String, failure: Schema.Literals(["busy", "unknown"]) }),
  note: { question: Schema.String },
})

const Oracle = Machine.make({ name: "oracle", state: S, event: E, effects, initial: S.Idle() })
  .on(S.Idle, E.Ask, S.Asking, ({ event, effects }) => {
    effects.ask({ question: event.question })
    effects.note({ question: event.question })
    return S.Asking()
  })
  .on(S.Asking, E.Answer, S.Answered)
  .on(S.Asking, E.GiveUp, S.Answered, ({ event }) => S.Answered({ text: event.why }))
  .commands({
    ask: {
      onSuccess: (answer, { parameters }) => E.Answer({ text: `${parameters.question} ${answer}` }),
      onFailure: (error) => E.GiveUp({ why: typeof error === "string" ? error : error.problem }),
      retryable: (error) => error === "busy",
      retry: RetryPolicy.exponential({ initialDelay: "1 second", maxAttempts: 3 }),
      timeout: "1 minute",
    },
  })

type Ask = (question: string, key: string) => Effect.Effect<string, "busy" | "unknown">

const asked = (question: string, ask: Ask) =>
  Effect.gen(function* () {
    const actor = yield* spawn(
      Oracle.build({ ask: (given, { key }) => ask(given.question, key), note: () => CommandResult.alreadyExecuted() }),
    )
    yield* actor.send(E.Ask({ question }))
    return actor
  })

describe("requested effects in memory", () => {
  it.effect("what follows from success is an event of the machine", () =>
    Effect.gen(function* () {
      const actor = yield* asked("why?", () => Effect.succeed("because"))
      assert.deepStrictEqual(yield* actor.waitFor(({ _tag }) => _tag === "Answered"), S.Answered({ text: "why? because" }))
    }),
  )

  it.effect("124 a retryable failure is retried after the policy's delays, then becomes an event", () =>
    Effect.gen(function* () {
      const keys: Array<string> = []
      const actor = yield* asked("why?", (_, key) => {
        keys.push(key)
        return Effect.fail("busy")
      })
      yield* TestClock.adjust("999 millis")
      assert.strictEqual(keys.length, 1)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(keys.length, 2)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(keys.length, 3)
      assert.deepStrictEqual(yield* actor.waitFor(({ _tag }) => _tag === "Answered"), S.Answered({ text: "busy" }))
      assert.strictEqual(new Set(keys).size, 1, "the key is the same each time")
    }),
  )

  it.effect("a permanent failure, a defect at the last attempt, and a time-out become events too", () =>
    Effect.gen(function* () {
      const told = (ask: Ask) =>
        Effect.gen(function* () {
          const actor = yield* asked("why?", ask)
          yield* TestClock.adjust("5 minutes")
          const state = yield* actor.waitFor(({ _tag }) => _tag === "Answered")
          yield* actor.stop()
          return state._tag === "Answered" ? state.text : ""
        })
      assert.strictEqual(yield* told(() => Effect.fail("unknown")), "unknown")
      assert.strictEqual(yield* told(() => Effect.die(new Error("no oil"))), "no oil")
      assert.match(yield* told(() => Effect.never), /longer than its time-out/)
      assert.strictEqual(yield* told(() => CommandResult.failForGood("unknown")), "unknown")
      assert.match(yield* told(() => Effect.succeed(7 as unknown as string)), /does not fit its success schema/)
    }),
  )

  it.effect("a handler may choose the delay before the next attempt", () =>
    Effect.gen(function* () {
      let runs = 0
      yield* asked("why?", () => {
        runs++
        return CommandResult.retryAfter("1 hour", "closed")
      })
      yield* TestClock.adjust("59 minutes")
      assert.strictEqual(runs, 1)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(runs, 2)
    }),
  )

  it.effect("145 a delay that cannot be waited for is a defect of the handler, which the policy retries", () =>
    Effect.gen(function* () {
      for (const [delay, problem] of [
        [Number.POSITIVE_INFINITY, "retryAfter would wait forever; use failForGood"],
        [Number.NaN, "a duration of NaN; give a number of milliseconds"],
      ] as const) {
        let runs = 0
        const actor = yield* asked("why?", () => {
          runs++
          return CommandResult.retryAfter(delay)
        })
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(yield* actor.waitFor(({ _tag }) => _tag === "Answered"), S.Answered({ text: problem }))
        assert.strictEqual(runs, 3)
      }
    }),
  )

  it("145 a time-out that cannot be waited for is refused", () => {
    assert.throws(() => Oracle.commands({ ask: { timeout: Number.NaN } }), /the time-out of ask has a duration of NaN/)
    assert.throws(() => Oracle.commands({ ask: { timeout: -1 } }), /the time-out of ask has a duration of -1 ms; give 0 or more/)
  })

  it("settings of slots that do not exist are refused, by the compiler too", () => {
    // @ts-expect-error there is no slot of this name
    assert.throws(() => Oracle.commands({ tell: {} }), /commands names tell, for which there is no effect slot/)
    // @ts-expect-error a number is not an event
    Oracle.commands({ ask: { onSuccess: () => 7 } })
    Oracle.commands({ ask: { onSuccess: (answer) => (answer === "" ? undefined : E.Answer({ text: answer })) } })
  })
})
