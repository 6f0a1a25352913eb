import { Engine } from "@detent/durable"
import { defineConfig, Workspace } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import { Order, StrictOrder } from "../support/Order.ts"
import { json, request, served, temporaryFolder, useServed } from "../support/served.ts"
import { Tally } from "../support/Tally.ts"

const config = defineConfig({ machines: [Tally, Order] })

const shared = useServed({ config })

const tally = (id: string) => ({ params: { machine: "tally", id } })

const start = (id: string, machine = "tally") => ({ params: { machine }, payload: { id } })

const send = (id: string, event: { readonly _tag: string } & Record<string, unknown>, machine = "tally") => ({
  params: { machine, id },
  headers: {},
  payload: event as never,
})

const read = (url: string) => Effect.map(request(url), ({ status, text }) => ({ status, ...JSON.parse(text) }))

const problem = ({ status, type }: { readonly status: number; readonly type: string }) => [status, type.replace("urn:detent:problem:", "")]

describe("lists of instances", () => {
  it.live("are newest first, by states, and by the beginning of an id", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served({ config })
      for (const id of ["a-1", "a-2", "b-1", "b-2"]) yield* client.instances.start(start(id))
      yield* client.instances.start(start("a-3", "order"))
      yield* client.instances.send(send("a-1", { _tag: "Pause" }))
      yield* client.instances.send(send("b-1", { _tag: "Close" }))
      const list = (query: string) =>
        Effect.map(
          read(`${url}/api/v1/instances?${query}`),
          ({ instances, ...page }) => [instances.map((one: { id: string }) => one.id), page] as const,
        )
      const [newest] = yield* list("machine=tally&order=newest")
      assert.deepStrictEqual(newest, ["b-1", "a-1", "b-2", "a-2"])
      assert.deepStrictEqual((yield* list("machine=tally&order=newest&state=Paused&state=Closed"))[0], ["b-1", "a-1"])
      assert.deepStrictEqual((yield* list("state=Paused&state=Placed&order=newest"))[0], ["a-1", "a-3"])
      assert.deepStrictEqual((yield* list("status=running&order=newest"))[0], ["a-1", "a-3", "b-2", "a-2"])
      assert.deepStrictEqual((yield* list("search=a-"))[0], ["a-3", "a-1", "a-2"])
      assert.deepStrictEqual((yield* list("search=b-&status=final"))[0], ["b-1"])
      assert.deepStrictEqual((yield* list("machine=tally&search=none"))[0], [])
    }),
  )

  it.live("have pages in both orders that neither skip nor repeat", () =>
    Effect.gen(function* () {
      const { client } = yield* served({ config })
      const ids = Array.from({ length: 9 }, (_, index) => `n-${index}`)
      for (const id of ids) yield* client.instances.start(start(id, Number(id.slice(2)) % 2 === 0 ? "tally" : "order"))
      const walk = (query: { readonly order?: "newest"; readonly search?: string; readonly state?: ReadonlyArray<string> }) =>
        Effect.gen(function* () {
          const found: Array<string> = []
          for (let after: Extract<Effect.Success<ReturnType<typeof client.instances.list>>, { readonly instances: unknown }>["next"]; ; ) {
            const page = yield* client.instances.list({ query: { ...query, limit: 2, ...(after === undefined ? {} : { after }) } })
            found.push(...page.instances.map(({ id }) => id))
            if (page.next === undefined) return found
            after = page.next
          }
        })
      assert.deepStrictEqual(yield* walk({ order: "newest" }), ids.toReversed())
      assert.deepStrictEqual(yield* walk({ order: "newest", state: ["Open", "Placed"] }), ids.toReversed())
      assert.deepStrictEqual((yield* walk({ search: "n-" })).toSorted(), ids)
    }),
  )
})

