/** What an operator does in the console during an incident. */
import { workflow } from "@detent/durable/promise"
import { defineConfig } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { noBrowser, useBrowser } from "../../server/test/support/browser.ts"
import { served, useServed } from "../../server/test/support/served.ts"
import { unless } from "../../store/test/support/skipping.ts"

describe("operating with the console", unless(noBrowser), () => {
  const openTab = useBrowser()
  const shared = useServed()

  it.live("finds the place in a list again after going back", () =>
    Effect.gen(function* () {
      const { url, client } = yield* shared
      const ids = Array.from({ length: 250 }, (_, index) => `place-${String(index).padStart(3, "0")}`)
      yield* Effect.forEach(ids, (id) => client.instances.start({ params: { machine: "tally" }, payload: { id } }), { concurrency: 20 })
      const tab = yield* openTab(`${url}/instances?machine=tally`)
      const list = `document.querySelector("[role=rowgroup]")`
      yield* tab.until(`document.querySelectorAll("[role=rowgroup] [role=row]").length > 5`)
      // The second page is read as well.
      yield* tab.evaluate(`${list}.scrollTop = 3600`)
      yield* tab.until(`${list}.scrollHeight > 6000`)
      yield* tab.evaluate(`${list}.scrollTop = 5200`)
      yield* tab.until(`${list}.scrollTop === 5200 && document.querySelector("[data-index='135'] a") !== null`)
      const id = yield* tab.evaluate(`document.querySelector("[data-index='135'] a").innerText`)
      yield* tab.run((page) => page.locator("[data-index='135'] a").first().click())
      yield* tab.until(`document.querySelector("h1").innerText === ${JSON.stringify(id)}`)
      yield* tab.run((page) => page.goBack())
      yield* tab.until(`${list} !== null && ${list}.scrollTop === 5200`)
      yield* tab.until(`document.querySelector("[data-index='135'] a")?.innerText === ${JSON.stringify(id)}`)
      // A list that is opened anew begins at its start.
      yield* tab.run((page) => page.getByRole("navigation").getByRole("link", { name: "Instances" }).first().click())
      yield* tab.until(`${list} !== null && ${list}.scrollTop === 0`)
      assert.deepStrictEqual(tab.problems, [])
    }),
  )

  it.live("names what a fork was made from, and by whom", () =>
    Effect.gen(function* () {
      const { url, client } = yield* shared
      const params = { machine: "tally", id: "trunk" }
      yield* client.instances.start({ params, payload: { id: "trunk" } })
      for (const by of [1, 2]) yield* client.instances.send({ params, headers: {}, payload: { _tag: "Add", by } })
      const tab = yield* openTab(`${url}/instances/tally/trunk?at=1`)
      yield* tab.run((page) => page.getByRole("button", { name: "Fork at 1" }).click())
      yield* tab.run((page) => page.getByRole("button", { name: "Fork", exact: true }).click())
      yield* tab.shows("forked from trunk after step 1 by user console")
      const view = yield* client.instances.get({ params: { machine: "tally", id: "trunk-fork-1" } })
      assert.deepInclude(view.forkedFrom, { id: "trunk", sequence: 1, by: "user console" })
      assert.notProperty(yield* client.instances.get({ params }), "forkedFrom")
      yield* tab.run((page) => page.getByRole("link", { name: "trunk after step 1" }).click())
      yield* tab.shows("State after step 1")
      assert.deepStrictEqual(tab.problems, [])
    }),
  )

  it.live("checks the instances of a machine by the code of the server", () =>
    Effect.gen(function* () {
      const { url, client } = yield* shared
      const params = { machine: "tally", id: "judged" }
      yield* client.instances.start({ params, payload: { id: "judged" } })
      yield* client.instances.send({ params, headers: {}, payload: { _tag: "Add", by: 3 } })
      const tab = yield* openTab(`${url}/machines/tally`)
      yield* tab.run((page) => page.getByRole("button", { name: "Check", exact: true }).click())
      yield* tab.until(`/\\d checked/.test(document.body.innerText)`)
      yield* tab.shows("the same")
      assert.deepStrictEqual(tab.problems, [])
    }),
  )

  it.live("checks the executions of a workflow by the code of the server", () =>
    Effect.gen(function* () {
      const Nap = workflow({ name: "nap", input: {} }, (_, durable) => durable.sleep("nap", "3 days"))
      const { url, client } = yield* served({ config: defineConfig({ machines: [], workflows: [Nap] }) })
      yield* client.executions.start({ params: { workflow: "nap" }, payload: { id: "nap-1", payload: {} } })
      const tab = yield* openTab(`${url}/workflows?workflow=nap`)
      yield* tab.run((page) => page.getByRole("button", { name: "Check", exact: true }).click())
      yield* tab.until(`/1 checked/.test(document.body.innerText) && /1\\s+the same/.test(document.body.innerText)`)
      assert.deepStrictEqual(tab.problems, [])
    }),
  )

  it.live("calls a past state a past one", () =>
    Effect.gen(function* () {
      const { url, client } = yield* shared
      const params = { machine: "tally", id: "past" }
      yield* client.instances.start({ params, payload: { id: "past" } })
      for (const by of [1, 2]) yield* client.instances.send({ params, headers: {}, payload: { _tag: "Add", by } })
      const tab = yield* openTab(`${url}/instances/tally/past`)
      yield* tab.shows("Current state")
      yield* tab.run((page) => page.getByRole("button", { name: "Step back" }).click())
      yield* tab.shows("State after step 1")
      yield* tab.until(`!document.body.innerText.includes("Current state")`)
      assert.deepStrictEqual(tab.problems, [])
    }),
  )
})
