/**
 * Which orders of Ada are open, the most urgent first? The machine declares which fields of its states are indexed. Labels come from outside.
 *
 * Run it: `npx node examples/questions/find-a-customers-orders.ts`
 */
import { openEngine } from "@detent/durable/promise"
import { Event, Machine, State } from "@detent/machine"
import * as Schema from "effect/Schema"

const S = State({
  Open: { customer: Schema.String, total: Schema.Finite, dueAt: Schema.Date },
  Paid: { customer: Schema.String, total: Schema.Finite, receipt: Schema.String },
})
const E = Event({ Add: { amount: Schema.Finite }, Pay: { receipt: Schema.String } })
const Order = Machine.make({ name: "order", state: S, event: E, initial: S.Open })
  .index({ customer: (state) => state.customer, total: (state) => state.total, dueAt: (state) => state.dueAt })
  .on(S.Open, E.Add, S.Open, ({ state, event }) => S.Open({ ...state, total: state.total + event.amount }))
  .on(S.Open, E.Pay, S.Paid)
  .final(S.Paid)

await using engine = await openEngine({ database: `sqlite:${process.argv[2] ?? ":memory:"}`, machines: [Order] })
const day = (date: number) => new Date(Date.UTC(2026, 5, date))
await engine.start(Order, "o-1", { customer: "ada", total: 40, dueAt: day(20) })
await engine.start(Order, "o-2", { customer: "ada", total: 250, dueAt: day(9) })
await engine.start(Order, "o-3", { customer: "bob", total: 900, dueAt: day(1) })
await engine.start(Order, "o-4", { customer: "ada", total: 15, dueAt: day(3) })
await engine.send(Order, "o-4", E.Pay({ receipt: "r-1" }))
await engine.send(Order, "o-1", E.Add({ amount: 100 }))
await engine.label(Order, "o-3", { incident: "42" })

const open = await engine.list(Order, { where: { customer: "ada" }, state: "Open", order: { dueAt: "ascending" } })
for (const { id, fields } of open.instances) console.log("open", id, fields?.["total"])

const large = await engine.list(Order, { where: { total: { above: 100 }, dueAt: { below: day(15) } } })
console.log("large and soon", large.instances.map(({ id }) => id).join(", "))

const hit = await engine.list(Order, { labels: { incident: "42" } })
console.log("of incident 42", hit.instances.map(({ id }) => id).join(", "))
