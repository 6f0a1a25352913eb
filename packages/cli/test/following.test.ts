import { join } from "node:path"
import { assert, beforeAll, describe, it } from "vitest"
import { start as begin, detent as run, temporaryFolder } from "./support/Detent.ts"
import { project } from "./support/Project.ts"

const config = `
import { workflow } from "@detent/durable/promise"
import { Event, Machine, State } from "@detent/machine"
import { defineConfig } from "@detent/workspace/Config"
import * as Schema from "effect/Schema"
import * as Workflow from "effect/workflow/Workflow"
import * as Activity from "effect/workflow/Activity"
import * as Effect from "effect/Effect"

const S = State({ Open: { total: Schema.Int }, Paid: { total: Schema.Int }, Lost: {} })
const E = Event({ Add: { amount: Schema.Int, card: State.sensitive(Schema.String) }, Pay: {}, Lose: {} })
const Order = Machine.make({ name: "order", state: S, event: E, initial: S.Open })
  .on(S.Open, E.Add, S.Open, ({ state, event }) => S.Open({ total: state.total + event.amount }))
  .on(S.Open, E.Pay, S.Paid)
  .on(S.Open, E.Lose, S.Lost)
  .final(S.Paid)
  .final(S.Lost, { outcome: "failure" })

const Nightly = workflow({ name: "nightly", input: { day: Schema.String } }, async ({ day }, durable) => durable.step("prepare", async () => day))

const Trip = workflow(
  { name: "trip", input: { traveller: Schema.String }, events: { confirmed: Schema.Struct({ by: Schema.String }) } },
  async ({ traveller }, durable) => {
    const { by } = await durable.waitForEvent("confirmed")
    return durable.step("depart", async () => by + traveller)
  },
)

const Checkout = Workflow.make("checkout", { payload: { order: Schema.String }, success: Schema.String, idempotencyKey: ({ order }) => order })
const checkout = Checkout.toLayer(({ order }) => Activity.make({ name: "charge", success: Schema.String, execute: Effect.succeed(order) }))

export default defineConfig({ machines: [Order], workflows: [Nightly, Trip, { workflow: Checkout, layer: checkout }] })
`

let cwd = ""
const detent = (...args: ReadonlyArray<string>) => run(args, { cwd })
const start = (...args: ReadonlyArray<string>) => begin(args, { cwd })
const lines = (text: string) =>
  text
    .trim()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))

beforeAll(async () => {
  cwd = join(await temporaryFolder(), "orders")
  await project(cwd, config)
})

describe("detent instance watch", () => {
  it("shows each event of another process and ends with the instance, on the data folder alone", async () => {
    await detent("instance", "start", "order", "one", "--with", '{"total":1}')
    await detent("instance", "send", "one", "Add", "--with", '{"amount":2,"card":"pin-4711"}')
    const watching = start("instance", "watch", "one", "--after", "0", "--json")
    await watching.until(/"sequence":1/)
    await detent("instance", "send", "one", "Add", "--with", '{"amount":3,"card":"pin-4711"}')
    await watching.until(/"sequence":2/)
    await detent("instance", "send", "one", "Pay")
    const { code, out, err } = await watching.ended
    assert.strictEqual(code, 0, err)
    assert.deepStrictEqual(
      lines(out).map(({ sequence, event, state }) => [sequence, event._tag, state]),
      [
        [1, "Add", { _tag: "Open", total: 3 }],
        [2, "Add", { _tag: "Open", total: 6 }],
        [3, "Pay", { _tag: "Paid", total: 6 }],
      ],
    )
    assert.notInclude(out, "pin-4711")
    assert.include(err, "order/one has ended: it is Paid")
    // Of one that has ended, what there was is shown, and the command ends.
    const again = await detent("instance", "watch", "one", "--after", "1")
    assert.strictEqual(again.code, 0)
    assert.match(again.out, /^2 .*Add.*Open.*\n3 .*Pay {2}Open -> Paid\n$/)
    assert.strictEqual((await detent("instance", "watch", "one")).out, "")
    assert.strictEqual((await detent("instance", "watch", "none")).code, 3)
  })

  it("beside a server ends with 1 after a failure, and Ctrl-C ends the watching alone", async () => {
    const server = start("serve", "--port", "0")
    await server.until(/http:\S+/)
    await detent("instance", "start", "order", "two", "--with", '{"total":1}')
    const left = start("instance", "watch", "two")
    await left.until(/its last event is 0/)
    const stopped = await left.stop("SIGINT")
    assert.strictEqual(stopped.code, 130)
    assert.include(stopped.err, "Watch again with: detent instance watch order/two --after 0")
    const watching = start("instance", "watch", "two", "--json")
    await watching.until(/its last event is 0/)
    await detent("instance", "send", "two", "Lose")
    const { code, out, err } = await watching.ended
    assert.strictEqual(code, 1, err)
    assert.deepStrictEqual(
      lines(out).map(({ sequence, state }) => [sequence, state._tag]),
      [[1, "Lost"]],
    )
    await server.stop("SIGTERM")
  })
})

