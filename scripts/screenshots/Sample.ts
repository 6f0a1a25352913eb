/** A sample workspace for pictures of the console: subscriptions in every state, dead letters, a graph, an upload. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import * as clients from "@detent/api/client"
import { bankAnswersAfter, firstOrders, fullMailboxes, makeShop, serveProvider, unpaidOrder } from "@detent/cli/demo"
import { Event, Machine, RetryPolicy, refuse, Slot, State } from "@detent/machine"
import { defineConfig, Server, serve, Workspace } from "@detent/server"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Activity from "effect/workflow/Activity"
import * as DurableClock from "effect/workflow/DurableClock"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { root } from "../projects.mjs"

const fields = { customer: Schema.String, plan: Schema.Literals(["basic", "team", "enterprise"]), attempts: Schema.Int }

const state = State({
  Trial: fields,
  Active: fields,
  PastDue: fields,
  Paused: fields,
  Ended: { ...fields, reason: Schema.String },
})

const event = Event({
  Activate: { card: Event.sensitive(Schema.String) },
  PaymentReceived: { amount: Schema.Int },
  PaymentFailed: {},
  Pause: { until: Schema.String },
  Resume: {},
  Cancel: { reason: Schema.Literals(["price", "quality", "moved"]) },
})

const Subscription = Machine.make({
  name: "subscription",
  state,
  event,
  effects: Slot.Effects({ charge: {}, sendEmail: { template: Schema.String } }),
  initial: state.Trial({ customer: "", plan: "team", attempts: 0 }),
})
  .on(state.Trial, event.Activate, state.Active, ({ state: { customer, plan } }) => state.Active({ customer, plan, attempts: 0 }))
  .on(state.Active, event.PaymentReceived, state.Active, ({ state: before, event: { amount } }) =>
    amount <= 0 ? refuse("a payment must be more than 0") : state.Active({ ...before, attempts: 0 }),
  )
  .on(state.Active, event.PaymentFailed, state.PastDue, ({ state: before }) => state.PastDue({ ...before, attempts: before.attempts + 1 }))
  .on(state.PastDue, event.PaymentReceived, state.Active, ({ state: before }) => state.Active({ ...before, attempts: 0 }))
  .on(state.Active, event.Pause, state.Paused, ({ state: before }) => state.Paused(before))
  .on(state.Paused, event.Resume, state.Active, ({ state: before }) => state.Active(before))
  .on([state.Trial, state.Active, state.PastDue, state.Paused], event.Cancel, state.Ended, ({ state: before, event: { reason } }) =>
    state.Ended({ ...before, reason }),
  )
  .enter(state.Active, ({ effects }) => effects.charge())
  .enter(state.PastDue, ({ effects }) => effects.sendEmail({ template: "payment-failed" }))
  .timeout(state.PastDue, "14 days", state.Ended, ({ state: before }) => state.Ended({ ...before, reason: "unpaid" }), {
    name: "grace period",
  })
  .final(state.Ended)
  .commands({ sendEmail: { retry: RetryPolicy.fixed({ delay: "1 millis", maxAttempts: 3 }) } })
  .build({
    charge: () => Effect.void,
    sendEmail: () => Effect.die(new Error("550 5.1.1 mailbox unavailable")),
  })

const Delivered = DurableDeferred.make("delivered", { success: Schema.String })

const Checkout = Workflow.make("checkout", {
  payload: { order: Schema.String, items: Schema.Int },
  success: Schema.String,
  idempotencyKey: ({ order }) => order,
})

/** The first payment attempt fails. The workflow waits until the delivery is reported. */
const checkoutLayer = Checkout.toLayer(({ order, items }) =>
  Effect.gen(function* () {
    const step = (name: string, millis: number) =>
      Activity.make({ name, success: Schema.String, execute: Effect.as(Effect.sleep(millis), `${name}: ${order}`) })
    yield* step("reserve stock", 140)
    const charge = Activity.make({
      name: "charge card",
      success: Schema.String,
      error: Schema.String,
      execute: Effect.flatMap(Activity.CurrentAttempt, (attempt) =>
        Effect.delay(attempt === 1 ? Effect.fail("the bank did not answer") : Effect.succeed("paid"), 220),
      ),
    })
    yield* Effect.orDie(Activity.retry(charge, { times: 3 }))
    for (let item = 1; item <= items; item++) yield* step(`pack item ${item}`, 60 + item * 30)
    yield* DurableClock.sleep({ name: "pick-up window", duration: "300 millis", inMemoryThreshold: "1 millis" })
    yield* step("hand over to the carrier", 90)
    return yield* DurableDeferred.await(Delivered)
  }),
)

