import { Event, Machine, RetryPolicy, Slot, State } from "@detent/machine"
import { defineConfig, Server, serve, Workspace } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { noBrowser, type Tab, useBrowser } from "../../server/test/support/browser.ts"
import { corpusFolder, smallManifest } from "../../server/test/support/manifest.ts"
import { served, temporaryFolder, useServed } from "../../server/test/support/served.ts"
import { killServer, startServer } from "../../server/test/support/serverProcess.ts"
import { Tally } from "../../server/test/support/Tally.ts"
import { until } from "../../store/test/support/patience.ts"
import { unless } from "../../store/test/support/skipping.ts"

const hostile = `<img src=x onerror="document.title='taken'"> a/b?c#d %2F 100%`
const token = "operate-0123456789abcdef"
const readToken = "read-0123456789abcdef00"

/** A server that only looks at what others do in a folder. */
const observed = (data: string) => {
  const home = Workspace.open({ data, role: "observe", config: defineConfig({ machines: [Tally] }), knowledge: {}, uploads: {} })
  return Effect.map(Layer.build(Layer.provide(serve({ port: 0 }), home)), (context) => Context.get(context, Server))
}

/** No error, nothing that the content policy refused, and no request to another host. */
const isClean = (tab: Tab, url: string) => {
  assert.deepStrictEqual(tab.problems, [])
  assert.deepStrictEqual(
    tab.requests.filter((address) => !address.startsWith(url) && !address.startsWith("blob:")),
    [],
  )
}

/** Whether the page says that it is live. */
const badge = `document.querySelector("[data-live]")?.dataset.live === "live"`

const tally = (id: string) => ({ machine: "tally", id })

const asking = State({ Waiting: {}, Asked: {} })
const question = Event({ Ask: {} })
let isAnswered = false

/** Asks in a command, which fails for good until it is answered. */
const Asker = Machine.make({ name: "asker", state: asking, event: question, effects: Slot.Effects({ ask: {} }), initial: asking.Waiting() })
  .on(asking.Waiting, question.Ask, asking.Asked)
  .enter(asking.Asked, ({ effects }) => effects.ask())
  .commands({ ask: { retry: RetryPolicy.fixed({ delay: "1 millis", maxAttempts: 2 }) } })
  .build({ ask: () => Effect.suspend(() => (isAnswered ? Effect.void : Effect.die(new Error("no <b>answer</b>")))) })

const playing = State({ Open: {}, Won: {}, Lost: {} })
const end = Event({ Win: {}, Lose: {} })

/** Ends well or in failure. */
const Match = Machine.make({ name: "match", state: playing, event: end, initial: playing.Open() })
  .on(playing.Open, end.Win, playing.Won)
  .on(playing.Open, end.Lose, playing.Lost)
  .final(playing.Won)
  .final(playing.Lost, { outcome: "failure" })

