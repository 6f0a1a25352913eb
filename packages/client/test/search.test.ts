/** Finding instances by fields and labels: from a page through the client, and by a plain request. */
import { createClient, Refused } from "@detent/client"
import { Event, Machine, State } from "@detent/machine"
import { defineConfig } from "@detent/server"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { expect, it } from "vitest"
import { useServed } from "../../server/test/support/served.ts"

const S = State({ Open: { customer: Schema.String, total: Schema.Finite, dueAt: Schema.Date, gift: Schema.Boolean } })
const E = Event({ Add: { amount: Schema.Finite } })
const Order = Machine.make({ name: "order", state: S, event: E, initial: S.Open })
  .index({
    customer: (state) => state.customer,
    total: (state) => state.total,
    dueAt: (state) => state.dueAt,
    gift: (state) => state.gift,
  })
  .on(S.Open, E.Add, S.Open, ({ state, event }) => S.Open({ ...state, total: state.total + event.amount }))

const server = useServed({ config: defineConfig({ machines: [Order] }) })

it("a page finds, orders and pages instances by fields, labels them, and learns what it got wrong", async () => {
  const { url } = await Effect.runPromise(server)
  const { order } = createClient<{ readonly order: typeof Order }>({ url })
  const start = (id: string, customer: string, total: number, day: number) =>
    order.start(id, { customer, total, dueAt: new Date(Date.UTC(2026, 0, day)).toISOString(), gift: total > 25 } as never)
  await start("o-1", "Ada, Countess", 10, 3)
  await start("o-2", 'a "b"', 20, 2)
  await start("o-3", "Ada, Countess", 30, 1)
  const idsOf = async (options: Parameters<typeof order.list>[0]) => (await order.list(options)).instances.map(({ id }) => id)
  expect(await idsOf({ where: { customer: "Ada, Countess" }, order: { dueAt: "ascending" } })).toEqual(["o-3", "o-1"])
  expect(await idsOf({ where: { customer: 'a "b"' } })).toEqual(["o-2"])
  expect(await idsOf({ where: { total: { above: 10, atMost: 20 } } })).toEqual(["o-2"])
  expect(await idsOf({ where: { dueAt: { below: new Date(Date.UTC(2026, 0, 2)) }, gift: true } })).toEqual(["o-3"])
  expect(await idsOf({ where: { customer: { startsWith: "Ada" } }, state: "Open", search: "o-1" })).toEqual(["o-1"])
  const first = await order.list({ order: { total: "descending" }, limit: 2 })
  expect(first.instances.map(({ id, fields }) => [id, fields?.["total"]])).toEqual([
    ["o-3", 30],
    ["o-2", 20],
  ])
  expect(await idsOf({ order: { total: "descending" }, limit: 2, ...(first.next === undefined ? {} : { after: first.next }) })).toEqual([
    "o-1",
  ])
  expect(await order("o-2").label({ incident: "42", team: "ops" })).toEqual({ incident: "42", team: "ops" })
  expect(await order("o-2").label({ team: null })).toEqual({ incident: "42" })
  expect(await idsOf({ labels: { incident: "42" } })).toEqual(["o-2"])
  const refusal = (where: object) =>
    order.list({ where: where as never }).then(
      () => "accepted",
      (error: unknown) => (error instanceof Refused ? [error.status, error.kind, error.detail] : error),
    )
  expect(await refusal({ town: "x" })).toEqual([
    422,
    "SearchRefused",
    expect.stringContaining("its indexes are customer, total, dueAt, gift"),
  ])
  expect(await refusal({ total: "x" })).toEqual([422, "SearchRefused", expect.stringContaining("give a number, such as 100")])
  const plain = async (query: string) => (await fetch(`${url}/api/v1/instances?${query}`)).json() as Promise<{ readonly detail?: string }>
  expect((await plain("where=customer%3Dada")).detail).toContain("name the machine")
  expect((await plain("machine=order&where=customer")).detail).toContain("customer is followed by no sign; write conditions such as")
  expect((await plain(`machine=order&where=customer%3D${"x".repeat(600)}`)).detail).toContain("the limit is 500")
  expect((await plain("machine=order&order=dueAt:up")).detail).toContain("give oldest, newest, or a field with :asc or :desc")
  const machines = (await (await fetch(`${url}/api/v1/machines`)).json()) as { readonly machines: ReadonlyArray<{ readonly name: string }> }
  expect(machines.machines.find(({ name }) => name === "order")).toMatchObject({
    indexes: [
      { name: "customer", kind: "text" },
      { name: "total", kind: "number" },
      { name: "dueAt", kind: "instant" },
      { name: "gift", kind: "boolean" },
    ],
  })
})
