/** Machines and workflows with schemas of zod, valibot, arktype and Effect, on every store. */
import { Event, Machine, reply, Slot, State, stay } from "@detent/machine"
import { type } from "arktype"
import * as Schema from "effect/Schema"
import * as v from "valibot"
import { describe, expect, it } from "vitest"
import * as z from "zod"
import { openEngine, workflow } from "../../src/promise.ts"
import { freshAddress, kinds } from "./Databases.ts"

const Line = z.object({ sku: z.string(), count: z.int().positive(), note: z.string().optional() })

const S = State({
  Open: { customer: v.object({ name: v.pipe(v.string(), v.trim()), vip: v.optional(v.boolean()) }), lines: z.array(Line) },
  Charging: { total: type("number > 0"), lines: z.array(Line) },
  Paid: { receipt: z.object({ id: z.string(), at: z.iso.datetime() }), total: Schema.Finite },
})
const E = Event({
  Add: { line: Line },
  Pay: { total: type("number > 0") },
  Charged: { receipt: S.Paid.fields.receipt },
  Count: Event.reply({}, v.number()),
})
const effects = Slot.Effects({ charge: Slot.effect({ total: v.number() }, { success: S.Paid.fields.receipt, failure: z.string() }) })
const Order = Machine.make({
  name: "order",
  state: S,
  event: E,
  effects,
  initial: (name: string) => S.Open({ customer: { name }, lines: [] }),
})
  .on(S.Open, E.Add, S.Open, ({ state, event }) => S.Open.derive(state, { lines: [...state.lines, event.line] }))
  .on(S.Open, E.Count, stay, ({ state }) => reply(state.lines.length))
  .on(S.Open, E.Pay, S.Charging, ({ state, event, effects }) => {
    effects.charge({ total: event.total })
    return S.Charging.derive(state, { total: event.total })
  })
  .on(S.Charging, E.Charged, S.Paid)
  .final(S.Paid)
  .commands({ charge: { onSuccess: (receipt) => E.Charged({ receipt }) } })
  .build({ charge: async ({ total }) => ({ id: `receipt of ${total}`, at: "2026-01-01T00:00:00Z" }) })

describe.each(kinds)("on %s", (kind) => {
  it("states, events, answers and effects are stored, and equal when they are read back", async () => {
    const database = await freshAddress(kind)
    // The memory is that of one engine.
    if (kind !== "memory") {
      await using engine = await openEngine({ database, nodeId: "node-1", machines: [Order] })
      await engine.start(Order, "o-1", "Ada")
      await engine.send(Order, "o-1", E.Add({ line: { sku: "a", count: 2, note: "soon" } }))
    }
    await using engine = await openEngine({ database, nodeId: "node-1", machines: [Order] })
    if (kind === "memory") {
      await engine.start(Order, "o-1", "Ada")
      await engine.send(Order, "o-1", E.Add({ line: { sku: "a", count: 2, note: "soon" } }))
    }
    await engine.send(Order, "o-1", E.Add({ line: { sku: "b", count: 1, note: undefined } }))
    expect(await engine.state(Order, "o-1")).toEqual(
      S.Open({
        customer: { name: "Ada" },
        lines: [
          { sku: "a", count: 2, note: "soon" },
          { sku: "b", count: 1 },
        ],
      }),
    )
    expect(await engine.ask(Order, "o-1", E.Count())).toBe(2)
    await expect(engine.send(Order, "o-1", E.Add({ line: { sku: "c", count: 0 } }))).rejects.toThrow(/line\.count/)
    await expect(engine.send(Order, "o-1", E.Pay({ total: -1 }))).rejects.toThrow(/total: /)
    await engine.send(Order, "o-1", E.Pay({ total: 7 }))
    const paid = await engine.waitFor(Order, "o-1", (state) => state._tag === "Paid")
    expect(paid).toEqual(S.Paid({ receipt: { id: "receipt of 7", at: "2026-01-01T00:00:00Z" }, total: 7 }))
  })

  it("inputs, results, events and steps of workflows have schemas of any library", async () => {
    const Checkout = workflow(
      {
        name: "checkout",
        input: { order: z.string().trim(), amount: type("number") },
        success: z.object({ receipt: z.string(), by: z.string() }),
        events: { approved: v.object({ by: v.string() }) },
      },
      async ({ order, amount }, durable) => {
        const { by } = await durable.waitForEvent("approved")
        const receipt = await durable.step("charge", async () => `${order} for ${amount}`, { success: v.string() })
        return { receipt, by }
      },
    )
    await using engine = await openEngine({ database: await freshAddress(kind), nodeId: "node-1", workflows: [Checkout] })
    await engine.workflows.sendEvent(Checkout, "c-1", "approved", { by: "Ada" })
    expect(await engine.workflows.run(Checkout, "c-1", { order: "o-1", amount: 3 })).toEqual({ receipt: "o-1 for 3", by: "Ada" })
  })
})

it("a workflow whose result cannot be stored and read back equal is refused when it is defined", () => {
  const define = () =>
    workflow({ name: "late", input: { order: z.string() }, success: z.object({ at: z.date() }) }, async () => ({ at: new Date() }))
  expect(define).toThrow("at in the result of workflow late is a date")
})
