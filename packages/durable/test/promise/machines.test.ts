/** Machines through the Promise API, on every store. */
import { Event, InvalidTransition, Machine, MachineStopped, RetryPolicy, reply, Slot, State, stay } from "@detent/machine"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { describe, expect, it } from "vitest"
import { DeadLetters, Engine, InstanceExists, InstanceNotFound } from "../../src/index.ts"
import { EngineClosed, HandlerResult, openEngine } from "../../src/promise.ts"
import { freshAddress, kinds } from "./Databases.ts"

class Declined extends Schema.TaggedError<Declined>()("Declined", { code: Schema.String }) {}

const S = State({
  Open: { total: Schema.Finite },
  Charging: { total: Schema.Finite },
  Paid: { receipt: Schema.String },
  Failed: { problem: Schema.String },
})
const E = Event({
  Pay: {},
  Charged: { receipt: Schema.String },
  Failed: { problem: Schema.String },
  GetTotal: Event.reply({}, Schema.Finite),
})
const effects = Slot.Effects({ charge: Slot.effect({ total: Schema.Finite }, { success: Schema.String, failure: Declined }) })
const Order = Machine.make({ name: "order", state: S, event: E, effects, initial: S.Open })
  .on(S.Open, E.Pay, S.Charging, ({ state, effects }) => {
    effects.charge({ total: state.total })
    return S.Charging.derive(state)
  })
  .on(S.Open, E.GetTotal, stay, ({ state }) => reply(state.total))
  .on(S.Charging, E.Charged, S.Paid)
  .on(S.Charging, E.Failed, S.Failed)
  .final(S.Paid, S.Failed)
  .commands({
    charge: {
      retry: RetryPolicy.fixed({ delay: 1, maxAttempts: 2 }),
      onSuccess: (receipt) => E.Charged({ receipt }),
      onFailure: (error) => E.Failed({ problem: error._tag === "Declined" ? `declined: ${error.code}` : error.problem }),
    },
  })

/** A service that notes what it is used for, and when it is closed. */
class Mail extends Context.Service<Mail, { readonly send: (text: string) => void }>()("test/Mail") {}

const mailInto = (sent: Array<string>) =>
  Layer.effect(
    Mail,
    Effect.acquireRelease(Effect.succeed({ send: (text: string) => void sent.push(text) }), () => Effect.sync(() => sent.push("closed"))),
  )

const Plain = Order.build({ charge: async ({ total }) => `receipt of ${total}` })