describe("detent execution start", () => {
  it("stores the execution where no process works, and a worker runs it", async () => {
    const started = await detent("execution", "start", "checkout", "--with", '{"order":"o-1"}', "--json")
    assert.strictEqual(started.code, 0, started.err)
    assert.include(started.err, "detent worker")
    const { id } = JSON.parse(started.out)
    const same = await detent("execution", "start", "workflow/checkout", "--with", '{"order":"o-1"}', "--json")
    assert.strictEqual(JSON.parse(same.out).id, id)
    const worker = await detent("worker", "--until-idle")
    assert.strictEqual(worker.code, 0, worker.err)
    const shown = JSON.parse((await detent("execution", "show", `checkout/${id}`, "--json")).out)
    assert.strictEqual(shown.phase, "Completed")
    const followed = await detent("instance", "watch", `workflow/checkout/${id}`, "--after", "0")
    assert.strictEqual(followed.code, 0)
    assert.include(followed.out, "Activity/charge")
  })

  it("sends it to a server, which runs it", async () => {
    const server = start("serve", "--port", "0")
    await server.until(/http:\S+/)
    const key = ["--id", "monday", "--key", "k"]
    const started = await detent("execution", "start", "nightly", "--with", '{"day":"monday"}', ...key, "--json")
    assert.strictEqual(started.code, 0, started.err)
    const watched = await detent("instance", "watch", "workflow/nightly/monday")
    assert.strictEqual(watched.code, 0, watched.err)
    const again = await detent("execution", "start", "nightly", "--with", '{"day":"monday"}', ...key, "--json")
    assert.strictEqual(JSON.parse(again.out).phase, "Completed")
    const other = await detent("execution", "start", "nightly", "--with", '{"day":"friday"}', ...key)
    assert.strictEqual(other.code, 4)
    assert.include(other.err, "key k belongs to a request with other content")
    const missing = await detent("execution", "start", "nightlie", "--id", "x")
    assert.strictEqual(missing.code, 3)
    assert.match(missing.err, /^detent: there is no workflow nightlie; use one of checkout, nightly, trip; asked the server at /)
    const unnamed = await detent("execution", "start", "nightly", "--with", '{"day":"monday"}')
    assert.strictEqual(unnamed.code, 2)
    assert.include(unnamed.err, "give one with --id")
    await server.stop("SIGTERM")
  })

  it.each([
    [["checkout", "--with", '{"ordr":"o-1"}'], 2, "ordr is not known; did you mean order?"],
    [["checkout", "--with", '{"order":7}'], 2, "got 7"],
    [["checkout"], 2, "order is missing"],
    [["nightly", "--with", '{"day":"monday"}'], 2, "give one with --id"],
    [["checkot"], 3, "there is no workflow checkot; use one of checkout, nightly, trip"],
    [["checkout", "--with", "[]"], 2, "is not a JSON object"],
  ])("refuses %j", async (args, code, text) => {
    const refused = await detent("execution", "start", ...args)
    assert.strictEqual(refused.code, code, refused.err)
    assert.include(refused.err, text)
  })

  it("says what a workflow takes", async () => {
    assert.include((await detent("machine", "show", "workflow/checkout")).out, '{"order":"…"}')
  })
})

