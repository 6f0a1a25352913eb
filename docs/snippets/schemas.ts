import { openEngine, workflow } from "@detent/durable/promise"
import { Event, Machine, State } from "@detent/machine"
import { type } from "arktype"
import * as v from "valibot"
import * as z from "zod"

// #region machine
const Line = z.object({ sku: z.string(), count: z.int().positive() })

const S = State({
  Open: { lines: z.array(Line), note: z.string().optional() },
  Paid: { lines: z.array(Line), card: State.sensitive(v.string()), paidAt: z.iso.datetime() },
})
const E = Event({
  Add: { line: Line },
  Pay: { card: Event.sensitive(v.string()), paidAt: z.iso.datetime(), total: type("number > 0") },
})
const Order = Machine.make({ name: "order", state: S, event: E, initial: S.Open({ lines: [] }) })
  .on(S.Open, E.Add, S.Open, ({ state, event }) => S.Open.derive(state, { lines: [...state.lines, event.line] }))
  .on(S.Open, E.Pay, S.Paid) // lines come from the state, card and paidAt from the event
  .final(S.Paid)
// #endregion machine

// #region workflow
const Parcel = workflow(
  {
    name: "parcel",
    input: { order: z.string(), weight: type("number > 0") },
    success: v.object({ label: v.string() }),
    events: { weighed: z.object({ grams: z.int() }) },
  },
  async ({ order }, durable) => {
    const { grams } = await durable.waitForEvent("weighed")
    return { label: `${order}: ${grams} g` }
  },
)
// #endregion workflow

// #region run
await using engine = await openEngine({ database: "memory", nodeId: "shop", machines: [Order], workflows: [Parcel] })
const order = await engine.start(Order, "order-7")
await order.send(E.Add({ line: { sku: "tea", count: 2 } }))
await order.send(E.Add({ line: { sku: "cup", count: 0 } })).catch((error: Error) => console.log(error.message))
console.log((await order.state()).lines)

await engine.workflows.sendEvent(Parcel, "parcel-7", "weighed", { grams: 250 })
console.log(await engine.workflows.run(Parcel, "parcel-7", { order: "order-7", weight: 1 }))

try {
  State({ Paid: { detail: z.object({ paidAt: z.date() }) } })
} catch (error) {
  console.log(error instanceof Error ? error.message : error)
}
// #endregion run
