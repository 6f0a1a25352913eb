/** Dead letters: what is kept and logged of them, and which events the instance takes when they are retried. */
import { CommandResult, Event, Machine, RetryPolicy, Slot, State } from "@detent/machine"
import { Commands } from "@detent/store"
import { alone, countsOf, eventually, freshName, stored, type Topic } from "@detent/store/testing/CommandKit"
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as DeadLetters from "../../src/DeadLetters.ts"
import { Engine } from "../../src/Engine.ts"
import { lineLimit } from "../../src/outbox/FailureLog.ts"
import { journaled, openEngine } from "./Requesting.ts"
import { jobs, onStore, startWorker } from "./Working.ts"

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

/** A purchase whose declared failure has no event. */
const unhandled = (name: string) => shop(name).commands({ charge: { retry: RetryPolicy.fixed({ delay: 5, maxAttempts: 2 }) } })

/** An error that no slot declares. */
const outage = new Error("pay.example.org is down")
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
          return ++runs <= 4 ? Effect.die(outage) : Effect.succeed("receipt-5")
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
      const { databaseId } = yield* Commands
      assert.deepStrictEqual([...keys], [`${databaseId}/${name}/o-1/1/0`], "the effect is still the same one")
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
                if (isDown) return yield* Effect.die(outage)
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
    ["at once", CommandResult.failForGood(outage)],
    ["after its last attempt", Effect.die(outage)],
    ["with a text that reads like a handled failure", Effect.die(new Error("handled: pay.example.org is down"))],
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

  it.effect("125 a dead letter keeps its error with its fields, and each of its attempts is logged by queue, slot and key", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const lines: Array<string> = []
      const logger = Logger.make<unknown, void>(({ message, logLevel }) => {
        lines.push(`${logLevel} ${String(message)}`)
      })
      const long = "x".repeat(5000)
      const Shop = unhandled(name).build({
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
        (count) => count === 2,
      )
      const command = `command ${name}/o-1/1/0 (charge of queue ${name})`
      assert.strictEqual(lines[0], `Warn ${command} failed in attempt 1 and is tried again in 5 ms: ${problem}`)
      assert.include(lines[1], `Error ${command} failed for good in attempt 2: ${problem}; call DeadLetters.retry`)
      assert.match(lines[1] ?? "", /\n +at .*retrying\.ts/)
      assert.notInclude(lines.join("\n"), "secret")
      const other = yield* engine.start(Shop, "long")
      yield* other.send(E.Pay())
      yield* eventually(countsOf(name), ({ failed }) => failed === 2)
      assert.isBelow((yield* stored(`${name}/long/1/0`)).problem?.length ?? 0, 2100)
    }),
  )

  it.effect("154 156 a declared failure that onFailure handles is not a dead letter, and keeps the errors of its executions", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const lines: Array<string> = []
      const logger = Logger.make<unknown, void>(({ message, logLevel }) => {
        lines.push(`${logLevel} ${String(message)}`)
      })
      let runs = 0
      const Shop = shop(name).build({ charge: () => Effect.fail(new Down({ host: `host ${++runs}`, token: "secret" })) })
      const { engine } = yield* openEngine().pipe(Effect.provide(Logger.layer([logger])))
      const order = yield* engine.start(Shop, "o-1")
      yield* order.send(E.Pay())
      yield* order.waitFor(({ _tag }) => _tag === "Refused")
      yield* eventually(countsOf(name), ({ handled }) => handled === 1)
      const key = `${name}/o-1/1/0`
      const { status, problem, errors } = yield* stored(key)
      assert.deepStrictEqual([status, problem], ["handled", `{"_tag":"Down","host":"host 2","token":"•••"}`])
      assert.deepStrictEqual(
        errors.map((error) => [error.attempt, error.problem]),
        [
          [1, `{"_tag":"Down","host":"host 1","token":"•••"}`],
          [2, `{"_tag":"Down","host":"host 2","token":"•••"}`],
        ],
      )
      assert.deepStrictEqual((yield* DeadLetters.list({ machine: name })).commands, [])
      assert.strictEqual(yield* DeadLetters.retryAll({ machine: name }), 0)
      assert.deepStrictEqual(lines, [
        `Warn command ${key} (charge of queue ${name}) failed in attempt 1 and is tried again in 5 ms: ${errors[0]?.problem}`,
      ])
      const backlog = yield* (yield* Commands).backlog
      assert.deepStrictEqual(
        backlog.filter(({ queue }) => queue === name),
        [],
      )
      assert.isFalse(yield* DeadLetters.retry(key))
    }),
  )

  it.effect("the causes of a thrown error are logged and kept, without the password of an address", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const lines: Array<string> = []
      const logger = Logger.make<unknown, void>(({ message, logLevel }) => {
        lines.push(`${logLevel} ${String(message)}`)
      })
      const Shop = unhandled(name).build({
        charge: () => {
          const cause = new Error("no answer of https://shop:sesame@pay.example.org")
          throw Object.assign(new Error("the charge failed", { cause }), { apiKey: "open sesame" })
        },
      })
      const { engine } = yield* openEngine().pipe(Effect.provide(Logger.layer([logger])))
      const order = yield* engine.start(Shop, "o-1")
      yield* order.send(E.Pay())
      yield* isDead(name)
      const problem = "the charge failed: no answer of https://shop:•••@pay.example.org"
      assert.strictEqual((yield* stored(`${name}/o-1/1/0`)).problem, problem)
      yield* eventually(
        Effect.sync(() => lines.length),
        (count) => count === 2,
      )
      for (const line of lines) assert.include(line, problem)
      assert.notInclude(lines.join("\n"), "sesame")
    }),
  )

  it.effect("many commands that fail at once fill the log of their queue with a few lines and the count of the rest", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const lines: Array<string> = []
      const logger = Logger.make<unknown, void>(({ message, logLevel }) => {
        lines.push(`${logLevel} ${String(message)}`)
      })
      const queue = jobs(name, { retry: RetryPolicy.none })
      const worker = yield* startWorker(queue, () => Effect.die(outage)).pipe(Effect.provide(Logger.layer([logger])))
      yield* queue.enqueueAll(Array.from({ length: 300 }, (_, index) => ({ payload: { name: `${index}` } })))
      yield* eventually(countsOf(name), ({ failed }) => failed === 300)
      yield* worker.stop
      const counts = lines.flatMap((line) => {
        const [, count] = /^Error (\d+) more commands of queue \S+ failed for good within a second/.exec(line) ?? []
        return count === undefined ? [] : [Number(count)]
      })
      const single = lines.filter((line) => line.startsWith("Error command "))
      assert.strictEqual(single.length + counts.reduce((sum, count) => sum + count, 0), 300)
      assert.strictEqual(single.length, counts.length * lineLimit, "a period has as many lines as its limit, and one with the count")
    }),
  )

  it.effect("156 the first error and the latest ones are kept", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      let runs = 0
      const Shop = shop(name)
        .commands({ charge: { retry: RetryPolicy.fixed({ delay: 1, maxAttempts: 8 }) } })
        .build({ charge: () => Effect.die(new Error(`failure ${++runs}`)) })
      const { engine } = yield* openEngine()
      const order = yield* engine.start(Shop, "o-1")
      yield* order.send(E.Pay())
      yield* isDead(name)
      const { errors } = yield* stored(`${name}/o-1/1/0`)
      assert.deepStrictEqual(
        errors.map(({ attempt, problem }) => [attempt, problem]),
        [1, 5, 6, 7, 8].map((attempt) => [attempt, `failure ${attempt}`]),
      )
    }),
  )

  it.effect("155 a dead letter whose instance has ended or would refuse its event is retried only with force", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      let isDown = true
      const S = State({ New: {}, Charging: {}, Elsewhere: {}, Paid: {}, Closed: {} })
      const E = Event({ Pay: {}, Charged: { receipt: Schema.String }, Leave: {}, Close: {} })
      const Till = Machine.make({ name, state: S, event: E, effects, initial: S.New() })
        .on(S.New, E.Pay, S.Charging, ({ effects }) => {
          effects.charge({})
          return S.Charging()
        })
        .on(S.Charging, E.Charged, S.Paid)
        .on(S.Charging, E.Leave, S.Elsewhere)
        .on(S.Charging, E.Close, S.Closed)
        .final(S.Paid, S.Closed)
        .commands({ charge: { retry: RetryPolicy.none, onSuccess: (receipt) => E.Charged({ receipt }) } })
        .build({ charge: () => (isDown ? Effect.die(outage) : Effect.succeed("receipt")) })
      const { engine } = yield* openEngine()
      const after = { ended: [E.Close()], elsewhere: [E.Leave()], waiting: [] }
      for (const [id, events] of Object.entries(after)) {
        const till = yield* engine.start(Till, id)
        for (const event of [E.Pay(), ...events]) yield* till.send(event)
      }
      yield* eventually(countsOf(name), ({ failed }) => failed === 3)
      isDown = false
      const services = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provideService(effect, Engine, engine)
      const plan = yield* services(DeadLetters.check({ machine: name }))
      assert.deepStrictEqual(
        plan.refused.map(({ command, reason }) => [command.instance?.id, reason]),
        [
          ["ended", `${name} ended has ended in Closed`],
          ["elsewhere", `${name} elsewhere is in Elsewhere, which has no transition for Charged`],
        ],
      )
      const refused = yield* Effect.flip(services(DeadLetters.retry(`${name}/ended/1/0`)))
      assert.include(refused.message, "has ended in Closed; force it, or skip it with a reason")
      assert.strictEqual(yield* services(DeadLetters.retryAll({ machine: name }, { dryRun: true })), 1)
      assert.strictEqual(yield* services(DeadLetters.retryAll({ machine: name }, { dryRun: true, force: true })), 3)
      assert.strictEqual(yield* services(DeadLetters.retryAll({ machine: name })), 1)
      yield* eventually(countsOf(name), ({ completed, failed }) => completed === 1 && failed === 2)
      assert.isTrue(yield* services(DeadLetters.retry(`${name}/ended/1/0`, { force: true })))
      const forced = yield* eventually(stored(`${name}/ended/1/0`), ({ status }) => status === "completed")
      assert.include(forced.problem, "its event Charged was refused")
    }),
  )

  it.effect("160 a purge removes finished commands with their instance: one of the same id requests them again; dead letters stay", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      let isDown = false
      const S = State({ New: {}, Charging: {}, Paid: {} })
      const E = Event({ Pay: {}, Charged: { receipt: Schema.String } })
      const Till = Machine.make({ name, state: S, event: E, effects, initial: S.New() })
        .on(S.New, E.Pay, S.Charging, ({ effects }) => {
          effects.charge({})
          return S.Charging()
        })
        .on(S.Charging, E.Charged, S.Paid)
        .final(S.Paid)
        .on(S.Charging, E.Pay, S.Paid)
        .commands({ charge: { retry: RetryPolicy.none, onSuccess: (receipt) => E.Charged({ receipt }) } })
        .build({ charge: () => (isDown ? Effect.die(outage) : Effect.succeed("receipt")) })
      const { engine } = yield* openEngine()
      const removed = Effect.suspend(() => engine.purge(Till, { endedBefore: "0 millis" }))
      for (const _life of [1, 2]) {
        const till = yield* engine.start(Till, "t-1")
        yield* till.send(E.Pay())
        yield* till.awaitFinal
        yield* eventually(countsOf(name), ({ completed }) => completed === 1)
        assert.strictEqual(yield* eventually(removed, (count) => count > 0), 1)
        assert.deepStrictEqual(yield* countsOf(name), {})
      }
      isDown = true
      const till = yield* engine.start(Till, "t-1")
      yield* till.send(E.Pay())
      yield* isDead(name)
      yield* till.send(E.Pay())
      assert.strictEqual(yield* removed, 0)
      assert.strictEqual((yield* stored(`${name}/t-1/1/0`)).status, "failed")
    }),
  )
}