describe("the history of an instance", () => {
  it.live("is read backwards, by event, and in brief, with what caused each event", () =>
    Effect.gen(function* () {
      const { client, url } = yield* shared
      yield* client.instances.start(start("one"))
      for (let by = 1; by <= 7; by++) yield* client.instances.send(send("one", { _tag: "Add", by }))
      yield* client.instances.send({ ...send("one", { _tag: "Pause" }), headers: { "idempotency-key": "k-1" } })
      const history = (query: string) => read(`${url}/api/v1/instances/tally/one/history?${query}`)
      const numbers = ({ entries }: { readonly entries: ReadonlyArray<{ readonly sequence: number }> }) =>
        entries.map(({ sequence }) => sequence)
      const last = yield* history("order=desc&limit=3")
      assert.deepStrictEqual([numbers(last), last.next], [[8, 7, 6], 6])
      assert.deepStrictEqual(numbers(yield* history(`order=desc&limit=3&before=${last.next}`)), [5, 4, 3])
      assert.deepStrictEqual(numbers(yield* history("order=desc&before=3")), [2, 1])
      assert.deepStrictEqual(numbers(yield* history("after=2&before=6")), [3, 4, 5])
      assert.deepStrictEqual(numbers(yield* history("event=paus&order=desc")), [8])
      const some = yield* history("event=ADD&limit=2")
      assert.deepStrictEqual([numbers(some), some.next], [[1, 2], 2])
      assert.deepStrictEqual(numbers(yield* history("event=add&order=desc&limit=2&before=6")), [5, 4])
      const { entries } = yield* history("brief=true&limit=10000")
      assert.strictEqual(entries.length, 8)
      assert.deepInclude(entries[0], {
        event: { _tag: "Add" },
        from: "Open",
        state: { _tag: "Open" },
        outcome: "Stay",
        cause: { kind: "sender" },
      })
      assert.deepStrictEqual(entries[7].cause, { kind: "sender", id: "k-1" })
      assert.strictEqual((yield* history("limit=10001")).status, 400)
    }),
  )

  it.live("shows which events were legal at any point of it", () =>
    Effect.gen(function* () {
      const { client, url } = yield* shared
      yield* client.instances.start(start("two"))
      yield* client.instances.send(send("two", { _tag: "Pause" }))
      const now = yield* client.instances.legalEvents(tally("two"))
      const before = yield* read(`${url}/api/v1/instances/tally/two/legal-events?at=0`)
      assert.deepStrictEqual([now.state, now.events.map(({ event }) => event)], ["Paused", ["Resume", "Close"]])
      assert.deepStrictEqual(
        [before.state, before.events.map(({ event }: { event: string }) => event)],
        ["Open", ["Add", "Pause", "Close", "Count"]],
      )
    }),
  )
})

describe("an event before it is sent", () => {
  it.live("shows where it would lead and what it would request, and changes nothing", () =>
    Effect.gen(function* () {
      const { client, url } = yield* shared
      yield* client.instances.start(start("previewed", "order"))
      const events = `${url}/api/v1/instances/order/previewed/events?dryRun=true`
      const paid = yield* request(events, json({ _tag: "Pay", amount: 10, card: "pin-4711" }))
      assert.deepStrictEqual(JSON.parse(paid.text), {
        dryRun: true,
        outcome: "Goto",
        from: "Placed",
        state: { _tag: "Paid", total: 10 },
        through: [],
        requests: ["charge"],
        timers: [],
        raises: [],
      })
      const refused = yield* request(events, json({ _tag: "Pay", amount: 9, card: "pin-4711" }))
      assert.deepStrictEqual([refused.status, JSON.parse(refused.text).type], [409, "urn:detent:problem:TransitionRefused"])
      assert.include(JSON.parse(refused.text).detail, "covered does not hold")
      assert.strictEqual((yield* client.instances.get({ params: { machine: "order", id: "previewed" } })).sequence, 0)
    }),
  )
})