describe("detent execution send", () => {
  const confirmed = ["confirmed", "--with", '{"by":"ada"}']
  const started = (id: string) => detent("execution", "start", "trip", "--id", id, "--with", '{"traveller":"Grace"}', "--json")
  const phase = async (id: string) => JSON.parse((await detent("execution", "show", `trip/${id}`, "--json")).out).phase

  it("stores the event where no process works, and a worker continues the execution with it", async () => {
    await started("alone")
    const sent = await detent("execution", "send", "trip/alone", ...confirmed, "--key", "k", "--json")
    assert.strictEqual(sent.code, 0, sent.err)
    assert.include(sent.err, "detent worker")
    const again = await detent("execution", "send", "workflow/trip/alone", ...confirmed, "--key", "k", "--json")
    assert.strictEqual(again.code, 0, again.err)
    const other = await detent("execution", "send", "trip/alone", "confirmed", "--with", '{"by":"bo"}', "--key", "k")
    assert.strictEqual(other.code, 4)
    assert.include(other.err, "key k belongs to a request with other content")
    assert.strictEqual((await detent("worker", "--until-idle")).code, 0)
    assert.strictEqual(await phase("alone"), "Completed")
    const { out } = await detent("instance", "history", "workflow/trip/alone")
    assert.lengthOf(out.match(/Deferred\/event\/confirmed/g) ?? [], 1)
  })

  it("sends it to a server, which continues the execution", async () => {
    const server = start("serve", "--port", "0")
    await server.until(/http:\S+/)
    await started("served")
    const sent = await detent("execution", "send", "trip/served", ...confirmed, "--key", "s")
    assert.strictEqual(sent.code, 0, sent.err)
    assert.strictEqual((await detent("instance", "watch", "workflow/trip/served")).code, 0)
    const other = await detent("execution", "send", "trip/served", "confirmed", "--with", '{"by":"bo"}')
    assert.strictEqual(other.code, 4)
    assert.include(other.err, "has event confirmed with another value")
    const early = await detent("execution", "send", "trip/early", ...confirmed, "--before-start", "--json")
    assert.strictEqual(JSON.parse(early.out).phase, "Waiting")
    await started("early")
    assert.strictEqual((await detent("instance", "watch", "workflow/trip/early")).code, 0)
    await server.stop("SIGTERM")
  })

  it.each([
    [["trip/none", ...confirmed], 3, "there is no execution none of workflow trip; see `detent execution list`"],
    [["trip/alone", "confirmd"], 2, "workflow trip has no event confirmd; did you mean confirmed?"],
    [["trip/alone", "confirmed", "--with", "ada"], 2, "--with ada is not JSON"],
    [["trip/alone", "confirmed", "--with", '"ada"'], 2, "does not fit"],
    [["trip/alone", "confirmed", "--with", '{"bye":"ada"}'], 2, "bye is not known; did you mean by?"],
    [["trip", "confirmed"], 2, "trip is not an execution"],
    [["checkout/x", "go"], 2, "name them as `events` in detent.config.ts"],
  ])("refuses %j", async (args, code, text) => {
    const refused = await detent("execution", "send", ...args)
    assert.strictEqual(refused.code, code, refused.err)
    assert.include(refused.err, text)
  })

  it("is what a send to an instance of a workflow points at; the events are shown with their values", async () => {
    const sent = await detent("instance", "send", "workflow/trip/alone", "confirmed")
    assert.include(sent.err, "see `detent execution send`")
    assert.include((await detent("machine", "show", "workflow/trip")).out, 'confirmed {"by":"…"}')
  })
})
