/** What the compiler accepts of a client. */
import { createClient, type Snapshot } from "@detent/client"
import { Event, Machine, reply, State, stay } from "@detent/machine"
import * as Schema from "effect/Schema"
import { expectTypeOf, it } from "vitest"

const S = State({ Open: { due: Schema.DateTimeUtcFromString, total: Schema.Finite }, Paid: { receipt: Schema.String } })
const E = Event({ Pay: { receipt: Schema.String }, Total: Event.reply({}, Schema.Finite) })
const Order = Machine.make({ name: "order", state: S, event: E, initial: S.Open })
  .on(S.Open, E.Pay, S.Paid)
  .on(S.Open, E.Total, stay, ({ state }) => reply(state.total))
  .final(S.Paid)

const client = createClient<{ order: typeof Order }>({ url: "https://orders.example" })
const order = client.order("order-7")

it("states, events, answers and inputs are those of the machine, as JSON", () => {
  const use = async () => {
    const state = await order.state()
    expectTypeOf(state._tag).toEqualTypeOf<"Open" | "Paid">()
    if (state._tag === "Open") expectTypeOf(state.due).toEqualTypeOf<string>()
    expectTypeOf(await order.ask({ _tag: "Total" })).toEqualTypeOf<number>()
    expectTypeOf(await client.order.start("order-8", { due: "2027-01-01T00:00:00Z", total: 4 })).toExtend<Snapshot<{ _tag: string }>>()
    await order.send({ _tag: "Pay", receipt: "r-1" })
    await client.order.list({ state: ["Open", "Paid"] })
    // @ts-expect-error there is no such event
    await order.send({ _tag: "Fly" })
    // @ts-expect-error a field is missing
    await order.send({ _tag: "Pay" })
    // @ts-expect-error it has no answer
    await order.ask({ _tag: "Pay", receipt: "r-1" })
    // @ts-expect-error there is no such state
    await client.order.list({ state: "Closed" })
    // @ts-expect-error there is no such machine
    client.invoice("i-1")
    // @ts-expect-error an input is needed
    await client.order.start("order-9")
  }
  expectTypeOf(use).toBeFunction()
})
