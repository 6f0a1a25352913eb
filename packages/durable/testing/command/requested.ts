/** Commands that instances request: executed by their engine after the commit, with results that come back as events. */
import { CommandResult, type Inspection, RetryPolicy } from "@detent/machine"
import { Commands } from "@detent/store"
import { alone, claim, countsOf, eventually, freshName, stored, type Topic, withOwnMetrics } from "@detent/store/testing/CommandKit"
import { assert } from "@effect/vitest"
import * as DateTime from "effect/DateTime"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import { commandEventsRefused } from "../../src/outbox/CommandMetrics.ts"
import { Declined, E, journaled, openEngine, purchase, S } from "./Requesting.ts"

const ended = (queue: string, counts: { readonly [status: string]: number }) =>
  eventually(countsOf(queue), (found) => JSON.stringify(Object.entries(found).sort()) === JSON.stringify(Object.entries(counts).sort()))

export const requested: Topic = (it) => {
  it.effect("112 both effects of one transition are executed after it, each with the key of its command and decoded parameters", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const seen: Array<readonly [slot: string, key: string, parameters: object, state: string]> = []
      const Purchase = purchase(name).build({
        charge: (parameters, { key, state, id }) =>
          Effect.sync(() => {
            seen.push(["charge", key, { ...parameters, at: DateTime.isDateTime(parameters.at) }, `${id} ${state._tag}`])
            return "receipt-1"
          }),
        mail: (parameters) => Effect.sync(() => seen.push(["mail", "", parameters, ""])),
      })
      const { engine } = yield* openEngine()
      const order = yield* engine.start(Purchase, "o-1", { total: 42 })
      yield* order.send(E.Pay())
      assert.deepStrictEqual(yield* order.waitFor(({ _tag }) => _tag === "Paid"), S.Paid({ total: 42, receipt: "receipt-1" }))
      yield* ended(name, { completed: 2 })
      assert.deepStrictEqual(seen.toSorted(), [
        ["charge", `${(yield* Commands).databaseId}/${name}/o-1/1/0`, { total: 42, at: true }, "o-1 Charging"],
        ["mail", "", { text: "we charge you" }, ""],
      ])
      assert.deepStrictEqual(yield* journaled(name, "o-1"), ["Pay", "Charged"])
    }),
  )

  it.effect("115 a declared failure is tried again, then becomes an event; one that is not retryable at once; a defect becomes text", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const runs: Array<string> = []
      const Purchase = purchase(name).build({
        charge: (_, { id }) => {
          runs.push(id)
          if (id === "defect") return Effect.die(new Error("out of paper"))
          if (id === "in time" && runs.filter((run) => run === id).length === 2) return Effect.succeed("late receipt")
          return Effect.fail(new Declined({ reason: id === "hopeless" ? "no funds" : "line busy" }))
        },
        mail: () => CommandResult.alreadyExecuted(),
      })
      const { engine } = yield* openEngine()
      const outcome = (id: string) =>
        Effect.gen(function* () {
          const order = yield* engine.start(Purchase, id, { total: 1 })
          yield* order.send(E.Pay())
          const state = yield* order.waitFor(({ _tag }) => _tag === "Paid" || _tag === "Refused")
          return state._tag === "Refused" ? state.reason : state._tag
        })
      assert.deepStrictEqual(yield* Effect.forEach(["hopeless", "busy", "defect", "in time"], outcome), [
        "no funds",
        "line busy",
        "out of paper",
        "Paid",
      ])
      const times = (id: string) => runs.filter((run) => run === id).length
      assert.deepStrictEqual([times("hopeless"), times("busy"), times("defect"), times("in time")], [1, 3, 3, 2])
      yield* ended(name, { completed: 1, failed: 1, handled: 2, skipped: 4 })
      assert.strictEqual((yield* stored(`${name}/busy/1/0`)).problem, `{"_tag":"Declined","reason":"line busy"}`)
    }),
  )

  it.effect(
    "128 the instance takes a result once, however often its command is executed",
    () =>
      Effect.gen(function* () {
        const name = yield* freshName
        let runs = 0
        const begun = yield* Deferred.make<void>()
        const go = yield* Deferred.make<void>()
        const build = (first: boolean) =>
          purchase(name).build({
            charge: (_, { self }) =>
              Effect.gen(function* () {
                runs++
                yield* Effect.orDie(self.send(E.Note({ text: "charging" })))
                if (!first) return "second receipt"
                yield* Deferred.succeed(begun, undefined)
                yield* Deferred.await(go)
                return "first receipt"
              }),
            mail: () => Effect.void,
          })
        const slow = yield* openEngine({ worker: { claimDuration: "1 minute", pollInterval: "1 minute" } })
        const order = yield* slow.engine.start(build(true), "o-1", { total: 1 })
        yield* order.send(E.Pay())
        yield* Deferred.await(begun)
        // It has nothing to report any more, and does not claim the command again by that.
        yield* ended(name, { completed: 1, processing: 1 })
        // Its claim ends without its knowledge, and another node executes the command again.
        const commands = yield* Commands
        const [charge] = (yield* commands.ofInstance({ machine: name, id: "o-1" })).filter(({ slot }) => slot === "charge")
        const worker = charge?.worker ?? ""
        assert.deepStrictEqual(yield* commands.renew(worker, [{ number: charge?.number ?? 0, claim: 1 }], 1), [])
        // A worker on a store of its own process asks once, and must not ask before the claim has ended.
        yield* Effect.sleep(5)
        const quick = yield* openEngine()
        yield* quick.engine.register(build(false))
        yield* ended(name, { completed: 2 })
        yield* Deferred.succeed(go, undefined)
        yield* slow.close
        assert.strictEqual(runs, 2)
        assert.deepStrictEqual(yield* journaled(name, "o-1"), ["Pay", "Note", "Charged"])
        const again = yield* quick.engine.start(build(false), "o-2", { total: 1 })
        yield* again.send(E.Pay())
        assert.strictEqual((yield* again.waitFor(({ _tag }) => _tag === "Paid"))._tag, "Paid")
        const { receipt } = (yield* Effect.flatMap(
          quick.engine.ensure(build(false), "o-1", { total: 1 }),
          ({ state }) => state,
        )) as typeof S.Paid.Type
        assert.strictEqual(receipt, "second receipt")
      }),
    alone,
  )

  it.effect("128 an event that the machine no longer takes is counted, and the command is over all the same", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const before = (yield* Metric.value(commandEventsRefused)).count
      const go = yield* Deferred.make<void>()
      const Purchase = purchase(name).build({ charge: () => Effect.as(Deferred.await(go), "late"), mail: () => Effect.void })
      const { engine } = yield* openEngine()
      const order = yield* engine.start(Purchase, "o-1", { total: 1 })
      yield* order.send(E.Pay())
      yield* order.send(E.Failed({ reason: "given up" }))
      yield* Deferred.succeed(go, undefined)
      yield* ended(name, { completed: 2 })
      assert.deepStrictEqual(yield* journaled(name, "o-1"), ["Pay", "Failed"])
      assert.strictEqual((yield* Metric.value(commandEventsRefused)).count, before + 1)
    }).pipe(withOwnMetrics),
  )

  it.effect("a command is executed by the next process that starts, with the state it was requested in", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const states: Array<string> = []
      const Purchase = purchase(name).build({
        charge: (_, { state }) =>
          Effect.as(
            Effect.sync(() => states.push(state._tag)),
            "r",
          ),
        mail: (_, { state }) => Effect.sync(() => states.push(state._tag)),
      })
      const first = yield* openEngine({ worker: false })
      const order = yield* first.engine.start(Purchase, "o-1", { total: 1 })
      yield* order.send(E.Pay())
      yield* order.send(E.Charged({ receipt: "by hand" }))
      yield* order.send(E.Ship())
      yield* first.close
      assert.deepStrictEqual(states, [])
      assert.deepStrictEqual(yield* countsOf(name), { pending: 3 })
      const second = yield* openEngine()
      yield* second.engine.register(Purchase)
      yield* ended(name, { completed: 3 })
      assert.deepStrictEqual(states.toSorted(), ["Charging", "Charging", "Shipped"])
      assert.deepStrictEqual(yield* journaled(name, "o-1"), ["Pay", "Charged", "Ship"], "it had ended")
    }),
  )

  it.effect("a fork does not execute the commands of the part it copies again", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const runs: Array<string> = []
      const Purchase = purchase(name).build({
        charge: (_, { id, key }) =>
          Effect.as(
            Effect.sync(() => runs.push(`charge ${id} ${key}`)),
            "r",
          ),
        mail: ({ text }, { id }) => Effect.sync(() => runs.push(`${text} ${id}`)),
      })
      const { engine } = yield* openEngine()
      const order = yield* engine.start(Purchase, "o-1", { total: 1 })
      yield* order.send(E.Pay())
      yield* order.waitFor(({ _tag }) => _tag === "Paid")
      yield* ended(name, { completed: 2 })
      const before = runs.length
      const copy = yield* engine.fork(Purchase, "o-1", 2, "o-2")
      yield* Effect.sleep(150)
      assert.strictEqual(runs.length, before)
      yield* copy.send(E.Ship())
      yield* ended(name, { completed: 3 })
      assert.deepStrictEqual(runs.slice(before), ["it is on its way o-2"])
    }),
  )

  it.effect("122 an engine that stops lets its commands finish, and its instances take the events that follow", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const begun = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      const Purchase = purchase(name).build({
        charge: () => Effect.andThen(Deferred.succeed(begun, undefined), Effect.as(Deferred.await(go), "r")),
        mail: () => Effect.void,
      })
      const { engine, close } = yield* openEngine()
      const order = yield* engine.start(Purchase, "o-1", { total: 1 })
      yield* order.send(E.Pay())
      yield* Deferred.await(begun)
      const closing = yield* Effect.forkChild(close)
      yield* Effect.sleep(30)
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(closing)
      assert.deepStrictEqual(yield* journaled(name, "o-1"), ["Pay", "Charged"])
      assert.deepStrictEqual(yield* countsOf(name), { completed: 2 })
    }),
  )

  it.effect("a result that is too large to store makes a dead letter with its size, after one execution and without an event", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      let runs = 0
      let size = 5000
      const Purchase = purchase(name).build({
        charge: () =>
          Effect.sync(() => {
            runs++
            return "r".repeat(size)
          }),
        mail: () => Effect.void,
      })
      const { engine } = yield* openEngine({ limits: { eventSize: 2000 } })
      const order = yield* engine.start(Purchase, "o-1", { total: 1 })
      yield* order.send(E.Pay())
      yield* ended(name, { completed: 1, failed: 1 })
      const key = `${name}/o-1/1/0`
      const { problem = "", attempts } = yield* stored(key)
      assert.match(problem, /^it was executed, and its event Charged with the result cannot be stored: it takes 50\d\d characters as JSON/)
      assert.include(problem, "the limit is 2000")
      assert.include(problem, "raise limits.eventSize; then retry the command")
      assert.deepStrictEqual([attempts, runs], [1, 1])
      assert.deepStrictEqual(yield* journaled(name, "o-1"), ["Pay"])
      // The handler returns a reference now.
      size = 10
      assert.strictEqual(yield* Effect.flatMap(Commands, (commands) => commands.retry({ key })), 1)
      yield* ended(name, { completed: 2 })
      assert.deepStrictEqual(yield* order.state, S.Paid({ total: 1, receipt: "rrrrrrrrrr" }))
    }),
  )

  it.effect("a result for an instance that has no room for more events is not lost", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const entered = yield* Deferred.make<void>()
      const leave = yield* Deferred.make<void>()
      const charged = yield* Deferred.make<void>()
      const Purchase = purchase(name)
        .commands({
          charge: { retry: RetryPolicy.fixed({ delay: 10, maxAttempts: 1000 }), onSuccess: (receipt) => E.Charged({ receipt }) },
        })
        .enter(S.Charging, () => Effect.andThen(Deferred.succeed(entered, undefined), Deferred.await(leave)))
        .build({ charge: () => Effect.as(Deferred.succeed(charged, undefined), "r"), mail: () => Effect.void })
      const { engine } = yield* openEngine({ limits: { mailbox: 1 } })
      const order = yield* engine.start(Purchase, "o-1", { total: 1 })
      const paying = yield* Effect.forkChild(order.send(E.Pay()))
      yield* Deferred.await(entered)
      // The mailbox is full before the result arrives, and after that for a while.
      const noted = yield* Effect.forkChild(Effect.exit(order.send(E.Ship())), { startImmediately: true })
      yield* Deferred.await(charged)
      yield* Effect.sleep(30)
      yield* Deferred.succeed(leave, undefined)
      yield* Fiber.join(paying)
      yield* Fiber.join(noted)
      yield* ended(name, { completed: 2 })
      assert.deepStrictEqual(yield* order.state, S.Paid({ total: 1, receipt: "r" }))
    }),
  )

  it.effect("120 parameters that cannot be read fail the command at once, and the instance gets the event", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const commands = yield* Commands
      const Purchase = purchase(name).build({ charge: () => Effect.succeed("r"), mail: () => Effect.void })
      const { engine } = yield* openEngine()
      const order = yield* engine.start(Purchase, "o-1", { total: 1 })
      const fields = { queue: name, slot: "charge", priority: 0, ordered: false, runAt: undefined, delayMillis: 0 }
      yield* commands.enqueue([{ ...fields, key: `${name}-bad`, parameters: `{"total":"many"}`, instance: { machine: name, id: "o-1" } }])
      yield* ended(name, { failed: 1 })
      const { problem = "", attempts } = yield* stored(`${name}-bad`)
      const [failure, refusal] = problem.split("; its event Failed was refused: ")
      assert.deepStrictEqual([failure, attempts], ["its parameters do not fit the schema of its slot", 1])
      assert.include(refusal, "state New has no transition for event Failed")
      assert.strictEqual((yield* order.state)._tag, "New")
    }),
  )

  it.effect("a command that is not known here is left to other workers, and does not count", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const commands = yield* Commands
      const Purchase = purchase(name).build({ charge: () => Effect.succeed("r"), mail: () => Effect.void })
      const { engine } = yield* openEngine()
      yield* engine.start(Purchase, "o-1", { total: 1 })
      const fields = { queue: name, priority: 0, ordered: false, runAt: undefined, delayMillis: 0, parameters: "{}" }
      yield* commands.enqueue([{ ...fields, slot: "inNextVersion", key: `${name}-new`, instance: { machine: name, id: "o-1" } }])
      const left = yield* eventually(stored(`${name}-new`), ({ status, runAt, enqueuedAt }) => status === "pending" && runAt > enqueuedAt)
      assert.strictEqual(left.attempts, 0)
      assert.isAtLeast(left.runAt - left.enqueuedAt, 4_000)
    }),
  )

  it.effect("126 127 a slot may have a queue, a priority and an order of its own", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const Purchase = purchase(name)
        .commands({ charge: { queue: `${name}-cards`, priority: 7, ordered: true, retry: RetryPolicy.none } })
        .build({ charge: () => Effect.succeed("r"), mail: () => Effect.void })
      const { engine } = yield* openEngine({ worker: false })
      const order = yield* engine.start(Purchase, "o-1", { total: 1 })
      yield* order.send(E.Pay())
      const [charge] = yield* claim(`${name}-cards`)
      assert.deepStrictEqual([charge?.slot, charge?.priority], ["charge", 7])
      assert.isTrue((yield* stored(`${name}/o-1/1/0`)).ordered)
      assert.deepStrictEqual(
        (yield* claim(name)).map(({ slot }) => slot),
        ["mail"],
      )
    }),
  )

  it.effect("inspectors see when commands start and end", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const seen: Array<Inspection["_tag"]> = []
      const Purchase = purchase(name).build({ charge: () => Effect.succeed("r"), mail: () => Effect.void })
      const { engine } = yield* openEngine()
      engine.inspectUnsafe(({ _tag, machine }) => {
        if (machine === name && _tag.startsWith("Command")) seen.push(_tag)
      })
      const order = yield* engine.start(Purchase, "o-1", { total: 1 })
      yield* order.send(E.Pay())
      yield* ended(name, { completed: 2 })
      assert.deepStrictEqual(seen.toSorted(), ["CommandEnded", "CommandEnded", "CommandStarted", "CommandStarted"])
    }),
  )
}
