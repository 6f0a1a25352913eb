/** What async handlers, work and steps do with other instances and executions. */
import { Cluster } from "@detent/cluster"
import { DefinitionError, Event, type HandlerEngine, Machine, RetryPolicy, reply, Slot, State, spawn, stay } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { describe, expect, it, onTestFinished } from "vitest"
import { freePort } from "../../../store/test/support/freePort.ts"
import { until } from "../../../store/test/support/patience.ts"
import { openEngine, workflow } from "../../src/promise.ts"
import { freshAddress, kinds } from "./Databases.ts"

const I = State({ Due: { amount: Schema.Finite }, Settled: {} })
const V = Event({ Settle: {}, GetAmount: Event.reply({}, Schema.Finite) })
const Invoice = Machine.make({ name: "invoice", state: I, event: V, initial: I.Due })
  .on(I.Due, V.GetAmount, stay, ({ state }) => reply(state.amount))
  .on(I.Due, V.Settle, I.Settled)
  .final(I.Settled)

const Reminder = workflow({ name: "reminder", input: { invoice: Schema.String } }, async ({ invoice }, durable) =>
  durable.step("settle", async ({ engine, key }) => {
    await engine.send(Invoice, invoice, V.Settle(), { id: key })
    return (await engine.state(Invoice, invoice))._tag
  }),
)

const S = State({ Active: {}, Billing: {}, Watching: {}, Billed: { amount: Schema.Finite } })
const E = Event({ Bill: {}, Billed: { amount: Schema.Finite }, Failed: {} })
const effects = Slot.Effects({ bill: Slot.effect({ amount: Schema.Finite }, { success: Schema.Finite }) })

interface Call {
  readonly key: string
  readonly sequence: number
  readonly attempt: number
}

const subscription = (calls: Array<Call>) =>
  Machine.make({ name: "subscription", state: S, event: E, effects, initial: S.Active() })
    .on(S.Active, E.Bill, S.Billing, ({ effects }) => {
      effects.bill({ amount: 12 })
      return S.Billing()
    })
    .on(S.Billing, E.Billed, S.Watching)
    .task(
      S.Watching,
      async ({ engine, id, signal, sequence }) => {
        await engine.workflows.start(Reminder, `reminder-${id}`, { invoice: `invoice-${id}` })
        const settled = await engine.waitFor(Invoice, `invoice-${id}`, ({ _tag }) => _tag === "Settled", { signal })
        return settled._tag === "Settled" ? sequence : 0
      },
      { onSuccess: (sequence) => E.Billed({ amount: sequence }), onFailure: () => E.Failed() },
    )
    .on(S.Watching, E.Billed, S.Billed)
    .on(S.Watching, E.Failed, S.Active)
    .final(S.Billed)
    .commands({ bill: { retry: RetryPolicy.fixed({ delay: 1, maxAttempts: 3 }), onSuccess: (amount) => E.Billed({ amount }) } })
    .build({
      bill: async ({ amount }, { engine, id, key, sequence, attempt }) => {
        calls.push({ key, sequence, attempt })
        const invoice = await engine.ensure(Invoice, `invoice-${id}`, { amount })
        // The instance is stored. The next attempt finds it.
        if (attempt === 1) throw new Error("the connection was lost")
        return invoice.ask(V.GetAmount())
      },
    })

describe.each(kinds)("on %s", (kind) => {
  it("a handler, work and a step start, ask, wait for and send to others, and know key, sequence and attempt", async () => {
    const calls: Array<Call> = []
    const Subscription = subscription(calls)
    const machines = [Subscription, Invoice]
    await using engine = await openEngine({ database: await freshAddress(kind), machines, workflows: [Reminder] })
    const instance = await engine.start(Subscription, "s-1")
    await instance.send(E.Bill())
    // Bill is the first event and its success the second: the work begins with that.
    expect(await instance.awaitFinal()).toEqual(S.Billed({ amount: 2 }))
    expect(calls.map(({ sequence, attempt }) => [sequence, attempt])).toEqual([
      [1, 1],
      [1, 2],
    ])
    expect(new Set(calls.map(({ key }) => key)).size).toBe(1)
    expect(await engine.workflows.run(Reminder, "reminder-s-1", { invoice: "invoice-s-1" })).toBe("Settled")
  })
})

it("a machine that the engine does not know is named, with the next step", async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>()
  const Asking = Machine.make({ name: "asking", state: S, event: E, initial: S.Active() })
    .spawn(S.Active, async ({ engine }) => engine.send(Invoice, "i-1", V.Settle()).catch(resolve))
    .on(S.Active, E.Bill, S.Billing)
  await using engine = await openEngine({ database: "memory", machines: [Asking] })
  await engine.start(Asking, "a-1")
  expect(String(await promise)).toContain("machine invoice is not known to this engine; pass it to openEngine({ machines: [...] })")
})

it("without an engine a handler that reads it says where it gets one", async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>()
  const read = ({ engine }: { readonly engine: HandlerEngine }) => engine
  const Alone = Machine.make({ name: "alone", state: S, event: E, initial: S.Active() })
    .spawn(S.Active, async (context) => {
      try {
        read(context)
      } catch (error) {
        resolve(error)
      }
    })
    .on(S.Active, E.Bill, S.Billing)
  const error = await Effect.runPromise(
    Effect.scoped(
      Effect.andThen(
        spawn(Alone),
        Effect.promise(() => promise),
      ),
    ),
  )
  expect(error).toBeInstanceOf(DefinitionError)
  expect(String(error)).toContain("open one with openEngine or detent.config.ts")
})

describe("as nodes of a cluster", () => {
  const token = "a-token-of-this-test"

  it("handlers use instances of the other node, and the node that is closed hands its instances over", async () => {
    const database = await freshAddress("PostgreSQL")
    const machines = [subscription([]), Invoice]
    const [Subscription] = machines as [ReturnType<typeof subscription>, typeof Invoice]
    const open = async () => {
      const cluster = Cluster.layer({ address: `127.0.0.1:${await Effect.runPromise(freePort)}`, token, lease: "2 seconds" })
      const engine = await openEngine({ database, cluster, machines, workflows: [Reminder] })
      onTestFinished(() => engine.close())
      return engine
    }
    const [first, second] = [await open(), await open()]
    const ids = Array.from({ length: 20 }, (_, index) => `s-${index}`)
    await Promise.all(ids.map(async (id, index) => (await (index % 2 === 0 ? first : second).start(Subscription, id)).send(E.Bill())))
    await first.close()
    await until(
      "every subscription is billed",
      async () => (await second.list(Subscription, { state: "Billed" })).instances.length === ids.length,
    )
  })

  it("a database that only one machine reaches is refused", async () => {
    const cluster = Cluster.layer({ address: "127.0.0.1:1", token })
    await expect(openEngine({ database: "memory", cluster })).rejects.toThrow("a node of a cluster needs PostgreSQL")
  })
})
