import { readFileSync } from "node:fs"
import { Event, Machine, RetryPolicy, Slot, State } from "@detent/machine"
import { defineConfig, Server, serve, Workspace } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { installedBrowser, useBrowser } from "../support/browser.ts"
import { corpusFolder } from "../support/manifest.ts"
import { served, temporaryFolder } from "../support/served.ts"
import { Tally } from "../support/Tally.ts"

const hostile = `<img src=x onerror="document.title='taken'">`
const has = (text: string) => `document.body.innerText.includes(${JSON.stringify(text)})`
const textOf = (id: string) => `document.getElementById(${JSON.stringify(id)}).innerText`

/** A server that only looks at what others do in a folder. */
const observed = (data: string) => {
  const home = Workspace.open({ data, role: "observe", config: defineConfig({ machines: [Tally] }), knowledge: {}, uploads: {} })
  return Effect.map(Layer.build(Layer.provide(serve({ port: 0 }), home)), (context) => Context.get(context, Server))
}

/** A browser takes a while to start on a busy machine. */
const timeout = 90_000

describe.skipIf(installedBrowser === undefined)("the start page in a browser (Chromium, where it is installed)", () => {
  const openTab = useBrowser()

  it.live(
    "says how to begin where nothing is there yet",
    () =>
      Effect.gen(function* () {
        const { url } = yield* served()
        const tab = yield* openTab(url)
        yield* tab.until(has("npx detent batch run"))
        yield* tab.until(has("npx detent upload run"))
        yield* tab.until(has("npx detent init"))
        yield* tab.until(has("no command failed for good"))
        yield* tab.until(`document.querySelector("#drawing img")?.naturalWidth > 100`)
        assert.deepStrictEqual(tab.problems, [])
      }),
    timeout,
  )

  it.live(
    "shows machines with their instances, and opens one with its history, with the keyboard alone",
    () =>
      Effect.gen(function* () {
        const { url, client } = yield* served()
        const key = { machine: "tally", id: "one" }
        yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
        yield* client.instances.send({ params: key, headers: {}, payload: { _tag: "Add", by: 7 } })
        const tab = yield* openTab(url)
        yield* tab.until(`${textOf("machines")}.includes("tally")`)
        const counts = `document.querySelector('[data-machine="tally"] .state:not(.idle)')?.innerText.replace(/\\s+/g, " ")`
        yield* tab.until(`${counts} === "Open 1"`)
        yield* client.instances.send({ params: key, headers: {}, payload: { _tag: "Pause" } })
        yield* tab.until(`${counts} === "Paused 1"`)
        yield* tab.until(`document.querySelector("#drawing img")?.alt.includes("tally")`)

        yield* tab.evaluate(`document.querySelector("#instances a").focus()`)
        yield* tab.press("Enter")
        yield* tab.until(`document.getElementById("instance").open && ${textOf("instance")}.includes("Open → Paused")`)
        const shown = String(yield* tab.evaluate(textOf("instance")))
        for (const part of ["Paused", "Add", "stays in Open", "started", "paused too long", "•••"]) assert.include(shown, part)
        assert.notInclude(shown, "4711")
        yield* client.instances.send({ params: key, headers: {}, payload: { _tag: "Close" } })
        yield* tab.until(`${textOf("instance")}.includes("Paused → Closed")`)
        yield* tab.press("Escape")
        yield* tab.until(`!document.getElementById("instance").open && location.hash === ""`)
        assert.deepStrictEqual(tab.problems, [])
      }),
    timeout,
  )

  it.live(
    "follows a batch while it is worked on, until it is complete",
    () =>
      Effect.gen(function* () {
        const data = yield* temporaryFolder
        const manifest = JSON.parse(readFileSync(new URL("manifest.json", corpusFolder), "utf8"))
        // The server that began it is gone before it can be done, so that the page is there in time.
        const { batchId } = yield* Effect.scoped(
          Effect.flatMap(served({ data }), ({ client }) =>
            client.batches.start({ headers: {}, payload: { folder: corpusFolder, manifest } }),
          ),
        )
        const { url } = yield* observed(data)
        const tab = yield* openTab(url)
        yield* tab.until(`document.querySelector("#batches progress")?.value < 100`)
        yield* tab.evaluate(`
          window.seen = new Set()
          new MutationObserver(() => seen.add(document.querySelector("#batches progress")?.value))
            .observe(document.getElementById("batches"), { attributes: true, childList: true, subtree: true })
        `)
        const { client } = yield* served({ data })
        yield* tab.until(`${textOf("batches")}.includes("Completed")`)
        const { total } = (yield* client.batches.get({ params: { batchId } })).documents
        assert.match(String(yield* tab.evaluate(textOf("batches"))), new RegExp(`coast[\\s\\S]*${total} of ${total} documents`))
        const seen = (yield* tab.evaluate("[...seen]")) as ReadonlyArray<number>
        assert.isAbove(seen.length, 1, seen.join())
        assert.strictEqual(seen.at(-1), 100)
        assert.strictEqual(tab.requests.filter((address) => address.endsWith(`/${batchId}/events`)).length, 1)
        assert.deepStrictEqual(tab.problems, [])
      }),
    timeout,
  )

  it.live(
    "tells which commands were given up and why, and how to continue",
    () =>
      Effect.gen(function* () {
        let calls = 0
        const state = State({ Waiting: {}, Asked: {} })
        const event = Event({ Ask: {} })
        const Asker = Machine.make({ name: "asker", state, event, effects: Slot.Effects({ ask: {} }), initial: state.Waiting() })
          .on(state.Waiting, event.Ask, state.Asked)
          .enter(state.Asked, ({ effects }) => effects.ask())
          .commands({ ask: { retry: RetryPolicy.fixed({ delay: "1 millis", maxAttempts: 2 }) } })
          .build({ ask: () => Effect.suspend(() => Effect.die(new Error(calls++ === 0 ? "the line is busy" : "nobody <b>answers</b>"))) })
        const { url, client } = yield* served({ config: defineConfig({ machines: [Asker] }) })
        yield* client.instances.start({ params: { machine: "asker" }, payload: { id: "one" } })
        yield* client.instances.send({ params: { machine: "asker", id: "one" }, headers: {}, payload: { _tag: "Ask" } })
        const tab = yield* openTab(url)
        yield* tab.until(`${textOf("failures")}.includes("nobody <b>answers</b> (2 attempts)")`)
        const shown = String(yield* tab.evaluate(textOf("failures")))
        for (const part of ["ask", "asker/one", "attempt 1: the line is busy", "npx detent command retry --all"])
          assert.include(shown, part)
        assert.deepStrictEqual(tab.problems, [])
      }),
    timeout,
  )

  it.live(
    "marks an instance that ended in failure as failed, in the list and when it is opened, and one that ended well as final",
    () =>
      Effect.gen(function* () {
        const state = State({ Open: {}, Won: {}, Lost: {} })
        const event = Event({ Win: {}, Lose: {} })
        const Match = Machine.make({ name: "match", state, event, initial: state.Open() })
          .on(state.Open, event.Win, state.Won)
          .on(state.Open, event.Lose, state.Lost)
          .final(state.Won)
          .final(state.Lost, { outcome: "failure" })
        const { url, client } = yield* served({ config: defineConfig({ machines: [Match] }) })
        for (const [id, _tag] of [
          ["won", "Win"],
          ["lost", "Lose"],
        ] as const) {
          yield* client.instances.start({ params: { machine: "match" }, payload: { id } })
          yield* client.instances.send({ params: { machine: "match", id }, headers: {}, payload: { _tag } })
        }
        const tab = yield* openTab(`${url}/#instance/match/lost`)
        const badges = (part: string) =>
          `[...document.querySelectorAll("#${part} .badge")].map((one) => [one.textContent, one.className].join())`
        yield* tab.until(`${badges("instances")}.join(" ").includes("failed")`)
        const listed = (yield* tab.evaluate(`${badges("instances")}.sort().join(" ")`)) as string
        assert.strictEqual(listed, "failed,badge bad final,badge good")
        yield* tab.until(`${badges("instance")}.includes("failed,badge bad")`)
        assert.deepStrictEqual(tab.problems, [])
      }),
    timeout,
  )

  it.live(
    "shows names as text, whatever they look like",
    () =>
      Effect.gen(function* () {
        const { url, client } = yield* served()
        yield* client.instances.start({ params: { machine: "tally" }, payload: { id: hostile } })
        const tab = yield* openTab(`${url}/#instance/tally/${encodeURIComponent(hostile)}`)
        yield* tab.until(`${textOf("instances")}.includes(${JSON.stringify(hostile)})`)
        yield* tab.until(`${textOf("instance")}.includes(${JSON.stringify(hostile)}) && ${textOf("instance")}.includes("started")`)
        assert.strictEqual(yield* tab.evaluate("document.title"), "Detent")
        assert.strictEqual(yield* tab.evaluate(`document.querySelectorAll("[onerror], img[src='x']").length`), 0)
        assert.deepStrictEqual(tab.problems, [])
      }),
    timeout,
  )

  it.live(
    "asks for a token where one is needed, keeps it for the tab, and never puts it into an address",
    () =>
      Effect.gen(function* () {
        const token = "operate-0123456789abcdef"
        const { url, client } = yield* served({ serve: { token: Redacted.make(token) } })
        yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
        const tab = yield* openTab(url)
        const enter = (text: string) =>
          Effect.andThen(
            tab.until(`!document.getElementById("door").hidden && document.activeElement.id === "token"`),
            tab.evaluate(`(token.value = ${JSON.stringify(text)}, door.requestSubmit())`),
          )
        yield* enter("operate-of-another-server")
        yield* tab.until(has("does not know this token"))
        assert.notInclude(String(yield* tab.evaluate("document.body.innerText")), "tally")
        yield* enter(token)
        yield* tab.until(`${textOf("instances")}.includes("one")`)
        yield* tab.until(`document.querySelector("#drawing img")?.naturalWidth > 100`)
        yield* tab.evaluate("location.reload()")
        yield* tab.until(`document.readyState === "complete" && ${textOf("instances")}.includes("one")`)
        assert.notInclude(tab.requests.join(), token)
      }),
    timeout,
  )

  it.live(
    "works on a server that only looks, and asks for each list at most every two seconds, and for nothing while it is hidden",
    () =>
      Effect.gen(function* () {
        const working = yield* served()
        const { url } = yield* observed(working.data)
        const tab = yield* openTab(url)
        yield* tab.until(has("Only looks"))
        yield* working.client.instances.start({ params: { machine: "tally" }, payload: { id: "elsewhere" } })
        yield* tab.until(`${textOf("instances")}.includes("elsewhere")`)
        const asked = () => tab.requests.filter((address) => address.endsWith("/api/v1/machines")).length
        const before = asked()
        yield* Effect.sleep("3 seconds")
        assert.isAtMost(asked() - before, 2)
        yield* tab.evaluate(`
          Object.defineProperty(document, "hidden", { value: true, configurable: true })
          document.dispatchEvent(new Event("visibilitychange"))
        `)
        // What was being asked may still be.
        yield* Effect.sleep("1 second")
        const hidden = tab.requests.length
        yield* Effect.sleep("2500 millis")
        assert.strictEqual(tab.requests.length, hidden)
        yield* tab.evaluate(`
          delete document.hidden
          document.dispatchEvent(new Event("visibilitychange"))
        `)
        yield* working.client.instances.start({ params: { machine: "tally" }, payload: { id: "later" } })
        yield* tab.until(`${textOf("instances")}.includes("later")`)
        assert.deepStrictEqual(tab.problems, [])
      }),
    timeout,
  )
})
