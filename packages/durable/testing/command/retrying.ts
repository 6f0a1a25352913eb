/** Dead letters: what is kept and logged of them, and which events the instance takes when they are retried. */
import { CommandResult, Event, Machine, RetryPolicy, Slot, State } from "@detent/machine"
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as DeadLetters from "../../src/command/DeadLetters.ts"
import { Commands } from "../../src/store/Commands.ts"
import { alone, countsOf, eventually, freshName, stored, type Topic } from "./CommandKit.ts"
import { journaled, openEngine } from "./Requesting.ts"
import { onStore } from "./Working.ts"

class Down extends Schema.TaggedError<Down>()("Down", { host: Schema.String, token: State.sensitive(Schema.String) }) {}

const S = State({ New: {}, Charging: {}, Refused: {}, Paid: { receipt: Schema.String } })
const E = Event({ Pay: {}, Charged: { receipt: Schema.String }, Declined: {}, Note: {} })
const effects = Slot.Effects({ charge: Slot.effect({}, { success: Schema.String, failure: Down }) })

/** A purchase that was refused can still be paid. */
const shop = (name: string) =>
  Machine.make({ name, state: S, event: E, effects, initial: S.New() })
    .on(S.New, E.Pay, S.Charging, ({ effects }) => {
      effects.charge({})
      return S.Charging()
    })
    .on([S.Charging, S.Refused], E.Charged, S.Paid)
    .on([S.Charging, S.Refused], E.Declined, S.Refused)
    .on([S.Charging, S.Refused, S.Paid], E.Note, S.Charging)
    .commands({
      charge: {
        retry: RetryPolicy.fixed({ delay: 5, maxAttempts: 2 }),
        onSuccess: (receipt) => E.Charged({ receipt }),
        onFailure: () => E.Declined(),
      },
    })

const down = new Down({ host: "pay.example.org", token: "secret" })

const isDead = (name: string) => eventually(countsOf(name), ({ failed }) => failed === 1)
const isDone = (name: string) => eventually(countsOf(name), ({ completed }) => completed === 1)

