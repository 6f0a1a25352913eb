// Nothing here runs: the lines are there for the type checker to accept or refuse.
/** What the Promise API infers, and what it refuses. */
import { Event, Machine, reply, Slot, State, stay } from "@detent/machine"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { type AsyncInstance, openEngine, workflow } from "../../src/promise.ts"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const holds = <_T extends true>() => undefined

const S = State({ Open: { total: Schema.Finite }, Paid: { receipt: Schema.String } })
const E = Event({ Pay: { receipt: Schema.String }, GetTotal: Event.reply({}, Schema.Finite) })
const Foreign = Event({ Unheard: {} })
const effects = Slot.Effects({ mail: { to: Schema.String } })
const Base = Machine.make({ name: "order", state: S, event: E, effects, initial: S.Open })
  .on(S.Open, E.Pay, S.Paid)
  .on(S.Open, E.GetTotal, stay, ({ state }) => reply(state.total))
  .final(S.Paid)
const Order = Base.build({ mail: async () => undefined })
class Mailer extends Context.Service<Mailer, { readonly mail: Effect.Effect<void> }>()("Mailer") {}
const WithServices = Base.build({ mail: () => Effect.flatMap(Mailer, (mailer) => mailer.mail) })

const mailer = Layer.succeed(Mailer, { mail: Effect.void })

export const machines = async () => {
  const engine = await openEngine({ database: "sqlite:orders.db", machines: [Order] })
  // @ts-expect-error an address that names no database
  await openEngine({ database: "orders.db" })
  // @ts-expect-error a machine whose slots are not built
  await openEngine({ database: "memory", machines: [Base] })
  // @ts-expect-error a machine whose handlers need services that no layer gives
  await openEngine({ database: "memory", machines: [WithServices] })
  const served = await openEngine({
    database: "memory",
    machines: [WithServices, Order],
    layer: mailer,
  })
  await served.start(WithServices, "order-1", { total: 1 })
  // @ts-expect-error this engine has no such service
  await engine.start(WithServices, "order-1", { total: 1 })

  const order = await engine.start(Order, "order-1", { total: 42 })
  type OrderState = typeof S.Open.Type | typeof S.Paid.Type
  holds<Equal<typeof order extends AsyncInstance<infer X, infer _> ? X : never, OrderState>>()
  // @ts-expect-error a field is missing
  await engine.start(Order, "order-1", {})
  // @ts-expect-error the input is missing
  await engine.start(Order, "order-1")
  await order.send(E.Pay({ receipt: "r" }), { id: "webhook" })
  // @ts-expect-error an event of another machine
  await order.send(Foreign.Unheard())
  // @ts-expect-error an event of another machine
  await engine.send(Order, "order-1", Foreign.Unheard())
  const total = await order.ask(E.GetTotal())
  holds<Equal<typeof total, number>>()
  const asked = await engine.ask(Order, "order-1", E.GetTotal())
  holds<Equal<typeof asked, number>>()
  const paid = await order.waitFor((state) => state._tag === "Paid")
  holds<Equal<typeof paid.receipt, string>>()
  const also = await engine.waitFor(Order, "order-1", (state) => state._tag === "Paid")
  holds<Equal<typeof also.receipt, string>>()
  const any = await engine.waitFor(Order, "order-1", (state) => state._tag.length > 3)
  holds<Equal<typeof any, OrderState>>()
  for await (const state of engine.changes(Order, "order-1")) holds<Equal<typeof state, OrderState>>()
  for await (const { event } of order.history()) holds<Equal<typeof event._tag, "Pay" | "GetTotal" | "@timeout">>()
}

class Declined extends Schema.TaggedError<Declined>()("Declined", { code: Schema.String }) {}

export const workflows = async () => {
  const Refund = workflow(
    {
      name: "refund",
      input: { order: Schema.String, amount: Schema.Finite },
      failure: Declined,
      events: { approved: Schema.Struct({ by: Schema.String }), at: Schema.Date },
    },
    async ({ order, amount }, durable) => {
      holds<Equal<typeof amount, number>>()
      const receipt = await durable.step("charge", async ({ signal, key }) => ({ order, key, aborted: signal.aborted }))
      holds<Equal<typeof receipt, { order: string; key: string; aborted: boolean }>>()
      const maybe = await durable.step("maybe", async () => (amount > 3 ? "yes" : undefined))
      holds<Equal<typeof maybe, "yes" | undefined>>()
      const at = await durable.step("date", async () => new Date(), { success: Schema.Date })
      holds<Equal<typeof at, Date>>()
      // @ts-expect-error the result is not what the schema has
      await durable.step("wrong", async () => "text", { success: Schema.Date })
      const lost = await durable.step("lost", async () => new Date())
      // @ts-expect-error JSON cannot hold it
      lost.getTime()
      const read = await durable.step("read", async (): Promise<unknown> => JSON.parse("{}"))
      // @ts-expect-error JSON that was not decoded
      String(read.field)
      const { by } = await durable.waitForEvent("approved")
      holds<Equal<typeof by, string>>()
      const late = await durable.waitForEvent("at", { timeout: "3 days" })
      holds<Equal<typeof late, Date | undefined>>()
      // @ts-expect-error an event that is not declared
      await durable.waitForEvent("unheard")
      await durable.sleep("pause", "3 days")
      return { receipt, by }
    },
  )
  const engine = await openEngine({ database: "memory", workflows: [Refund] })
  const result = await engine.workflows.run(Refund, "r-1", { order: "o", amount: 1 })
  holds<Equal<typeof result, { receipt: { order: string; key: string; aborted: boolean }; by: string }>>()
  // @ts-expect-error a field is missing
  await engine.workflows.run(Refund, "r-1", { order: "o" })
  await engine.workflows.sendEvent(Refund, "r-1", "approved", { by: "Ada" })
  // @ts-expect-error a value that does not fit
  await engine.workflows.sendEvent(Refund, "r-1", "approved", { by: 7 })
  // @ts-expect-error an event that is not declared
  await engine.workflows.sendEvent(Refund, "r-1", "unheard", {})
  const Dated = workflow({ name: "dated", input: {}, success: Schema.Date }, async () => new Date())
  const dated = await engine.workflows.result(Dated, "d-1")
  holds<Equal<typeof dated, { readonly value: Date } | undefined>>()
}