describe("acting on an instance", () => {
  it.live("forks it from any step, and fires its timer once for a key", () =>
    Effect.gen(function* () {
      const { client, url } = yield* shared
      yield* client.instances.start(start("o", "order"))
      yield* client.instances.send(send("o", { _tag: "Note", text: "first" }, "order"))
      const forked = yield* request(`${url}/api/v1/instances/order/o/fork`, json({ id: "p", sequence: 0 }))
      assert.deepInclude(JSON.parse(forked.text), { id: "p", sequence: 0 })
      const whole = yield* request(`${url}/api/v1/instances/order/o/fork`, json({ id: "q" }))
      assert.deepInclude(JSON.parse(whole.text), { id: "q", sequence: 1 })
      const fire = `${url}/api/v1/instances/order/o/timers/overdue/fire`
      const fired = yield* request(fire, { method: "POST", headers: { "idempotency-key": "f-1" } })
      assert.deepInclude(JSON.parse(fired.text), { state: { _tag: "Lost" }, status: "final", outcome: "failure" })
      const again = yield* request(fire, { method: "POST", headers: { "idempotency-key": "f-1" } })
      assert.strictEqual(again.text, fired.text)
      const none = yield* request(fire, { method: "POST" })
      assert.deepStrictEqual([none.status, JSON.parse(none.text).detail], [404, "order o has no timer overdue; it has none"])
    }),
  )

  it.live("shows what holds it, tries a repair, and repairs it", () =>
    Effect.gen(function* () {
      const data = yield* temporaryFolder
      const scope = yield* Scope.make()
      const before = yield* Scope.provide(Layer.build(Workspace.open({ data, role: "work", config })), scope)
      const order = yield* Effect.orDie(Context.get(before, Engine).start(Order, "o"))
      yield* Effect.orDie(order.send({ _tag: "Note", text: "hello" }))
      yield* Scope.close(scope, Exit.void)
      const { url } = yield* served({ data, config: defineConfig({ machines: [StrictOrder] }) })
      const address = `${url}/api/v1/instances/order/o`
      const view = yield* read(address)
      assert.deepInclude(view, { status: "held", state: { _tag: "Placed" }, sequence: 1 })
      assert.deepInclude(view.held, { sequence: 1, stored: { _tag: "Note", text: "hello" } })
      assert.isAbove(view.held.problem.length, 10)
      const repair = (body: object) =>
        Effect.map(request(`${address}/repair`, json(body)), ({ status, text }) => ({ status, ...JSON.parse(text) }))
      const wrong = yield* repair({ sequence: 1, event: { _tag: "Note", text: "again" }, dryRun: true })
      assert.deepStrictEqual(problem(wrong), [409, "RepairRefused"])
      const tried = yield* repair({ sequence: 1, event: { _tag: "Lose" }, dryRun: true })
      assert.deepInclude(tried, { status: "held" })
      assert.deepInclude(yield* repair({ sequence: 1, event: { _tag: "Lose" } }), { status: "final", state: { _tag: "Lost" } })
    }),
  )

  it.live("sends an event to all that meet conditions, by a job that is an instance", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served({ config })
      for (let index = 0; index < 30; index++) yield* client.instances.start(start(`t-${String(index).padStart(2, "0")}`))
      yield* client.instances.send(send("t-03", { _tag: "Close" }))
      const bulk = (body: object) =>
        Effect.map(request(`${url}/api/v1/instances/bulk`, json(body)), ({ status, text }) => ({ status, ...JSON.parse(text) }))
      const filter = { machine: "tally", state: "Open" }
      const counted = yield* bulk({ filter, event: { _tag: "Pause" }, dryRun: true })
      assert.deepStrictEqual([counted.count, counted.sample.slice(0, 4), counted.job], [29, ["t-00", "t-01", "t-02", "t-04"], undefined])
      const started = yield* bulk({ filter, event: { _tag: "Pause" } })
      const done = yield* Effect.repeat(read(`${url}/api/v1/instances/bulk/${started.job.id}`), {
        until: ({ status }) => status === "final",
        schedule: Schedule.spaced("50 millis"),
      })
      assert.deepInclude(done.state, { _tag: "Done", sent: 29, refused: 0, event: "Pause", fields: "•••" })
      assert.strictEqual((yield* client.instances.list({ query: { machine: "tally", state: "Paused" } })).instances.length, 29)
      assert.deepStrictEqual(problem(yield* bulk({ filter, event: { _tag: "Sing" } })), [422, "InvalidEvent"])
      assert.deepStrictEqual(problem(yield* bulk({ filter: { machine: "none" }, event: { _tag: "Pause" } })), [404, "MachineNotFound"])
      const refused = yield* bulk({ filter: { machine: "tally", search: "t-0" }, event: { _tag: "Pause" } })
      const ended = yield* Effect.repeat(read(`${url}/api/v1/instances/bulk/${refused.job.id}`), {
        until: ({ status }) => status === "final",
        schedule: Schedule.spaced("50 millis"),
      })
      assert.deepInclude(ended.state, { sent: 0, refused: 10 })
      assert.strictEqual(ended.state.problems.length, 10)
    }),
  )
})

