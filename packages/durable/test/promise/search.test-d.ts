// @effect-diagnostics floatingEffect:off
// Nothing here runs: the lines are there for the type checker to accept or refuse.
import { Event, Machine, State } from "@detent/machine"
import * as Schema from "effect/Schema"
import type { EngineService } from "../../src/index.ts"
import type { AsyncEngine } from "../../src/promise.ts"

const S = State({
  Open: { customer: Schema.String, total: Schema.Finite, dueAt: Schema.Date, channel: Schema.Literals(["web", "phone"]) },
  Paid: { customer: Schema.String, total: Schema.Finite, paid: Schema.Boolean, at: Schema.DateTimeUtc, lines: Schema.Array(Schema.String) },
})
const E = Event({ Pay: {} })
const Plain = Machine.make({ name: "order", state: S, event: E, initial: S.Open })
const Order = Plain.index({
  customer: (state) => state.customer,
  total: (state) => state.total,
  dueAt: (state) => state.dueAt,
  paid: (state) => state.paid,
  at: (state) => state.at,
})
  .index({ channel: (state) => state.channel })
  .on(S.Open, E.Pay, S.Paid, ({ state }) => S.Paid({ ...state, paid: true, at: undefined as never, lines: [] }))
  .final(S.Paid)

// @ts-expect-error a list cannot be indexed
Plain.index({ lines: (state) => state.lines })
// @ts-expect-error no state has the field
Plain.index({ town: (state) => state.town })

export const list = async (engine: AsyncEngine, effects: EngineService) => {
  await engine.list(Order)
  await engine.list(Order, { where: { customer: "ada", total: { above: 100, atMost: 200 }, paid: true }, order: { dueAt: "ascending" } })
  await engine.list(Order, { where: { dueAt: { below: new Date() }, at: { above: "2026-01-01" }, channel: "web" }, state: "Open" })
  await engine.list(Order, { where: { customer: { startsWith: "a" } }, labels: { incident: "42" }, order: "newest" })
  effects.list(Order, { where: { total: 3 }, order: { total: "descending" } })
  // @ts-expect-error a number is no text
  await engine.list(Order, { where: { customer: 3 } })
  // @ts-expect-error a text is no number
  await engine.list(Order, { where: { total: { above: "3" } } })
  // @ts-expect-error it is no value of the field
  await engine.list(Order, { where: { channel: "fax" } })
  // @ts-expect-error there is no such index
  await engine.list(Order, { where: { town: "x" } })
  // @ts-expect-error there is no such index
  await engine.list(Order, { order: { town: "ascending" } })
  // @ts-expect-error a boolean has no range
  await engine.list(Order, { where: { paid: { above: true } } })
  // @ts-expect-error the machine has no indexes
  await engine.list(Plain, { where: { customer: "ada" } })
  // @ts-expect-error no state of this name
  effects.list(Order, { state: "Gone" })
  const { instances } = await engine.list(Order, { where: { customer: "ada" } })
  const value: string | number | boolean | undefined = instances[0]?.fields?.["customer"]
  const labels: { readonly [name: string]: string } = await engine.label(Order, "o-1", { incident: "42", old: null })
  return { value, labels }
}
