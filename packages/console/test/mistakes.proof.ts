/** What goes wrong while a person acts: answers that are lost or late, filters that change, streams that fall silent, clocks that are off. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { Event, Machine, State } from "@detent/machine"
import { defineConfig } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { noBrowser, useBrowser } from "../../server/test/support/browser.ts"
import { served, temporaryFolder, useServed } from "../../server/test/support/served.ts"
import { Tally } from "../../server/test/support/Tally.ts"
import { unless } from "../../store/test/support/skipping.ts"

const state = State({ Open: { count: Schema.Int } })

/** The same machine, before and after its event got a field that stored events do not have. */
const ledger = (more: Schema.Struct.Fields) => {
  const event = Event({ Add: { by: Schema.Int, card: State.sensitive(Schema.String), ...more } })
  return Machine.make({ name: "ledger", state, event, initial: state.Open({ count: 0 }) }).on(
    state.Open,
    event.Add,
    state.Open,
    ({ state: now, event: { by } }) => state.Open({ count: now.count + by }),
  )
}

const spaced = State({ "In <b>review</b>": {}, "Signed off": {} })
const sign = Event({ Sign: {} })

/** Its states have spaces and markup in their names. */
const Review = Machine.make({ name: "review/1", state: spaced, event: sign, initial: spaced["In <b>review</b>"]() }).on(
  spaced["In <b>review</b>"],
  sign.Sign,
  spaced["Signed off"],
)

const holding = State({ Holding: { content: Schema.Unknown } })
const put = Event({ Put: { content: Schema.Unknown } })

/** Takes anything, which a person writes as JSON. */
const Box = Machine.make({ name: "box", state: holding, event: put, initial: holding.Holding({ content: null }) }).on(
  holding.Holding,
  put.Put,
  holding.Holding,
  ({ event: { content } }) => holding.Holding({ content }),
)

/** Passes on what clients and a server send, until it is silenced: then connections stay open and nothing arrives. */
const proxyOf = (port: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const sockets = new Set<Socket>()
      const silenced = new Set<Socket>()
      const server = createServer((client) => {
        const upstream = connect(port, "127.0.0.1")
        sockets.add(client).add(upstream)
        client.on("data", (data) => upstream.write(data))
        upstream.on("data", (data) => {
          if (!silenced.has(upstream)) client.write(data)
        })
        for (const socket of [client, upstream]) socket.on("error", () => socket.destroy())
        client.on("close", () => upstream.destroy())
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const close = () => {
        for (const socket of sockets) socket.destroy()
        server.close()
      }
      const silence = () => {
        for (const socket of sockets) silenced.add(socket)
      }
      return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, silence, close }
    }),
    ({ close }) => Effect.sync(close),
  )