describe.each(kinds)("on %s", (kind) => {
  it("an order is started, asked, sent to, waited for and read back", async () => {
    await using engine = await openEngine({ database: await freshAddress(kind), machines: [Plain] })
    const order = await engine.start(Plain, "order-1", { total: 42 })
    expect(await order.ask(E.GetTotal())).toBe(42)
    expect(await engine.ask(Plain, "order-1", E.GetTotal())).toBe(42)
    await engine.send(Plain, "order-1", E.Pay(), { id: "webhook-77" })
    await order.send(E.Pay(), { id: "webhook-77" })
    const paid = await engine.waitFor(Plain, "order-1", (state) => state._tag === "Paid")
    expect(paid.receipt).toBe("receipt of 42")
    expect(await engine.state(Plain, "order-1")).toEqual(S.Paid({ receipt: "receipt of 42" }))
    const events: Array<string> = []
    for await (const { event } of order.history()) events.push(event._tag)
    expect(events.filter((event) => event !== "GetTotal")).toEqual(["Pay", "Charged"])
    expect((await engine.list(Plain)).instances.map(({ id, tag }) => [id, tag])).toEqual([["order-1", "Paid"]])
  })

  it("instances that ended are counted and purged, and a wrong option says what is expected", async () => {
    await using engine = await openEngine({ database: await freshAddress(kind), machines: [Plain] })
    const order = await engine.start(Plain, "order-1", { total: 42 })
    await engine.start(Plain, "order-2", { total: 43 })
    await order.send(E.Pay())
    await order.awaitFinal()
    expect(await engine.purge(Plain, { endedBefore: "1 hour" })).toBe(0)
    await expect.poll(() => engine.purge(Plain, { endedBefore: 0, dryRun: true })).toBe(1)
    expect(await engine.purge(Plain, { endedBefore: 0 })).toBe(1)
    expect((await engine.list(Plain)).instances.map(({ id }) => id)).toEqual(["order-2"])
    const wrong = [undefined, {}, { endedBefore: "soon" }, { endedBefore: Number.NaN }]
    for (const options of wrong)
      await expect(engine.purge(Plain, options as never)).rejects.toThrow('endedBefore is a duration such as { endedBefore: "30 days" }')
  })

  it("what a schema refuses is named in one line, with the field", async () => {
    await using engine = await openEngine({ database: await freshAddress(kind), machines: [Plain] })
    await expect(engine.start(Plain, "order-1", { total: "much" } as never)).rejects.toThrow(
      /^order order-1: it cannot begin in state Open: total: Expected .*number.*$/,
    )
    await engine.start(Plain, "order-1", { total: 42 })
    await expect(engine.send(Plain, "order-1", { _tag: "Charged" } as never)).rejects.toThrow(
      /^order order-1: Charged cannot be accepted: receipt is missing$/,
    )
  })

  it("changes arrive one after the other, and the iteration ends with the instance", async () => {
    await using engine = await openEngine({ database: await freshAddress(kind), machines: [Plain] })
    const order = await engine.start(Plain, "order-1", { total: 42 })
    const seen: Array<string> = []
    for await (const state of order.changes()) {
      seen.push(state._tag)
      if (state._tag === "Open") await order.send(E.Pay())
    }
    expect(seen).toEqual(["Open", "Charging", "Paid"])
  })

  it("errors are the classes of the Effect API, thrown as they are", async () => {
    await using engine = await openEngine({ database: await freshAddress(kind), machines: [Plain] })
    const order = await engine.start(Plain, "order-1", { total: 42 })
    await expect(engine.start(Plain, "order-1", { total: 1 })).rejects.toBeInstanceOf(InstanceExists)
    await expect(order.send(E.Charged({ receipt: "none" }))).rejects.toBeInstanceOf(InvalidTransition)
    await expect(engine.send(Plain, "nowhere", E.Pay())).rejects.toBeInstanceOf(InstanceNotFound)
    expect(await engine.get(Plain, "nowhere")).toBeUndefined()
    await order.send(E.Pay())
    await order.awaitFinal()
    await expect(order.send(E.Pay())).rejects.toBeInstanceOf(MachineStopped)
  })

  it("a declared failure reaches onFailure as it is, and a handler that knows more says so", async () => {
    let attempts = 0
    const declining = Order.build({
      charge: async ({ total }) => {
        attempts++
        if (total === 1) throw new Declined({ code: "no money" })
        if (total === 2) HandlerResult.failForGood(new Declined({ code: "blocked" }))
        if (total === 3) throw new Error("no network")
        return HandlerResult.alreadyExecuted("charged before")
      },
    })
    await using engine = await openEngine({ database: await freshAddress(kind), machines: [declining] })
    const problem = async (total: number) => {
      attempts = 0
      const order = await engine.start(declining, `order-${total}`, { total })
      await order.send(E.Pay())
      return [(await order.awaitFinal()) as { readonly problem?: string }, attempts] as const
    }
    expect(await problem(1)).toEqual([S.Failed({ problem: "declined: no money" }), 2])
    expect(await problem(2)).toEqual([S.Failed({ problem: "declined: blocked" }), 1])
    expect(await problem(3)).toEqual([S.Failed({ problem: "no network" }), 2])
    const skipped = await engine.start(declining, "order-4", { total: 4 })
    await skipped.send(E.Pay())
    await expect(engine.waitFor(declining, "order-4", S.Paid.is, { signal: AbortSignal.timeout(50) })).rejects.toMatchObject({
      name: "TimeoutError",
    })
  })

  it("async work of a state runs slots and sends to its instance", async () => {
    const working = Machine.make({ name: "working", state: S, event: E, effects, initial: S.Charging })
      .on(S.Charging, E.Charged, S.Paid)
      .on(S.Charging, E.Failed, S.Failed)
      .final(S.Paid, S.Failed)
      .spawn(S.Charging, async ({ state, effects, run, self }) => {
        const receipt = await run(effects.charge({ total: state.total }))
        await run(self.send(E.Charged({ receipt })))
      })
      .build({ charge: async ({ total }, { key }) => `${total} for ${key.split("/")[0]}` })
    await using engine = await openEngine({ database: await freshAddress(kind), machines: [working] })
    const instance = await engine.start(working, "w-1", { total: 7 })
    expect(await instance.awaitFinal()).toEqual(S.Paid({ receipt: "7 for working" }))
  })

  it("a wait that is aborted is rejected with the reason of its signal, and closing twice is closing once", async () => {
    const engine = await openEngine({ database: await freshAddress(kind), machines: [Plain] })
    const order = await engine.start(Plain, "order-1", { total: 42 })
    const controller = new AbortController()
    const waiting = order.waitFor((state) => state._tag === "Paid", { signal: controller.signal })
    const iterating = (async () => {
      for await (const _ of order.changes({ signal: controller.signal }));
    })()
    controller.abort(new Error("enough"))
    await expect(waiting).rejects.toThrow("enough")
    await expect(iterating).rejects.toThrow("enough")
    expect(await engine.runEffect(DeadLetters.list())).toMatchObject({ commands: [] })
    await Promise.all([engine.close(), engine.close()])
    await expect(order.send(E.Pay())).rejects.toBeInstanceOf(MachineStopped)
  })

  it("commands and work of an engine that closes have the services of its layer to their end", async () => {
    const begun = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const mailing = Order.spawn(S.Charging, () =>
      Effect.flatMap(Mail, (mail) => Effect.onInterrupt(Effect.never, () => Effect.sync(() => mail.send("work ended")))),
    ).build({
      charge: ({ total }) =>
        Effect.gen(function* () {
          const mail = yield* Mail
          begun.resolve()
          yield* Effect.promise(() => gate.promise)
          mail.send(`charged ${total}`)
          return "a receipt"
        }),
    })
    const sent: Array<string> = []
    const engine = await openEngine({ database: await freshAddress(kind), machines: [mailing], layer: mailInto(sent) })
    const order = await engine.start(mailing, "order-1", { total: 42 })
    await order.send(E.Pay())
    await begun.promise
    const closed = engine.close()
    gate.resolve()
    await closed
    expect(sent).toEqual(["charged 42", "work ended", "closed"])
  })

  it("a command that is interrupted when the engine closes has the services of its layer until it has cleaned up", async () => {
    const begun = Promise.withResolvers<void>()
    const mailing = Order.build({
      charge: () =>
        Effect.gen(function* () {
          const mail = yield* Mail
          begun.resolve()
          const cleanUp = Effect.andThen(
            Effect.sleep(20),
            Effect.sync(() => mail.send("cleaned up")),
          )
          return yield* Effect.onInterrupt(Effect.never, () => cleanUp)
        }),
    })
    const sent: Array<string> = []
    const options = { machines: [mailing], layer: mailInto(sent), worker: { drainTimeout: 0 } }
    const engine = await openEngine({ database: await freshAddress(kind), ...options })
    const order = await engine.start(mailing, "order-1", { total: 42 })
    await order.send(E.Pay())
    await begun.promise
    await engine.close()
    expect(sent).toEqual(["cleaned up", "closed"])
  })

  it("handlers that wait for an event which their instance has postponed do not keep the engine open", async () => {
    const S = State({ Idle: {}, Held: {}, Free: {} })
    const E = Event({ Hold: {}, Free: {}, FromWork: {}, FromCommand: {} })
    const postponed: Array<string> = []
    const Waiting = Machine.make({ name: "waiting", state: S, event: E, effects: Slot.Effects({ ask: {} }), initial: S.Idle() })
      .on(S.Idle, E.Hold, S.Held, ({ effects }) => {
        effects.ask()
        return S.Held()
      })
      .postpone(S.Held, [E.FromWork, E.FromCommand])
      .on(S.Held, E.Free, S.Free)
      .on(S.Free, [E.FromWork, E.FromCommand], stay)
      .spawn(S.Held, async ({ run, self }) => {
        await run(self.send(E.FromWork()))
      })
      .build({
        ask: async (_, { run, self }) => {
          await run(self.send(E.FromCommand()))
        },
      })
    const patient = { drainTimeout: "1 hour", worker: { drainTimeout: "1 hour" } } as const
    const engine = await openEngine({ database: await freshAddress(kind), machines: [Waiting], ...patient })
    await engine.runEffect(
      Effect.map(Engine, (inner) =>
        inner.inspectUnsafe((inspection) => {
          if (inspection._tag === "Postponed") postponed.push(inspection.event)
        }),
      ),
    )
    const instance = await engine.start(Waiting, "w-1")
    await instance.send(E.Hold())
    await expect.poll(() => postponed.toSorted()).toEqual(["FromCommand", "FromWork"])
    await engine.close()
  })

  it("a call after close() says that the engine is closed, and does not wait", async () => {
    const engine = await openEngine({ database: await freshAddress(kind), machines: [Plain] })
    const order = await engine.start(Plain, "order-1", { total: 1 })
    await engine.close()
    await expect(engine.start(Plain, "order-2", { total: 1 })).rejects.toBeInstanceOf(MachineStopped)
    for (const late of [
      () => order.state(),
      () => order.snapshot(),
      () => order.awaitFinal(),
      () => order.waitFor(() => false),
      () => order.changes()[Symbol.asyncIterator]().next(),
      () => order.history()[Symbol.asyncIterator]().next(),
      () => order.saveSnapshot(),
      () => engine.ensure(Plain, "order-1", { total: 1 }),
      () => engine.get(Plain, "order-1"),
      () => engine.list(Plain),
      () => engine.runEffect(DeadLetters.list()),
    ]) {
      await expect(late()).rejects.toBeInstanceOf(EngineClosed)
    }
  })
})