describe("the console in a browser", unless(noBrowser), () => {
  const openTab = useBrowser()
  const shared = useServed({ config: defineConfig({ machines: [Tally, Asker, Match] }) })
  const guarded = useServed({ serve: { token: Redacted.make(token), readToken: Redacted.make(readToken) } })

  it.live("says how to begin where nothing is there yet, on every page", () =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const tab = yield* openTab(url)
      yield* tab.shows("nothing to do")
      yield* tab.shows("npx detent dev --demo")
      for (const [key, text] of [
        ["m", "tally"],
        ["i", "No instance was started yet"],
        ["w", "No execution was started yet"],
        ["c", "No command failed for good"],
        ["b", "npx detent batch run"],
        ["k", "There is no graph yet"],
        ["u", "npx detent upload run"],
        ["q", "a queue exists from its first command on"],
        ["n", "No process is a node of a cluster"],
        ["s", "Metrics of this process"],
        ["o", "nothing to do"],
      ] as const) {
        yield* tab.press("g")
        yield* tab.press(key)
        yield* tab.shows(text)
      }
      yield* tab.until(`document.querySelector("[data-live]")?.dataset.live === "live"`)
      isClean(tab, url)
    }),
  )

  it.live("finds an instance by its id, steps back, shows what changed, and forks from a step", () =>
    Effect.gen(function* () {
      const { url, client } = yield* shared
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "order-7" } })
      for (const by of [3, 4]) yield* client.instances.send({ params: tally("order-7"), headers: {}, payload: { _tag: "Add", by } })
      const tab = yield* openTab(url)
      yield* tab.shows("order-7")
      yield* tab.press("Control+k")
      yield* tab.run((page) => page.keyboard.type("order-7"))
      yield* tab.shows("tally / order-7")
      yield* tab.press("Enter")
      yield* tab.shows("Step 2 of 2")
      yield* tab.until(`document.querySelector("[data-state=Open] rect") !== null`)
      assert.notInclude(String(yield* tab.evaluate("document.body.innerText")), "pin-4711")
      yield* tab.press("ArrowLeft")
      yield* tab.shows("Step 1 of 2")
      yield* tab.until(`location.search === "?at=1"`)
      yield* tab.until(`/count[\\s\\S]*− [\\s\\S]*0[\\s\\S]*\\+ [\\s\\S]*3/.test(document.querySelector("main").innerText)`)
      yield* tab.evaluate("location.reload()")
      yield* tab.shows("Step 1 of 2")
      yield* tab.visit("/instances/tally/order-7?at=soon")
      yield* tab.shows("Step 2 of 2")
      yield* tab.visit("/instances/tally/order-7?at=1")
      yield* tab.shows("Step 1 of 2")
      yield* tab.run((page) => page.getByRole("button", { name: "Fork at 1" }).click())
      yield* tab.run((page) => page.getByLabel("Id of the new instance").fill("order-8"))
      yield* tab.run((page) => page.getByRole("button", { name: "Fork", exact: true }).click())
      yield* tab.until(`location.pathname === "/instances/tally/order-8"`)
      yield* tab.shows("Step 1 of 1")
      const { state } = yield* client.instances.get({ params: tally("order-8") })
      assert.strictEqual(state["count"], 3)
      isClean(tab, url)
    }),
  )

  it.live("shows what an event would do, guards included, and sends it; other tabs see it without a reload", () =>
    Effect.gen(function* () {
      const { url, client } = yield* shared
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "previewed" } })
      const tab = yield* openTab(`${url}/instances/tally/previewed`)
      const other = yield* tab.another(`${url}/instances/tally/previewed`)
      yield* other.shows("Step 0 of 0")
      yield* tab.run((page) => page.getByRole("button", { name: "Add…" }).click())
      yield* tab.run((page) => page.getByLabel("by").fill("0"))
      yield* tab.run((page) => page.getByRole("button", { name: "Preview" }).click())
      yield* tab.shows("adding nothing is not an addition")
      yield* tab.run((page) => page.getByLabel("by").fill("5"))
      yield* tab.run((page) => page.getByRole("button", { name: "Preview" }).click())
      yield* tab.shows("Nothing was stored")
      assert.strictEqual((yield* client.instances.get({ params: tally("previewed") })).sequence, 0)
      // A second click before the answer sends nothing more.
      yield* tab.run((page) => page.route(/\/events$/, (route) => setTimeout(() => void route.continue(), 300)))
      yield* tab.run((page) => page.getByRole("button", { name: "Send Add" }).dblclick())
      yield* tab.shows("Step 1 of 1")
      yield* other.shows("Step 1 of 1")
      assert.strictEqual((yield* client.instances.get({ params: tally("previewed") })).state["count"], 5)
      // The refused preview is answered 422, which the browser reports as an error of the network.
      assert.deepStrictEqual(
        tab.problems.filter((problem) => !problem.includes("422") && !problem.includes("409")),
        [],
      )
      isClean(other, url)
    }),
  )

  it.live("asks for a token where one is needed, opens the deep link, and keeps the token out of addresses and scripts", () =>
    Effect.gen(function* () {
      const { url, client } = yield* guarded
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
      const tab = yield* openTab(`${url}/instances/tally/one`)
      const enter = (text: string) =>
        Effect.andThen(
          tab.run((page) => page.getByLabel("Token").fill(text)),
          tab.run((page) => page.getByRole("button", { name: "Open the console" }).click()),
        )
      yield* enter("operate-of-another-server")
      yield* tab.shows("check that it is the one the server was started with")
      assert.notInclude(String(yield* tab.evaluate("document.body.innerText")), "tally")
      yield* enter(readToken)
      yield* tab.shows("Step 0 of 0")
      const fork = `[...document.querySelectorAll("button")].find((one) => one.innerText.startsWith("Fork"))`
      assert.isTrue(yield* tab.evaluate(`${fork}.disabled`))
      assert.include(String(yield* tab.evaluate(`${fork}.title`)), "role read")
      yield* tab.evaluate("location.reload()")
      yield* tab.shows("Step 0 of 0")
      assert.strictEqual(yield* tab.evaluate("document.cookie"), "")
      assert.strictEqual(yield* tab.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage }).includes('0123456789')"), false)
      assert.notInclude(tab.requests.join(), readToken)
      assert.notInclude(tab.requests.join(), "0123456789")
    }),
  )

  it.live("disables its buttons when the role of the session changes, and says why", () =>
    Effect.gen(function* () {
      const { url, client } = yield* guarded
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "two" } })
      const tab = yield* openTab(`${url}/instances/tally/two`)
      const signIn = (text: string) => `fetch("/api/v1/session", { method: "POST", headers: { "content-type": "application/json" },
          body: JSON.stringify({ token: "${text}" }) }).then(({ ok }) => ok)`
      assert.isTrue(yield* tab.evaluate(signIn(token)))
      yield* tab.evaluate("location.reload()")
      yield* tab.run((page) => page.getByRole("button", { name: "Pause" }).click())
      // Another tab signs in with the other token.
      assert.isTrue(yield* tab.evaluate(signIn(readToken)))
      yield* tab.run((page) => page.getByRole("button", { name: "Send Pause" }).click())
      const send = `[...document.querySelectorAll("button")].find((one) => one.innerText.startsWith("Send Pause"))`
      yield* tab.until(`${send}.disabled && ${send}.title.includes("role read")`)
      assert.strictEqual((yield* client.instances.get({ params: tally("two") })).sequence, 0)
    }),
  )

  it.live("shows instances whose definition is gone, and says so", () =>
    Effect.gen(function* () {
      const data = yield* temporaryFolder
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { client } = yield* served({ data })
          yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "left-behind" } })
        }),
      )
      const { url } = yield* served({ data, config: defineConfig({ machines: [] }) })
      const tab = yield* openTab(`${url}/machines/tally`)
      yield* tab.shows("has no definition of tally")
      yield* tab.run((page) => page.getByRole("link", { name: "list them" }).click())
      yield* tab.run((page) => page.getByRole("link", { name: "left-behind" }).click())
      yield* tab.until(`/definition/.test(document.querySelector("main").innerText)`)
      yield* tab.until(`document.querySelector("h1")?.innerText === "left-behind"`)
    }),
  )

  it.live("shows names as text, and keeps them in addresses, whatever they look like", () =>
    Effect.gen(function* () {
      const { url, client } = yield* shared
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: hostile } })
      const tab = yield* openTab(`${url}/instances?machine=tally`)
      yield* tab.shows(hostile)
      yield* tab.run((page) => page.getByRole("link", { name: hostile }).click())
      yield* tab.shows("Step 0 of 0")
      yield* tab.evaluate("location.reload()")
      yield* tab.shows("Step 0 of 0")
      assert.strictEqual(yield* tab.evaluate(`document.querySelector("h1").innerText`), hostile)
      assert.notStrictEqual(yield* tab.evaluate("document.title"), "taken")
      assert.strictEqual(yield* tab.evaluate(`document.querySelectorAll("[onerror], img[src='x']").length`), 0)
      isClean(tab, url)
    }),
  )

  it.live("groups dead letters by cause, shows every attempt, and retries a group after it counted it", () =>
    Effect.gen(function* () {
      const { url, client } = yield* shared
      for (const id of ["one", "two"]) {
        yield* client.instances.start({ params: { machine: "asker" }, payload: { id } })
        yield* client.instances.send({ params: { machine: "asker", id }, headers: {}, payload: { _tag: "Ask" } })
      }
      const tab = yield* openTab(url)
      yield* tab.until(`[...document.querySelectorAll("a")].some((one) => /dead letters\\s+2\\s/.test(one.innerText))`)
      yield* tab.run((page) => page.getByRole("link", { name: "dead letters" }).click())
      yield* tab.shows("no <b>answer</b>")
      yield* tab.run((page) => page.getByRole("table", { name: "Commands" }).getByRole("link", { name: "ask" }).first().click())
      yield* tab.shows("Attempts that failed")
      // The address of a command opens it again: none of its names is taken for a token.
      yield* tab.evaluate("location.reload()")
      yield* tab.shows("Attempts that failed")
      yield* tab.press("Escape")
      // What a hook requested stands at the event in the history too, and is part of the answer of the server.
      const { entries } = yield* client.instances.history({ params: { machine: "asker", id: "one" }, query: { brief: true } })
      assert.deepStrictEqual(
        entries.map(({ requests }) => requests),
        [["ask"]],
      )
      yield* tab.visit("/instances/asker/one")
      yield* tab.until(`/Waiting → Asked\\s+ask\\b/.test(document.querySelector("[aria-label=History]")?.innerText ?? "")`)
      yield* tab.visit("/commands")
      yield* tab.shows("no <b>answer</b>")
      isAnswered = true
      yield* tab.run((page) => page.getByRole("button", { name: "Retry all…" }).first().click())
      yield* tab.run((page) => page.getByRole("button", { name: "Retry 2" }).click())
      yield* tab.shows("2 commands are executed again")
      yield* tab.shows("No command failed for good")
      isClean(tab, url)
    }),
  )

  it.live("marks an instance that ended in failure as failed, and one that ended well as final", () =>
    Effect.gen(function* () {
      const { url, client } = yield* shared
      for (const [id, _tag] of [
        ["won", "Win"],
        ["lost", "Lose"],
      ] as const) {
        yield* client.instances.start({ params: { machine: "match" }, payload: { id } })
        yield* client.instances.send({ params: { machine: "match", id }, headers: {}, payload: { _tag } })
      }
      const tab = yield* openTab(`${url}/instances?machine=match`)
      const row = (id: string) =>
        `[...document.querySelectorAll("[role=row]")].find((one) => one.innerText.includes("${id}"))?.innerText.replace(/\\s+/g, " ")`
      yield* tab.until(`/Lost failed/.test(${row("lost")}) && /Won final/.test(${row("won")})`)
      yield* tab.run((page) => page.getByRole("button", { name: "failed" }).click())
      yield* tab.until(`location.search.includes("status=failed") && ${row("won")} === undefined`)
      isClean(tab, url)
    }),
  )

  it.live("follows a batch while it is worked on, until it is complete, and opens a fact with its words", () =>
    Effect.gen(function* () {
      const documents = [{ source: "documents/books.json" }, { source: "documents/ada-sol.txt" }]
      const manifest = { ...smallManifest, documents } as never
      const { url, client } = yield* shared
      const tab = yield* openTab(`${url}/batches`)
      yield* tab.shows("No batch was started yet")
      const { batchId } = yield* client.batches.start({ headers: {}, payload: { folder: corpusFolder, manifest } })
      yield* tab.shows("coast")
      yield* tab.run((page) => page.getByRole("link", { name: "coast" }).click())
      yield* tab.until(`document.querySelector("[role=progressbar]")?.ariaValueNow === "100"`)
      yield* tab.shows("Open the graph")
      const { total } = (yield* client.batches.get({ params: { batchId } })).documents
      yield* tab.until(`document.querySelectorAll("[aria-label='One cell for each document'] a").length === ${total}`)
      yield* tab.run((page) => page.getByRole("link", { name: "Open the graph" }).click())
      yield* tab.run((page) => page.getByLabel("Find an entity").fill("Harbour Lights"))
      yield* tab.run((page) => page.getByRole("link", { name: "Harbour Lights" }).first().click())
      yield* tab.shows("Neighbourhood")
      yield* tab.run((page) => page.locator("button[aria-expanded]").first().click())
      yield* tab.until(`document.querySelector("mark")?.innerText.length > 3`)
      isClean(tab, url)
    }),
  )

  it.live("says that it is not live while its server is gone, and recovers without a reload", () =>
    Effect.gen(function* () {
      const data = yield* temporaryFolder
      const first = yield* startServer("serving.ts", data, "0")
      const tab = yield* openTab(`${first.url}/instances`)
      const badge = `document.querySelector("[data-live]")?.dataset.live`
      yield* tab.until(`${badge} === "live"`)
      yield* tab.evaluate("window.same = true")
      yield* killServer(first, "SIGKILL")
      yield* tab.until(`${badge} === "stale" || ${badge} === "offline"`)
      // A page whose file was not read before is shown once the server is there again.
      yield* tab.press("g")
      yield* tab.press("q")
      yield* tab.until(`location.pathname === "/queues"`)
      const again = yield* startServer("serving.ts", data, new URL(first.url).port)
      yield* Effect.addFinalizer(() => killServer(again, "SIGKILL"))
      yield* tab.until(`${badge} === "live"`)
      yield* tab.shows("a queue exists from its first command on")
      yield* tab.press("g")
      yield* tab.press("i")
      yield* tab.shows("No instance was started yet")
      yield* Effect.promise(() =>
        fetch(`${again.url}/api/v1/instances/tally`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ id: "after-the-restart" }),
        }),
      )
      yield* tab.until(`document.body.innerText.includes("after-the-restart") || document.body.innerText.includes("1 new")`)
      assert.isTrue(yield* tab.evaluate("window.same"))
    }),
  )

  it.live("has one live stream for ten tabs, and another tab takes it over", () =>
    Effect.gen(function* () {
      const { url, client } = yield* shared
      const first = yield* openTab(`${url}/instances`)
      const tabs = [first]
      for (let turn = 1; turn < 10; turn++) tabs.push(yield* first.another(`${url}/instances`))
      yield* Effect.forEach(tabs, (tab) => tab.until(badge))
      const streams = () => tabs.flatMap(({ requests }) => requests).filter((address) => address.includes("/api/v1/live")).length
      assert.strictEqual(streams(), 1)
      yield* first.run((page) => page.close())
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "eleventh" } })
      yield* Effect.forEach(tabs.slice(1), (tab) => tab.until(`/1 new|\\beleventh\\b/.test(document.body.innerText)`))
      assert.strictEqual(streams(), 2)
    }),
  )

  it.live("shows what changed while the tab with the live stream was gone and no other one had taken it over", () =>
    Effect.gen(function* () {
      const { url, client } = yield* shared
      const first = yield* openTab(`${url}/instances`)
      yield* first.until(badge)
      const second = yield* first.another(`${url}/instances`)
      yield* second.until(badge)
      const opened = Promise.withResolvers<void>()
      yield* second.run((page) =>
        page.route("**/api/v1/live", async (route) => {
          await opened.promise
          await route.continue()
        }),
      )
      yield* first.run((page) => page.close())
      const asks = () => second.requests.some((address) => address.includes("/api/v1/live"))
      yield* Effect.promise(() => until("the second tab asks for the stream", asks))
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "meanwhile" } })
      // A server begins a stream with the changes of the last second.
      yield* Effect.sleep("1500 millis")
      opened.resolve()
      yield* second.until(`/1 new|\\bmeanwhile\\b/.test(document.body.innerText)`)
    }),
  )

  it.live("works on a server that only looks, where no button acts", () =>
    Effect.gen(function* () {
      const working = yield* shared
      yield* working.client.instances.start({ params: { machine: "tally" }, payload: { id: "elsewhere" } })
      const { url } = yield* observed(working.data)
      const tab = yield* openTab(`${url}/instances/tally/elsewhere`)
      yield* tab.shows("Step 0 of 0")
      const fork = `[...document.querySelectorAll("button")].find((one) => one.innerText.startsWith("Fork"))`
      assert.isTrue(yield* tab.evaluate(`${fork}.disabled`))
      assert.include(String(yield* tab.evaluate(`${fork}.title`)), "read-only")
      yield* working.client.instances.send({ params: tally("elsewhere"), headers: {}, payload: { _tag: "Add", by: 1 } })
      yield* tab.shows("Step 1 of 1")
      isClean(tab, url)
    }),
  )

  it.live("says that an unknown id, machine or page is not there, and what to do next", () =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const tab = yield* openTab(`${url}/instances/tally/nobody`)
      yield* tab.shows("There is no instance nobody of tally here")
      for (const [path, text] of [
        ["/machines/nothing", "has no definition of nothing"],
        ["/batches/batch-000000000000", "There is no batch"],
        ["/uploads/none", "There is no upload none here"],
        ["/workflows/none/none", "There is no execution none of none here"],
        ["/batches/none", "There is no batch none here"],
        ["/system?from=abc&until=9e99", "Metrics of this process"],
        ["/nowhere/at/all", "There is no page at this address"],
      ] as const) {
        yield* tab.visit(path)
        yield* tab.shows(text)
      }
    }),
  )
})
