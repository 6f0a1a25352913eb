/** Finding instances by indexed fields and labels, on every store. */
import { Event, Machine, State, stay } from "@detent/machine"
import * as Schema from "effect/Schema"
import { describe, expect, it } from "vitest"
import { until } from "../../../store/test/support/patience.ts"
import { InstanceNotFound, LabelsRefused, SearchRefused } from "../../src/index.ts"
import { openEngine } from "../../src/promise.ts"
import { freshAddress, kinds } from "./Databases.ts"

const S = State({
  Open: { customer: Schema.String, total: Schema.Finite, dueAt: Schema.Date },
  Paid: { customer: Schema.String, total: Schema.Finite, receipt: Schema.String },
})
const E = Event({ Add: { amount: Schema.Finite }, Note: {}, Rename: { customer: Schema.String }, Pay: { receipt: Schema.String } })
const Plain = Machine.make({ name: "order", state: S, event: E, initial: S.Open })
  .on(S.Open, E.Add, S.Open, ({ state, event }) => S.Open({ ...state, total: state.total + event.amount }))
  .on(S.Open, E.Rename, S.Open, ({ state, event }) => S.Open({ ...state, customer: event.customer }))
  .on(S.Open, E.Note, stay)
  .on(S.Open, E.Pay, S.Paid)
  .final(S.Paid)
const Order = Plain.index({
  customer: (state) => state.customer,
  total: (state) => state.total,
  dueAt: (state) => state.dueAt,
  receipt: (state) => state.receipt,
})

const day = (date: number) => new Date(Date.UTC(2026, 0, date))

