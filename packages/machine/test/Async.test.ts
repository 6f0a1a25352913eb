/** Handlers and work that are async functions. */
import { ActorSystem, Event, Machine, RetryPolicy, Slot, State, spawn } from "@detent/machine"
import { createTestHarness } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

class Declined extends Schema.TaggedError<Declined>()("Declined", { code: Schema.String }) {}

const S = State({ Open: {}, Charging: {}, Paid: { receipt: Schema.String }, Failed: { problem: Schema.String } })
const E = Event({ Pay: {}, Charged: { receipt: Schema.String }, Declined: { problem: Schema.String }, Leave: {} })
const effects = Slot.Effects({ charge: Slot.effect({ amount: Schema.Finite }, { success: Schema.String, failure: Declined }) })

const Order = Machine.make({ name: "order", state: S, event: E, effects, initial: S.Open() })
  .on(S.Open, E.Pay, S.Charging, ({ effects }) => {
    effects.charge({ amount: 42 })
    return S.Charging()
  })
  .on(S.Charging, E.Charged, S.Paid)
  .on(S.Charging, E.Declined, S.Failed)
  .on(S.Charging, E.Leave, S.Open)
  .commands({
    charge: {
      onSuccess: (receipt) => E.Charged({ receipt }),
      onFailure: (error) => E.Declined({ problem: error._tag === "Declined" ? `declined: ${error.code}` : error.problem }),
    },
  })
  .final(S.Paid, S.Failed)

/** A promise that ends when the test says so. */
const gate = () => {
  let open!: (value: string) => void
  const promise = new Promise<string>((resolve) => {
    open = resolve
  })
  return { promise, open }
}

describe("an async handler of a requested effect", () => {
  it.live("succeeds with what its Promise resolves to", () =>
    Effect.gen(function* () {
      const actor = yield* spawn(Order.build({ charge: async ({ amount }, { id, key }) => `${id} ${amount} ${key}` }))
      yield* actor.send(E.Pay())
      const final = yield* actor.awaitFinal
      expect(final).toMatchObject({ _tag: "Paid", receipt: expect.stringContaining("order 42 order/") })
    }).pipe(Effect.scoped),
  )

  it.live("fails with a declared error where its Promise is rejected with one, otherwise with the problem", () =>
    Effect.gen(function* () {
      const ended = (reason: unknown) =>
        Effect.gen(function* () {
          const actor = yield* spawn(Order.build({ charge: () => Promise.reject(reason) }))
          yield* actor.send(E.Pay())
          return yield* actor.awaitFinal
        })
      expect(yield* ended(new Declined({ code: "no money" }))).toMatchObject({ problem: "declined: no money" })
      expect(yield* ended(new Error("no network"))).toMatchObject({ problem: "no network" })
      expect(yield* ended("plain text")).toMatchObject({ problem: "plain text" })
    }).pipe(Effect.scoped),
  )

  it.live("is tried again as its policy says, and aborted when it takes too long", () =>
    Effect.gen(function* () {
      const signals: Array<AbortSignal> = []
      const machine = Order.commands({
        charge: {
          retry: RetryPolicy.fixed({ delay: 1, maxAttempts: 2 }),
          timeout: "20 millis",
          onFailure: () => E.Declined({ problem: "given up" }),
        },
      }).build({
        charge: (_, { signal }) => {
          signals.push(signal)
          return new Promise<string>(() => undefined)
        },
      })
      const actor = yield* spawn(machine)
      yield* actor.send(E.Pay())
      expect(yield* actor.awaitFinal).toMatchObject({ problem: "given up" })
      expect(signals.map((signal) => signal.aborted)).toEqual([true, true])
    }).pipe(Effect.scoped),
  )

  it.live("says what to do where it returns an Effect inside its Promise", () =>
    Effect.gen(function* () {
      const actor = yield* spawn(Order.build({ charge: (async () => Effect.succeed("receipt")) as never }))
      yield* actor.send(E.Pay())
      expect(yield* actor.awaitFinal).toMatchObject({
        problem: expect.stringMatching(/the handler of charge is async and returned an Effect; await run\(effect\)/),
      })
    }).pipe(Effect.scoped),
  )

  it.live("runs in a test harness, as built or as a stand-in", () =>
    Effect.gen(function* () {
      const built = yield* createTestHarness(Order.build({ charge: async () => "built" }), undefined)
      yield* built.send(E.Pay())
      expect(built.state).toEqual(S.Paid({ receipt: "built" }))
      expect(built.requests).toEqual([{ slot: "charge", parameters: { amount: 42 } }])
      const stub = yield* createTestHarness(Order, undefined, { effects: { charge: async () => "stub" } })
      yield* stub.send(E.Pay())
      expect(stub.state).toEqual(S.Paid({ receipt: "stub" }))
    }).pipe(Effect.scoped),
  )

  it.effect("that returns an Effect is given a signal only where it reads one", () =>
    Effect.gen(function* () {
      let signal: AbortSignal | undefined
      const machine = Order.commands({ charge: { timeout: "1 second", onFailure: () => E.Declined({ problem: "late" }) } }).build({
        charge: (_, context) => {
          signal = context.signal
          return Effect.never
        },
      })
      const harness = yield* createTestHarness(machine, undefined)
      yield* harness.send(E.Pay())
      expect(signal?.aborted).toBe(false)
      yield* harness.advance("1 second")
      expect(harness.state).toEqual(S.Failed({ problem: "late" }))
      expect(signal?.aborted).toBe(true)
    }).pipe(Effect.scoped),
  )
})