describe("mishaps in the console", unless(noBrowser), () => {
  const openTab = useBrowser()
  const shared = useServed({ config: defineConfig({ machines: [Tally, Review, Box] }) })
  const start = (...ids: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      const { url, client } = yield* shared
      for (const id of ids) yield* client.instances.start({ params: { machine: "tally" }, payload: { id } })
      return {
        url,
        client,
        sequenceOf: (id: string) => Effect.map(client.instances.get({ params: { machine: "tally", id } }), (one) => one.sequence),
      }
    })

  it.live("sends to picked rows only while they are shown, and never to all in place of them", () =>
    Effect.gen(function* () {
      const { url, sequenceOf } = yield* start("left-1", "left-2", "right-1", "right-2")
      const tab = yield* openTab(`${url}/instances?machine=tally&q=left-`)
      yield* tab.run((page) => page.getByLabel("Select left-1").check())
      yield* tab.run((page) => page.getByRole("button", { name: "Send to 1…", exact: true }).waitFor())
      yield* tab.run((page) => page.getByLabel("Id begins with").fill("right-"))
      yield* tab.shows("right-2")
      // The button says what it does: nothing is picked any more.
      yield* tab.run((page) => page.getByRole("button", { name: /^Send to all/ }).waitFor())
      yield* tab.run((page) => page.getByLabel("Select right-1").check())
      yield* tab.run((page) => page.getByRole("button", { name: "Send to 1…", exact: true }).click())
      yield* tab.run((page) => page.getByLabel("Event", { exact: true }).selectOption("Pause"))
      yield* tab.run((page) => page.getByRole("button", { name: "Preview" }).click())
      yield* tab.shows("would be sent to 1 instance.")
      yield* tab.until(`document.querySelector("dialog table").innerText.includes("right-1")`)
      yield* tab.run((page) => page.locator("dialog").getByRole("button", { name: "Send to 1" }).click())
      yield* tab.shows("Pause is sent to 1 instance")
      const sequences = yield* Effect.forEach(["left-1", "left-2", "right-1", "right-2"], sequenceOf)
      assert.deepStrictEqual(sequences, [0, 0, 1, 0])
      assert.deepStrictEqual(tab.problems, [])
    }),
  )

  it.live("closes the dialog of a bulk send when the person goes back to another list", () =>
    Effect.gen(function* () {
      const { url } = yield* start("here-1", "there-1", "there-2")
      const tab = yield* openTab(`${url}/instances?machine=tally&q=there-`)
      yield* tab.shows("there-2")
      yield* tab.visit("/instances?machine=tally&q=here-")
      yield* tab.shows("here-1")
      yield* tab.run((page) => page.getByRole("button", { name: /^Send to all/ }).click())
      yield* tab.run((page) => page.getByLabel("Event", { exact: true }).selectOption("Pause"))
      yield* tab.run((page) => page.getByRole("button", { name: "Preview" }).click())
      yield* tab.shows("would be sent to 1 instance")
      yield* tab.run((page) => page.goBack())
      yield* tab.shows("there-2")
      yield* tab.until(`document.querySelector("dialog") === null`)
    }),
  )

  it.live("applies an event once where its answer was lost and the person sends it again", () =>
    Effect.gen(function* () {
      const { url, client } = yield* start("unanswered")
      const tab = yield* openTab(`${url}/instances/tally/unanswered`)
      const send = tab.run((page) => page.getByRole("button", { name: "Send Add" }).click())
      const add = (by: string) =>
        Effect.andThen(
          tab.run((page) => page.getByRole("button", { name: "Add…" }).click()),
          tab.run((page) => page.getByLabel("by").fill(by)),
        )
      yield* add("5")
      yield* tab.run((page) =>
        page.route(
          /\/events$/,
          async (route) => {
            await route.fetch()
            await route.abort("connectionreset")
          },
          { times: 1 },
        ),
      )
      yield* send
      yield* tab.shows("The server does not answer")
      yield* send
      yield* tab.shows("Add: unanswered")
      const count = Effect.map(client.instances.get({ params: { machine: "tally", id: "unanswered" } }), (view) => view.state["count"])
      assert.strictEqual(yield* count, 5)
      // The same event, sent on purpose after an answer, is another one.
      yield* add("5")
      yield* send
      yield* tab.shows("Step 2 of 2")
      assert.strictEqual(yield* count, 10)
    }),
  )

  it.live("opens a stream again that has fallen silent, and shows what it missed", () =>
    Effect.gen(function* () {
      const { url, client } = yield* start("before-the-silence")
      const proxy = yield* proxyOf(Number(new URL(url).port))
      const tab = yield* openTab(`${proxy.url}/instances?machine=tally`)
      const isLive = `document.querySelector("[data-live]")?.dataset.live === "live"`
      yield* tab.until(isLive)
      proxy.silence()
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "in-the-silence" } })
      yield* tab.until(`document.querySelector("[data-live]")?.dataset.live === "stale"`)
      yield* tab.until(isLive)
      yield* tab.until(`/1 new|in-the-silence/.test(document.body.innerText)`)
    }),
  )

  it.live("repairs one event after the other, each in a form of its own, and keeps what is hidden", () =>
    Effect.gen(function* () {
      const data = yield* temporaryFolder
      const params = { machine: "ledger", id: "one" }
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { client } = yield* served({ data, config: defineConfig({ machines: [ledger({})] }) })
          yield* client.instances.start({ params, payload: { id: "one" } })
          for (const by of [7, 9]) yield* client.instances.send({ params, headers: {}, payload: { _tag: "Add", by, card: `4711-${by}` } })
        }),
      )
      const { url, client } = yield* served({ data, config: defineConfig({ machines: [ledger({ note: Schema.String })] }) })
      const tab = yield* openTab(`${url}/instances/ledger/one`)
      const repairButton = `[...document.querySelectorAll("button")].find((one) => one.innerText === "Repair")`
      const press = (name: string) => tab.run((page) => page.getByRole("button", { name, exact: true }).click())
      yield* tab.shows("Held at step 1")
      yield* tab.run((page) => page.getByLabel("note").fill("first"))
      // An answer that arrives after the event was changed is not about the new one.
      const release: Array<() => void> = []
      yield* tab.run((page) => page.route(/\/repair$/, (route) => void release.push(() => void route.continue()), { times: 1 }))
      yield* press("Try")
      yield* tab.run((page) => page.getByLabel("note").fill("second"))
      yield* tab.run(async (page) => {
        const answer = page.waitForResponse(/\/repair$/)
        for (const one of release) one()
        await (await answer).finished()
      })
      yield* Effect.sleep("200 millis")
      assert.isTrue(yield* tab.evaluate(`${repairButton}.disabled`))
      yield* press("Try")
      yield* tab.until(`!${repairButton}.disabled`)
      yield* tab.run((page) => page.getByLabel("Reason").fill("the note is new"))
      yield* press("Repair")
      yield* tab.shows("Held at step 2")
      assert.strictEqual(yield* tab.run((page) => page.getByLabel("by", { exact: true }).inputValue()), "9")
      assert.isTrue(yield* tab.evaluate(`${repairButton}.disabled`))
      yield* tab.run((page) => page.getByLabel("note").fill("third"))
      yield* press("Try")
      yield* tab.until(`!${repairButton}.disabled`)
      yield* tab.run((page) => page.getByLabel("Reason").fill("the note is new"))
      yield* press("Repair")
      yield* tab.shows("one is repaired and in Open")
      const view = yield* client.instances.get({ params })
      assert.deepStrictEqual([view.status, view.state["count"]], ["running", 16])
    }),
  )

  it.live("shows no preview of another event or state, and forks the step that was chosen", () =>
    Effect.gen(function* () {
      const { url, client } = yield* start("moving")
      const params = { machine: "tally", id: "moving" }
      const tab = yield* openTab(`${url}/instances/tally/moving`)
      yield* tab.run((page) => page.getByRole("button", { name: "Add…" }).click())
      yield* tab.run((page) => page.getByLabel("by").fill("5"))
      const release: Array<() => void> = []
      yield* tab.run((page) => page.route(/dryRun/, (route) => void release.push(() => void route.continue()), { times: 1 }))
      yield* tab.run((page) => page.getByRole("button", { name: "Preview" }).click())
      yield* tab.run((page) => page.getByLabel("by").fill("7"))
      yield* tab.run(async (page) => {
        const answer = page.waitForResponse(/dryRun/)
        for (const one of release) one()
        await (await answer).finished()
      })
      yield* Effect.sleep("200 millis")
      assert.notInclude(String(yield* tab.evaluate("document.body.innerText")), "Nothing was stored")
      yield* tab.run((page) => page.getByRole("button", { name: "Preview" }).click())
      yield* tab.shows("Nothing was stored")
      yield* tab.run((page) => page.getByRole("button", { name: "Fork at 0" }).click())
      yield* client.instances.send({ params, headers: {}, payload: { _tag: "Add", by: 1 } })
      yield* tab.shows("Step 1 of 1")
      assert.strictEqual(yield* tab.evaluate(`document.querySelector("dialog h2").innerText`), "Fork moving at step 0")
      yield* tab.run((page) => page.locator("dialog").getByRole("button", { name: "Cancel" }).click())
      // The preview was that of the state before.
      assert.notInclude(String(yield* tab.evaluate("document.body.innerText")), "Nothing was stored")
      assert.deepStrictEqual(tab.problems, [])
    }),
  )

  it.live("sends nothing while a field holds no JSON, in place of what it held before", () =>
    Effect.gen(function* () {
      const { url, client } = yield* shared
      const params = { machine: "box", id: "one" }
      yield* client.instances.start({ params, payload: { id: "one" } })
      const tab = yield* openTab(`${url}/instances/box/one`)
      yield* tab.run((page) => page.getByRole("button", { name: "Put…" }).click())
      const content = (text: string) => tab.run((page) => page.getByLabel("content").fill(text))
      const press = (name: string) => tab.run((page) => page.getByRole("button", { name }).click())
      yield* content('{"total":1}')
      yield* content('{"total":12')
      yield* tab.shows("This is not JSON yet")
      yield* press("Preview")
      yield* press("Send Put")
      yield* Effect.sleep("500 millis")
      assert.deepStrictEqual(
        tab.requests.filter((address) => /\/events(\?|$)/.test(address)),
        [],
      )
      yield* content('{"total":12}')
      yield* press("Send Put")
      yield* tab.shows("Step 1 of 1")
      assert.deepStrictEqual((yield* client.instances.get({ params })).state["content"], { total: 12 })
      assert.deepStrictEqual(tab.problems, [])
    }),
  )

  it.live("shows when things happened by the clock of the server, where that of the browser is hours off", () =>
    Effect.gen(function* () {
      const { url } = yield* start("clocked")
      for (const hours of [-3, 5]) {
        const tab = yield* openTab("about:blank")
        yield* tab.run((page) => page.clock.install({ time: Date.now() + hours * 3_600_000 }))
        yield* tab.run((page) => page.goto(`${url}/instances?machine=tally&q=clocked`))
        yield* tab.until(`/clocked[\\s\\S]*(now|\\d s ago)/.test(document.querySelector("[role=table]")?.innerText ?? "")`)
        yield* tab.until(`document.querySelector("[data-live]")?.dataset.live === "live"`)
      }
    }),
  )

  it.live("draws the way through states with spaces and markup in their names", () =>
    Effect.gen(function* () {
      const { url, client } = yield* shared
      const params = { machine: "review/1", id: "a/b" }
      yield* client.instances.start({ params, payload: { id: params.id } })
      yield* client.instances.send({ params, headers: {}, payload: { _tag: "Sign" } })
      const tab = yield* openTab(`${url}/instances/review%2F1/a%2Fb`)
      yield* tab.shows("In <b>review</b> → Signed off")
      yield* tab.until(`document.querySelectorAll("polyline.stroke-accent").length === 1`)
      assert.deepStrictEqual(tab.problems, [])
    }),
  )

  it.live("runs a query that is too long for an address, which can still be loaded again", () =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const tab = yield* openTab(`${url}/knowledge/none/sparql`)
      yield* tab.run((page) => page.getByLabel("SPARQL query").fill(`ASK { ?s ?p ?o } # ${"é".repeat(20_000)}`))
      yield* tab.run((page) => page.getByRole("button", { name: "Run" }).click())
      yield* tab.until(`document.querySelector("[role=alert]") !== null`)
      assert.isTrue(tab.requests.some((address) => address.endsWith("/api/v1/knowledge/none/sparql")))
      assert.strictEqual(yield* tab.run(async (page) => (await page.reload())?.status()), 200)
      yield* tab.shows("Write a query and run it")
    }),
  )
})