describe.each(kinds)("on %s", (kind) => {
  const open = async () => openEngine({ database: await freshAddress(kind), machines: [Order] })
  const idsOf = ({ instances }: { readonly instances: ReadonlyArray<{ readonly id: string }> }) => instances.map(({ id }) => id)

  it("orders are found by the values that their states have now, in the order of a field, page by page", async () => {
    await using engine = await open()
    for (const [id, customer, total, date] of [
      ["o-1", "ada", 10, 3],
      ["o-2", "bob", 20, 2],
      ["o-3", "ada", 30, 1],
    ] as const)
      await engine.start(Order, id, { customer, total, dueAt: day(date) })
    expect(idsOf(await engine.list(Order, { where: { customer: "ada" }, order: { dueAt: "ascending" } }))).toEqual(["o-3", "o-1"])
    expect(idsOf(await engine.list(Order, { where: { total: { above: 10 }, dueAt: { below: day(2) } } }))).toEqual(["o-3"])
    expect(idsOf(await engine.list(Order, { where: { dueAt: "2026-01-02" } }))).toEqual(["o-2"])
    await engine.send(Order, "o-1", E.Add({ amount: 90 }))
    await engine.send(Order, "o-3", E.Pay({ receipt: "r-1" }))
    expect(idsOf(await engine.list(Order, { where: { total: { atLeast: 100 } } }))).toEqual(["o-1"])
    const { instances } = await engine.list(Order, { where: { receipt: { startsWith: "r-" } } })
    expect(instances).toMatchObject([{ id: "o-3", tag: "Paid", fields: { customer: "ada", total: 30, receipt: "r-1" } }])
    expect(instances[0]?.fields).not.toHaveProperty("dueAt")
    expect(idsOf(await engine.list(Order, { where: { customer: "ada" }, state: "Open", status: "running" }))).toEqual(["o-1"])
    const first = await engine.list(Order, { order: { total: "descending" }, limit: 2 })
    expect(idsOf(first)).toEqual(["o-1", "o-3"])
    expect(
      idsOf(
        await engine.list(Order, { order: { total: "descending" }, limit: 2, ...(first.next === undefined ? {} : { after: first.next }) }),
      ),
    ).toEqual(["o-2"])
  })

  it("labels from outside find an instance, whatever it is about, and stay when its state changes", async () => {
    await using engine = await open()
    for (const id of ["o-1", "o-2"]) await engine.start(Order, id, { customer: "ada", total: 1, dueAt: day(1) })
    expect(await engine.label(Order, "o-2", { incident: "42", team: "ops" })).toEqual({ incident: "42", team: "ops" })
    expect(await engine.label(Order, "o-2", { team: null })).toEqual({ incident: "42" })
    await engine.send(Order, "o-2", E.Add({ amount: 1 }))
    const { instances } = await engine.list(Order, { labels: { incident: "42" } })
    expect(instances).toMatchObject([{ id: "o-2", labels: { incident: "42" }, fields: { total: 2 } }])
    await expect(engine.label(Order, "o-9", { incident: "1" })).rejects.toBeInstanceOf(InstanceNotFound)
    await expect(engine.label(Order, "o-2", { "a b": "1" })).rejects.toThrow(/"a b" cannot name a label; use a letter/)
    await expect(engine.label(Order, "o-2", { note: "x".repeat(10_000_000) })).rejects.toThrow(/takes 10000000 bytes, the limit is 500/)
    const many = Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`l${index}`, "x"]))
    await expect(engine.label(Order, "o-2", many)).rejects.toBeInstanceOf(LabelsRefused)
  })

  it("conditions that make no sense are refused with the next step", async () => {
    await using engine = await open()
    const refused = (options: object) => expect(engine.list(Order, options as never)).rejects
    await refused({ where: { town: "x" } }).toBeInstanceOf(SearchRefused)
    await refused({ where: { town: "x" } }).toThrow(/it has no index town; its indexes are customer, total, dueAt, receipt/)
    await refused({ where: { total: "x" } }).toThrow(/total is a number, and "x" is none; give a number, such as 100/)
    await refused({ where: { dueAt: "soon" } }).toThrow(/dueAt is an instant, and "soon" is none; give a date/)
    await refused({ where: { customer: null } }).toThrow(/customer is a text, and null is none/)
    await refused({ where: { customer: "x".repeat(10_000_000) } }).toThrow(/takes 10000000 bytes, the limit is 500/)
    await refused({ where: { total: { over: 3 } } }).toThrow(/total is a number, and an object is none/)
    await refused({ where: { total: { above: 3, over: 3 } } }).toThrow(/over is no condition on total; the conditions are above/)
    await refused({ where: { total: { startsWith: 3 } } }).toThrow(/startsWith needs a text/)
    await refused({ order: { total: "up" } }).toThrow(/up is no order; give ascending or descending/)
    await refused({ order: { total: "ascending", dueAt: "ascending" } }).toThrow(/ordered by several fields/)
    const labels = Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`l${index}`, "x"]))
    await refused({ labels }).toThrow(/11 conditions are too many; give at most 10/)
    await expect(engine.list(Plain as typeof Order, { where: { customer: "ada" } })).rejects.toThrow(
      /it has no index customer; declare one with \.index\(\{ customer: \(state\) => \.\.\. \}\)/,
    )
  })

  it("a text that cannot be indexed is refused with the event that brings it, and nothing changes", async () => {
    await using engine = await open()
    const text = "x".repeat(10_000_000)
    await expect(engine.start(Order, "big", { customer: text.slice(0, 1000), total: 1, dueAt: day(1) })).rejects.toThrow(
      /its indexed field customer "x+"… takes 1000 bytes, the limit is 500/,
    )
    const order = await engine.start(Order, "o-1", { customer: "ada", total: 1, dueAt: day(1) })
    for (const customer of [text.slice(0, 1_000_000), "half \ud800", "null \u0000"])
      await expect(order.send(E.Rename({ customer }))).rejects.toThrow(/its indexed field customer/)
    expect((await order.snapshot()).sequence).toBe(0)
    expect(idsOf(await engine.list(Order, { where: { customer: "ada" } }))).toEqual(["o-1"])
  })

  it("a machine that gets an index finds the instances that were stored before, and says so while it does not", async () => {
    const database = await freshAddress(kind)
    if (kind === "memory") return
    {
      await using engine = await openEngine({ database, machines: [Plain] })
      for (let n = 0; n < 30; n++)
        await engine.start(Plain, `o-${n}`, { customer: n % 2 === 0 ? "ada" : "bob", total: n, dueAt: day(n + 1) })
      await engine.send(Plain, "o-4", E.Add({ amount: 100 }))
      expect(await engine.indexes(Plain)).toBeUndefined()
    }
    await using engine = await openEngine({ database, machines: [Order] })
    expect(await engine.list(Order, { where: { customer: "ada" } })).toSatisfy(
      (page: { filling?: object; instances: ReadonlyArray<object> }) => page.filling !== undefined || page.instances.length === 15,
    )
    await until("the index is filled", async () => (await engine.indexes(Order))?.isComplete === true)
    const found = await engine.list(Order, { where: { customer: "ada" }, order: { total: "descending" } })
    expect(found.instances).toHaveLength(15)
    expect(found.instances[0]).toMatchObject({ id: "o-4", fields: { total: 104 } })
    expect(found.filling).toBeUndefined()
    expect(await engine.indexes(Order)).toEqual({ filled: 30, isComplete: true })
  })
})
