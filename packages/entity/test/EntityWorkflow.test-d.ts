/** What the compiler knows of a workflow, and what it refuses. */
import type { Machine } from "@detent/machine"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { EntityWorkflow, Processor, Registry } from "../src/index.ts"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const is = <_T extends true>() => undefined

class Ledger extends Context.Service<Ledger, { readonly book: (amount: number) => Effect.Effect<string> }>()("Ledger") {}

const Invoice = Schema.Struct({ amount: Schema.Finite, booking: Schema.optionalKey(Schema.String) })
type Invoice = typeof Invoice.Type

const registry = Registry.make(Invoice, {
  processors: {
    round: Processor.pure((invoice) => ({ ...invoice, amount: Math.round(invoice.amount) })),
    book: Processor.effect((invoice) =>
      Effect.flatMap(Ledger, ({ book }) => Effect.map(book(invoice.amount), (booking) => ({ ...invoice, booking }))),
    ),
  },
  criteria: { isSmall: (invoice) => invoice.amount < 1000 },
})

Registry.make(Invoice, {
  // @ts-expect-error what it returns is not an invoice
  processors: { lost: Processor.pure((invoice) => ({ total: invoice.amount })) },
})

Registry.make(Invoice, {
  // @ts-expect-error an invoice has no total
  criteria: { wrong: (invoice) => invoice.total > 1 },
})

const Approval = EntityWorkflow.make(registry, {
  name: "approval",
  states: ["received", "waiting", "approved"],
  initial: "received",
  failure: "give_up",
  transitions: [
    { name: "small", from: "received", to: "approved", criteria: ["isSmall"], processors: ["round"] },
    { name: "ask", from: "received", to: "waiting" },
    { name: "approve", from: "waiting", to: "approved", manual: true, processors: ["round", { name: "book", retry: { attempts: 3 } }] },
    { name: "give_up", from: ["received", "waiting"], to: "waiting", manual: true },
  ],
})

// States, events, input and services are known.
type State = Machine.StateOf<typeof Approval.machine>
is<Equal<State["_tag"], "received" | "waiting" | "approved">>()
is<Equal<State["entity"], Invoice>>()
is<Equal<Machine.EventOf<typeof Approval.machine>["_tag"], "approve" | "give_up" | "update">>()
is<Equal<Machine.InputOf<typeof Approval.machine>, Invoice>>()
is<Equal<Machine.ServicesOf<typeof Approval.machine>, Ledger>>()

Approval.trigger("approve", { patch: { amount: 3 }, argument: { by: "ada" } })
Approval.update({ booking: "b-1" })
// @ts-expect-error it is taken by itself
Approval.trigger("small")
// @ts-expect-error there is no such transition
Approval.trigger("reject")
// @ts-expect-error an amount is a number
Approval.trigger("approve", { patch: { amount: "3" } })
// @ts-expect-error an invoice has no total
Approval.update({ total: 3 })

const shape = { name: "shape", states: ["a", "b"], initial: "a" } as const

// @ts-expect-error c is not a state
EntityWorkflow.make(registry, { ...shape, transitions: [{ name: "go", from: "a", to: "c" }] })
// @ts-expect-error c is not a state
EntityWorkflow.make(registry, { ...shape, transitions: [{ name: "go", from: ["a", "c"], to: "b" }] })
// @ts-expect-error c is not a state
EntityWorkflow.make(registry, { ...shape, initial: "c", transitions: [{ name: "go", from: "a", to: "b" }] })
// @ts-expect-error c is not a state
EntityWorkflow.make(registry, { ...shape, ends: ["c"], transitions: [{ name: "go", from: "a", to: "b" }] })
// @ts-expect-error this processor is not registered
EntityWorkflow.make(registry, { ...shape, transitions: [{ name: "go", from: "a", to: "b", processors: ["shred"] }] })
// @ts-expect-error this criterion is not registered
EntityWorkflow.make(registry, { ...shape, transitions: [{ name: "go", from: "a", to: "b", criteria: ["round"] }] })
// @ts-expect-error no transition has this name
EntityWorkflow.make(registry, { ...shape, failure: "fail", transitions: [{ name: "go", from: "a", to: "b" }] })
EntityWorkflow.make(registry, { ...shape, transitions: [{ name: "go", from: "*", to: "b", manual: true }], ends: ["b"] })

// A registry made in the argument keeps its types.
const Inline = EntityWorkflow.make(
  Registry.make(Invoice, { processors: { half: Processor.pure((invoice) => ({ ...invoice, amount: invoice.amount / 2 })) } }),
  {
    ...shape,
    transitions: [{ name: "go", from: "a", to: "b", manual: true, processors: ["half"] }],
  },
)
is<Equal<Machine.ServicesOf<typeof Inline.machine>, never>>()
is<Equal<Machine.EventOf<typeof Inline.machine>["_tag"], "go" | "update">>()

// Of a file only the entity is known.
const loaded = EntityWorkflow.fromJson("{}", registry)
type Loaded = Effect.Success<typeof loaded>
is<Equal<Machine.StateOf<Loaded["machine"]>["_tag"], string>>()
is<Equal<Machine.StateOf<Loaded["machine"]>["entity"], Invoice>>()
is<Equal<Machine.ServicesOf<Loaded["machine"]>, Ledger>>()