describe("commands", () => {
  it.live("are grouped by cause, show their parameters without secrets, and are retried and skipped by cause", () =>
    Effect.gen(function* () {
      const { client, url } = yield* shared
      for (const id of ["o-1", "o-2"]) {
        yield* client.instances.start(start(id, "order"))
        yield* client.instances.send(send(id, { _tag: "Pay", amount: 12, card: "pin-4711" }, "order"))
      }
      const groups = Effect.map(read(`${url}/api/v1/commands/groups?status=failed`), ({ groups: all }) => all)
      const [group] = yield* Effect.repeat(groups, { until: ([first]) => first?.count === 2, schedule: Schedule.spaced("50 millis") })
      assert.deepInclude(group, { slot: "charge", count: 2 })
      assert.include(group.problem, "card 12 was declined")
      const { commands } = yield* client.commands.list({ query: { fingerprint: group.fingerprint, status: "failed" } })
      assert.deepStrictEqual(
        commands.map(({ parameters }) => parameters),
        [
          { amount: 12, card: "•••" },
          { amount: 12, card: "•••" },
        ],
      )
      const none = yield* request(`${url}/api/v1/commands/skip`, json({ filter: { fingerprint: "none" }, reason: "x", dryRun: true }))
      assert.deepStrictEqual(JSON.parse(none.text), { count: 0, dryRun: true })
      // A dry run does not use up its key: the request that it tried is sent under the same one.
      const keyed = (path: string, body: object) =>
        Effect.map(request(`${url}${path}`, json(body, { "idempotency-key": path })), ({ text }) => JSON.parse(text))
      const skip = { filter: { fingerprint: group.fingerprint, id: "o-1" }, reason: "the bank is closed" }
      assert.deepStrictEqual(yield* keyed("/api/v1/commands/skip", { ...skip, dryRun: true }), { count: 1, dryRun: true })
      assert.deepStrictEqual(yield* keyed("/api/v1/commands/skip", skip), { count: 1, dryRun: false })
      assert.deepInclude((yield* groups)[0], { count: 1 })
      const retry = { fingerprint: group.fingerprint, force: true }
      assert.deepStrictEqual(yield* keyed("/api/v1/commands/retry", { ...retry, dryRun: true }), { count: 1, dryRun: true })
      assert.deepStrictEqual(yield* keyed("/api/v1/commands/retry", retry), { count: 1, dryRun: false })
      // The bank declines once more.
      const retried = client.commands.list({ query: { fingerprint: group.fingerprint, status: "failed" } })
      const isFailedAgain = ({ commands: [one] }: Effect.Success<typeof retried>) => one?.round === 1
      yield* Effect.repeat(retried, { until: isFailedAgain, schedule: Schedule.spaced("50 millis") })
    }),
  )

  it.live("have queues with their limits, what waits and who works", () =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const limited = yield* request(`${url}/api/v1/queues/order`, {
        ...json({ concurrency: 3, rate: { limit: 5, intervalMillis: 1000 } }),
        method: "PUT",
      })
      assert.deepInclude(JSON.parse(limited.text), {
        queue: "order",
        concurrency: 3,
        rate: { limit: 5, intervalMillis: 1000 },
        running: 0,
        workers: [],
      })
      const freed = yield* request(`${url}/api/v1/queues/order`, { ...json({ concurrency: null }), method: "PUT" })
      assert.notProperty(JSON.parse(freed.text), "concurrency")
      assert.deepInclude(JSON.parse(freed.text), { rate: { limit: 5, intervalMillis: 1000 } })
    }),
  )

  it.live("have groups with limits of their own, which a request sets and replaces", () =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const put = (path: string, body: object) => request(`${url}/api/v1/queues/${path}`, { ...json(body), method: "PUT" })
      const each = yield* put("parcels", { perGroup: { concurrency: 2 } })
      assert.deepInclude(JSON.parse(each.text), { queue: "parcels", perGroup: { concurrency: 2 } })
      const own = yield* put("parcels/groups/acme%2Fberlin", { concurrency: 8, rate: { limit: 5, intervalMillis: 1000 } })
      assert.deepStrictEqual(JSON.parse(own.text), {
        queue: "parcels",
        group: "acme/berlin",
        concurrency: 8,
        rate: { limit: 5, intervalMillis: 1000 },
      })
      yield* put("parcels/groups/bloom", { concurrency: 1 })
      const page = yield* request(`${url}/api/v1/queues/parcels/groups?limit=1`)
      assert.deepStrictEqual(JSON.parse(page.text), {
        groups: [{ group: "acme/berlin", pending: 0, running: 0, own: { concurrency: 8, rate: { limit: 5, intervalMillis: 1000 } } }],
        next: "acme/berlin",
      })
      yield* put("parcels/groups/acme%2Fberlin", { concurrency: null })
      const rest = yield* request(`${url}/api/v1/queues/parcels/groups`)
      assert.deepStrictEqual(JSON.parse(rest.text), { groups: [{ group: "bloom", pending: 0, running: 0, own: { concurrency: 1 } }] })
      const gone = yield* put("parcels", { perGroup: null })
      assert.notProperty(JSON.parse(gone.text), "perGroup")
      for (const [path, body] of [
        ["parcels", { perGroup: { concurrency: 0 } }],
        ["parcels/groups/acme", { concurrency: 0 }],
        ["parcels/groups/acme", { rate: { limit: 1, intervalMillis: 0 } }],
        ["parcels/groups/acme", { perGroup: {} }],
        [`parcels/groups/${"x".repeat(501)}`, { concurrency: 1 }],
      ] as const)
        assert.strictEqual((yield* put(path, body)).status, 400)
    }),
  )
})