describe("async work of a state", () => {
  const Plain = Machine.make({ name: "plain", state: S, event: E, effects, initial: S.Charging() })
    .on(S.Charging, E.Charged, S.Paid)
    .on(S.Charging, E.Declined, S.Failed)
    .on(S.Charging, E.Leave, S.Open)
    .final(S.Paid, S.Failed)

  it.live("runs slots and sends to itself with run, and is aborted when the state is left", () =>
    Effect.gen(function* () {
      const receipts: Array<string> = []
      let signal: AbortSignal | undefined
      const machine = Plain.spawn(S.Charging, async (context) => {
        signal = context.signal
        receipts.push(await context.run(context.effects.charge({ amount: 7 })))
        await context.run(context.self.send(E.Leave()))
        receipts.push("not reached")
      }).build({ charge: async ({ amount }) => `receipt of ${amount}` })
      const actor = yield* spawn(machine)
      yield* actor.waitFor((state) => state._tag === "Open")
      expect(receipts).toEqual(["receipt of 7"])
      expect(signal?.aborted).toBe(true)
    }).pipe(Effect.scoped),
  )

  it.live("of a task becomes an event, whether its Promise is resolved or rejected", () =>
    Effect.gen(function* () {
      const end = (work: () => Promise<string>) =>
        Effect.gen(function* () {
          const machine = Plain.task(S.Charging, work, {
            onSuccess: (receipt) => E.Charged({ receipt }),
            onFailure: (error) => E.Declined({ problem: String(error) }),
          }).build({ charge: async () => "unused" })
          return yield* (yield* spawn(machine)).awaitFinal
        })
      expect(yield* end(async () => "r-1")).toEqual(S.Paid({ receipt: "r-1" }))
      expect(yield* end(() => Promise.reject(new Error("no")))).toEqual(S.Failed({ problem: "Error: no" }))
    }).pipe(Effect.scoped),
  )

  it.live("that is rejected ends the actor as failed work does, and late results of left states are dropped", () =>
    Effect.gen(function* () {
      const system = yield* ActorSystem
      const failures: Array<string> = []
      system.inspectUnsafe((one) => {
        if (one._tag === "ActionFailed") failures.push(one.error.message)
      })
      const broken = Plain.spawn(S.Charging, () => Promise.reject(new Error("broken"))).build({ charge: async () => "unused" })
      const actor = yield* system.spawn("broken", broken)
      yield* Effect.ignore(actor.waitFor((state) => state._tag === "Open"))
      expect(failures).toEqual([expect.stringContaining("broken")])

      const { promise, open } = gate()
      const late = Plain.task(S.Charging, () => promise, {
        onSuccess: (receipt) => E.Charged({ receipt }),
        onFailure: () => E.Declined({ problem: "failed" }),
      }).build({ charge: async () => "unused" })
      const left = yield* system.spawn("late", late)
      yield* left.send(E.Leave())
      open("too late")
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      expect((yield* left.snapshot).state).toEqual(S.Open())
    }).pipe(Effect.provide(ActorSystem.layer)),
  )
})