export const retrying: Topic = (it) => {
  it.effect("125 128 a dead letter that is retried delivers its success after its failure; each round delivers one event", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const keys = new Set<string>()
      let runs = 0
      const Shop = shop(name).build({
        charge: (_, { key }) => {
          keys.add(key)
          return ++runs <= 4 ? Effect.fail(down) : Effect.succeed("receipt-5")
        },
      })
      const { engine } = yield* openEngine()
      const order = yield* engine.start(Shop, "o-1")
      yield* order.send(E.Pay())
      yield* isDead(name)
      assert.deepStrictEqual(yield* journaled(name, "o-1"), ["Pay", "Declined"])
      assert.strictEqual(yield* DeadLetters.retryAll({ slot: "charge", machine: name }), 1)
      yield* eventually(stored(`${name}/o-1/1/0`), ({ round, status }) => round === 1 && status === "failed")
      assert.deepStrictEqual(yield* journaled(name, "o-1"), ["Pay", "Declined", "Declined"])
      assert.isTrue(yield* DeadLetters.retry(`${name}/o-1/1/0`))
      yield* isDone(name)
      assert.deepStrictEqual(yield* journaled(name, "o-1"), ["Pay", "Declined", "Declined", "Charged"])
      assert.deepStrictEqual(yield* order.state, S.Paid({ receipt: "receipt-5" }))
      const { round, attempts } = yield* stored(`${name}/o-1/1/0`)
      assert.deepStrictEqual([round, attempts, runs], [2, 1, 5])
      assert.deepStrictEqual([...keys], [`${name}/o-1/1/0`], "the effect is still the same one")
    }),
  )

  it.effect(
    "128 a retried dead letter that is executed twice delivers its events once, also those its handler sends",
    () =>
      Effect.gen(function* () {
        const name = yield* freshName
        const begun = yield* Deferred.make<void>()
        const go = yield* Deferred.make<void>()
        let isDown = true
        const build = (receipt: string, wait: Effect.Effect<unknown>) =>
          shop(name).build({
            charge: (_, { self }) =>
              Effect.gen(function* () {
                yield* Effect.orDie(self.send(E.Note()))
                if (isDown) return yield* down
                yield* wait
                return receipt
              }),
          })
        const slow = yield* openEngine({ worker: { claimDuration: "1 minute" } })
        const waits = Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(go))
        const order = yield* slow.engine.start(build("first", waits), "o-1")
        yield* order.send(E.Pay())
        yield* isDead(name)
        isDown = false
        assert.isTrue(yield* DeadLetters.retry(`${name}/o-1/1/0`))
        yield* Deferred.await(begun)
        // Its claim ends without its knowledge, and another node executes the command again.
        const commands = yield* Commands
        const { number, worker = "" } = yield* stored(`${name}/o-1/1/0`)
        assert.deepStrictEqual(yield* commands.renew(worker, [{ number, claim: 3 }], 1), [])
        const quick = yield* openEngine()
        yield* quick.engine.register(build("second", Effect.void))
        yield* isDone(name)
        yield* Deferred.succeed(go, undefined)
        yield* slow.close
        assert.deepStrictEqual(yield* journaled(name, "o-1"), ["Pay", "Note", "Declined", "Note", "Charged"])
      }),
    alone,
  )

  for (const [what, attempts] of [
    ["at once", CommandResult.failForGood(down)],
    ["after its last attempt", Effect.fail(down)],
  ] as const) {
    it.effect(`128 a command that failed ${what}, whose event was delivered before its process was killed, stays failed`, () =>
      Effect.gen(function* () {
        const name = yield* freshName
        const runs: Array<string> = []
        const build = (process: string, answer: Effect.Effect<string, Down>) =>
          shop(name).build({
            charge: () =>
              Effect.andThen(
                Effect.sync(() => runs.push(process)),
                answer,
              ),
          })
        // The verdicts on its commands are never stored, as when it is killed just before.
        const killed = yield* onStore(
          ({ exchange }) => ({
            exchange: (request) => exchange({ ...request, finished: request.finished.filter(({ verdict }) => verdict._tag === "Retry") }),
          }),
          openEngine({ worker: { claimDuration: "1 second" } }),
        )
        const order = yield* killed.engine.start(build("killed", attempts), "o-1")
        yield* order.send(E.Pay())
        yield* order.waitFor(({ _tag }) => _tag === "Refused")
        yield* killed.close
        const before = runs.length
        const { engine } = yield* openEngine()
        yield* engine.register(build("next", Effect.succeed("charged after all")))
        yield* isDead(name)
        assert.strictEqual(runs.length, before, "it was executed again")
        assert.deepStrictEqual(yield* journaled(name, "o-1"), ["Pay", "Declined"])
        assert.include((yield* stored(`${name}/o-1/1/0`)).problem, "pay.example.org")
        assert.strictEqual(yield* DeadLetters.retryAll({ slot: "charge", machine: name }), 1)
        yield* isDone(name)
        assert.deepStrictEqual(yield* journaled(name, "o-1"), ["Pay", "Declined", "Charged"])
      }),
    )
  }

  it.effect("128 a command that succeeded, whose event was delivered before its process was killed, is not executed again", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      let runs = 0
      const Shop = shop(name).build({ charge: () => Effect.sync(() => `receipt-${++runs}`) })
      const killed = yield* onStore(
        ({ exchange }) => ({ exchange: (request) => exchange({ ...request, finished: [] }) }),
        openEngine({ worker: { claimDuration: "1 second" } }),
      )
      const order = yield* killed.engine.start(Shop, "o-1")
      yield* order.send(E.Pay())
      yield* order.waitFor(({ _tag }) => _tag === "Paid")
      yield* killed.close
      const { engine } = yield* openEngine()
      yield* engine.register(Shop)
      yield* isDone(name)
      assert.strictEqual(runs, 1)
      assert.deepStrictEqual(yield* journaled(name, "o-1"), ["Pay", "Charged"])
    }),
  )

  it.effect("125 a dead letter keeps its error with its fields, and is logged once by queue, slot and key", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const lines: Array<string> = []
      const logger = Logger.make<unknown, void>(({ message, logLevel }) => {
        lines.push(`${logLevel} ${String(message)}`)
      })
      const long = "x".repeat(5000)
      const Shop = shop(name).build({
        charge: (_, { id }) => (id === "long" ? Effect.fail(new Down({ host: long, token: "secret" })) : Effect.fail(down)),
      })
      const { engine } = yield* openEngine().pipe(Effect.provide(Logger.layer([logger])))
      const order = yield* engine.start(Shop, "o-1")
      yield* order.send(E.Pay())
      yield* isDead(name)
      const { problem } = yield* stored(`${name}/o-1/1/0`)
      assert.strictEqual(problem, `{"_tag":"Down","host":"pay.example.org","token":"•••"}`)
      yield* eventually(
        Effect.sync(() => lines.length),
        (count) => count > 0,
      )
      assert.strictEqual(lines.length, 1)
      assert.include(lines[0], `Warn command ${name}/o-1/1/0 (charge of queue ${name}) failed for good`)
      const other = yield* engine.start(Shop, "long")
      yield* other.send(E.Pay())
      yield* eventually(countsOf(name), ({ failed }) => failed === 2)
      assert.isBelow((yield* stored(`${name}/long/1/0`)).problem?.length ?? 0, 2100)
    }),
  )
}