it("what is stored is there after the engine was closed, and older versions are read by upcasters", async () => {
  const database = await freshAddress("SQLite")
  {
    await using engine = await openEngine({ database, machines: [Plain] })
    await engine.start(Plain, "order-1", { total: 42 })
  }
  const S2 = State({ Open: { total: Schema.Finite, currency: Schema.String } })
  const Next = Machine.make({ name: "order", version: 2, state: S2, event: Event({ Pay: {} }), initial: S2.Open }).on(
    S2.Open,
    Event({ Pay: {} }).Pay,
    S2.Open,
  )
  const upcasters = { order: { 1: { state: (json: object) => ({ ...json, currency: "EUR" }) } } }
  await using engine = await openEngine({ database, machines: [Next], upcasters })
  expect(await engine.state(Next, "order-1")).toEqual(S2.Open({ total: 42, currency: "EUR" }))
})

it("a saved snapshot keeps the state that stored events led to when a decision has changed", async () => {
  const database = await freshAddress("SQLite")
  const S = State({ Open: {}, Small: {}, Large: {} })
  const E = Event({ Weigh: {} })
  const parcel = () => Machine.make({ name: "parcel", state: S, event: E, initial: S.Open() })
  {
    const Small = parcel().on(S.Open, E.Weigh, S.Small)
    await using engine = await openEngine({ database, machines: [Small] })
    for (const id of ["saved", "replayed"]) await (await engine.start(Small, id)).send(E.Weigh())
    expect(await engine.instance(Small, "saved").saveSnapshot()).toBe(true)
  }
  const Large = parcel().on(S.Open, E.Weigh, S.Large)
  await using engine = await openEngine({ database, machines: [Large] })
  expect(await engine.state(Large, "saved")).toEqual(S.Small())
  expect(await engine.state(Large, "replayed")).toEqual(S.Large())
})

it("an address that names no database is refused with what to write, without repeating it", async () => {
  const open = (database: string) => openEngine({ database: database as "memory" })
  await expect(open("orders.db")).rejects.toThrow(/has no scheme; use "sqlite:orders.db"/)
  await expect(open("sqlite:")).rejects.toThrow(/names no file/)
  await expect(open("mysql://user:secret@host/db")).rejects.toThrow(/scheme mysql:, which is not supported/)
  await expect(open("mysql://user:secret@host/db")).rejects.not.toThrow(/secret/)
  await expect(open("postgres://user:secret@[")).rejects.toThrow(/is not a URL/)
  await expect(open("sqlite:/dev/null/orders.db")).rejects.toMatchObject({ _tag: "StoreNotOpened" })
})

it("a machine that the engine does not know is named with what to do", async () => {
  await using engine = await openEngine({ database: "memory" })
  await expect(engine.send(Plain, "order-1", E.Pay())).rejects.toThrow(/machine order is not known to this engine; pass it to openEngine/)
})
