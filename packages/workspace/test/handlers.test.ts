/** What async handlers of a configuration do with other instances and executions, as under `detent dev`, `serve` and `worker`. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Engine } from "@detent/durable"
import { workflow } from "@detent/durable/promise"
import { Event, Machine, Slot, State } from "@detent/machine"
import { defineConfig, Workspace } from "@detent/workspace"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const L = State({ Open: { booked: Schema.Finite } })
const B = Event({ Book: { amount: Schema.Finite } })
const Ledger = Machine.make({ name: "ledger", state: L, event: B, initial: L.Open({ booked: 0 }) }).on(
  L.Open,
  B.Book,
  L.Open,
  ({ state, event }) => L.Open({ booked: state.booked + event.amount }),
)

const Posting = workflow({ name: "posting", input: { amount: Schema.Finite } }, async ({ amount }, durable) =>
  durable.step("book", async ({ engine, key }) => {
    await engine.send(Ledger, "main", B.Book({ amount }), { id: key })
    return amount
  }),
)

const S = State({ Open: { amount: Schema.Finite }, Paying: {}, Paid: { booked: Schema.Finite } })
const E = Event({ Pay: {}, Booked: { booked: Schema.Finite } })
const effects = Slot.Effects({ post: Slot.effect({ amount: Schema.Finite }, { success: Schema.Finite }) })
const Order = Machine.make({ name: "order", state: S, event: E, effects, initial: S.Open })
  .on(S.Open, E.Pay, S.Paying, ({ state, effects }) => {
    effects.post({ amount: state.amount })
    return S.Paying()
  })
  .on(S.Paying, E.Booked, S.Paid)
  .final(S.Paid)
  .commands({ post: { onSuccess: (booked) => E.Booked({ booked }) } })
  .build({
    post: async ({ amount }, { engine, key }) => {
      await engine.ensure(Ledger, "main")
      return engine.workflows.run(Posting, `posting of ${key.replaceAll("/", " ")}`, { amount })
    },
  })

const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "detent-handlers-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true })),
)

describe("an async handler in a workspace", () => {
  it.live("starts an instance and a workflow, whose step sends to it", () =>
    Effect.gen(function* () {
      const config = defineConfig({ machines: [Order, Ledger], workflows: [Posting] })
      const booked = Effect.gen(function* () {
        const engine = yield* Engine
        const order = yield* engine.start(Order, "order-1", { amount: 42 })
        yield* order.send(E.Pay())
        const paid = yield* order.awaitFinal
        return [paid, yield* (yield* engine.ensure(Ledger, "main")).state]
      })
      const states = yield* Effect.provide(booked, Workspace.open({ data: yield* folder, role: "work", config }))
      assert.deepStrictEqual<unknown>(states, [
        { _tag: "Paid", booked: 42 },
        { _tag: "Open", booked: 42 },
      ])
    }),
  )
})