const names = ["ada", "brandt", "chen", "dubois", "eriksen", "fatima", "garcia", "haruki", "ines", "jonas"]

const events = {
  activate: { _tag: "Activate", card: "4242" },
  paid: { _tag: "PaymentReceived", amount: 49 },
  failed: { _tag: "PaymentFailed" },
  pause: { _tag: "Pause", until: "2027-01-01" },
  cancel: { _tag: "Cancel", reason: "moved" },
} as const

const ways: ReadonlyArray<ReadonlyArray<keyof typeof events>> = [
  [],
  ["activate"],
  ["activate", "paid", "paid"],
  ["activate", "paid", "failed"],
  ["activate", "pause"],
  ["activate", "paid", "cancel"],
  ["activate", "failed", "paid", "failed"],
]

/** Serves the sample until the scope ends. */
export const sample = (
  data: string,
  port: number,
): Effect.Effect<{ readonly url: string; readonly batchId: string; readonly uploadId: string }, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const corpus = join(root, "packages/knowledge/corpus")
    const providers = yield* serveProvider({ ledger: join(data, "charges.jsonl"), answersAfter: bankAnswersAfter, fullMailboxes })
    const config = defineConfig({
      machines: [Subscription, makeShop(providers.url)],
      workflows: [{ workflow: Checkout, layer: checkoutLayer, events: { delivered: Delivered } }],
    })
    const opened = Workspace.open({ config, data, role: "work", readable: [corpus], knowledge: {}, uploads: {} })
    const context = yield* Layer.build(Layer.provide(serve({ port }), opened))
    const { url } = Context.get(context, Server)
    const client = yield* clients.makeClient({ url })
    for (let index = 0; index < 60; index++) {
      const name = names[index % names.length] ?? ""
      const id = `sub-${100 + index}`
      const params = { machine: "subscription", id }
      yield* client.instances.start({ params, payload: { id, input: { customer: name, plan: "team", attempts: 0 } } })
      for (const step of ways[index % ways.length] ?? []) yield* client.instances.send({ params, headers: {}, payload: events[step] })
    }
    for (const [id, input] of Object.entries(firstOrders)) {
      yield* client.instances.start({ params: { machine: "order" }, payload: { id, input } })
      if (id !== unpaidOrder) yield* client.instances.send({ params: { machine: "order", id }, headers: {}, payload: { _tag: "Pay" } })
    }
    for (const order of ["order-301", "order-302", "order-303"])
      yield* client.executions.start({ params: { workflow: "checkout" }, payload: { payload: { order, items: 4 } } })
    const manifest = JSON.parse(readFileSync(join(corpus, "manifest.json"), "utf8"))
    const folder = `${pathToFileURL(corpus).href}/` as never
    const { batchId } = yield* client.batches.start({ headers: {}, payload: { folder, manifest } })
    const lines = Array.from({ length: 400 }, (_, index) =>
      JSON.stringify(
        index % 37 === 5
          ? { type: "story" }
          : { id: index + 1, type: index % 41 === 7 ? "riddle" : "story", by: "ada", time: 1_700_000_000 + index, title: `Story ${index}` },
      ),
    )
    const form = new FormData()
    form.append("file", new Blob([lines.join("\n")]), "items.jsonl")
    const uploaded = yield* Effect.promise(async () => (await fetch(`${url}/api/v1/uploads`, { method: "POST", body: form })).json())
    for (let turn = 0; turn < 600 && !(yield* client.batches.get({ params: { batchId } })).isTerminal; turn++)
      yield* Effect.sleep("100 millis")
    return { url, batchId, uploadId: String((uploaded as { readonly batchId?: string }).batchId) }
  })