describe("the server", () => {
  it.live("lays out a diagram once, shows schemas of states, its processes and its metrics", () =>
    Effect.gen(function* () {
      const { client, url } = yield* shared
      const layout = yield* client.machines.layout({ params: { machine: "tally" }, query: {} })
      assert.deepStrictEqual(
        layout.states.map(({ state }) => state),
        ["Open", "Paused", "Closed"],
      )
      assert.isTrue(layout.edges.some(({ from, to, causes }) => from === "state:Open" && to === "state:Paused" && causes.includes("Pause")))
      assert.isTrue(layout.edges.every(({ points }) => points.length >= 2))
      assert.strictEqual((yield* request(`${url}/api/v1/machines/none/diagram/layout`)).status, 404)
      const machine = yield* client.machines.get({ params: { machine: "tally" } })
      assert.deepStrictEqual(Object.keys(machine.stateSchemas), ["Open", "Paused", "Closed"])
      const { processes } = yield* client.cluster.nodes()
      assert.deepInclude(processes[0], { here: true, role: "work" })
      assert.isAbove(processes[0]?.rss ?? 0, 1_000_000)
      const history = yield* client.metricsHistory({ query: {} })
      assert.strictEqual(history.stepMillis, 5000)
      assert.isTrue(history.series.some(({ name, values }) => name === "detent_resident_bytes" && (values[0] ?? 0) > 1_000_000))
    }),
  )
})
