/** The ways around in a graph: neighbourhoods that expand and undo, versions, and the editor of queries. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { noBrowser, useBrowser } from "../../server/test/support/browser.ts"
import { corpusFolder, smallManifest } from "../../server/test/support/manifest.ts"
import { batchEnded, request, served } from "../../server/test/support/served.ts"
import { unless } from "../../store/test/support/skipping.ts"

const nodes = `document.querySelectorAll("main svg [role=button]").length`

describe("a graph in the console", unless(noBrowser), () => {
  const openTab = useBrowser()

  it.live("expands and undoes a neighbourhood, reads an earlier version, compares two, and completes and runs queries", () =>
    Effect.gen(function* () {
      const { url, client } = yield* served()
      const batch = (documents: ReadonlyArray<{ readonly source: string }>) =>
        Effect.gen(function* () {
          const manifest = { ...smallManifest, documents } as never
          const { batchId } = yield* client.batches.start({ headers: {}, payload: { folder: corpusFolder, manifest } })
          assert.strictEqual((yield* batchEnded(client, batchId)).state, "Completed")
        })
      yield* batch([{ source: "documents/books.json" }])
      const { version } = yield* client.knowledge.graph({ params: { namespace: "coast" as never } })
      const { relations } = yield* client.knowledge.relations({ params: { namespace: "coast" as never }, query: { limit: 1 } })
      const book = relations[0]?.subject ?? ""
      yield* batch([{ source: "documents/ada-sol.txt" }, { source: "documents/el-haddad.txt" }])
      const { entities } = yield* client.knowledge.entities({ params: { namespace: "coast" as never }, query: { search: "Brandt" } })
      const brandt = entities[0]?.iri ?? ""
      const tab = yield* openTab(`${url}/knowledge/coast?entity=${encodeURIComponent(brandt)}`)
      yield* tab.until(`${nodes} > 1`)
      const before = Number(yield* tab.evaluate(nodes))
      // Every node is a button, between its circle and its name too; one of them leads further.
      yield* tab.until(`(() => {
          const last = [...document.querySelectorAll("main svg [role=button]")].at(-1)
          const { x, y, width, height } = last.getBoundingClientRect()
          return document.elementFromPoint(x + width / 2, y + height / 2)?.closest("[role=button]") === last
        })()`)
      yield* tab.run((page) => page.locator("main svg [role=button]").last().click())
      yield* tab.until(`location.search.includes("expand=")`)
      yield* tab.until(`${nodes} >= ${before}`)
      yield* tab.run((page) => page.getByRole("button", { name: "Undo" }).click())
      yield* tab.until(`!location.search.includes("expand=") && ${nodes} === ${before}`)
      // The palette finds an entity by its label, and says so while it still searches.
      const { promise: isSeen, resolve: answer } = Promise.withResolvers<void>()
      yield* tab.run((page) =>
        page.route(/\/entities\?search=Ada\+Sol|\/entities\?search=Ada%20Sol/, (route) => isSeen.then(() => route.continue())),
      )
      yield* tab.press("Control+k")
      yield* tab.run((page) => page.keyboard.insertText("Ada Sol"))
      yield* tab.shows("Searching…")
      answer()
      yield* tab.shows("entity of coast")
      yield* tab.press("Escape")
      // The version before the second batch has none of its people.
      yield* tab.visit("/knowledge/coast?q=Ada")
      yield* tab.shows("Ada Sol")
      yield* tab.run((page) => page.getByLabel("Version").selectOption(version))
      yield* tab.until(`location.search.includes("version=${version}")`)
      yield* tab.shows("No entity has this name")
      // The report of a fact is that of the version.
      yield* tab.visit(`/knowledge/coast?entity=${encodeURIComponent(book)}&version=${version}`)
      yield* tab.run((page) => page.locator("main li button[aria-expanded]").first().click())
      const report = yield* tab.run((page) =>
        page.getByRole("link", { name: "All documents with their facts" }).first().getAttribute("href"),
      )
      assert.strictEqual(report, `/api/v1/knowledge/coast/graph/report?version=${version}`)
      const { text } = yield* request(`${url}${report}`)
      assert.include(text, "books.json")
      assert.notInclude(text, "ada-sol.txt")
      yield* tab.visit(`/knowledge/coast?q=Ada&version=${version}`)
      yield* tab.run((page) => page.getByRole("button", { name: "Show the current one" }).click())
      yield* tab.shows("Ada Sol")
      yield* tab.run((page) => page.getByRole("button", { name: "Compare from" }).last().click())
      yield* tab.run((page) => page.getByRole("button", { name: "Compare to" }).first().click())
      yield* tab.until(`/\\+[1-9][\\d,]* −0 facts/.test(document.querySelector("main").innerText)`)
      // Queries.
      yield* tab.run((page) => page.getByRole("link", { name: "SPARQL" }).click())
      yield* tab.run((page) => page.getByLabel("SPARQL query").fill(""))
      yield* tab.run((page) => page.getByLabel("SPARQL query").pressSequentially("SELECT ?who ?place { ?who borni"))
      yield* tab.until(`[...document.querySelectorAll("#sparql-offers button")].some((one) => one.innerText.includes("bornIn"))`)
      // What is typed right after a completion comes after it.
      yield* tab.run((page) => Promise.all([page.keyboard.press("Tab"), page.keyboard.type("?place }")]))
      yield* tab.until(`/coast#bornIn> \\?place }$/.test(document.querySelector("#sparql").value)`)
      yield* tab.press("Control+Enter")
      yield* tab.until(`/[1-9]\\d* rows in/.test(document.querySelector("main").innerText)`)
      yield* tab.run((page) => page.getByRole("button", { name: "graph", exact: true }).click())
      yield* tab.until(`location.search.includes("as=graph") && ${nodes} > 1`)
      yield* tab.evaluate("location.reload()")
      yield* tab.until(`${nodes} > 1`)
      assert.deepStrictEqual(tab.problems, [])
    }),
  )

  it.live("keeps two entities apart with a reason, lists the decision, and undoes it", () =>
    Effect.gen(function* () {
      const { url, client } = yield* served()
      const manifest = { ...smallManifest, documents: [{ source: "documents/books.json" }] } as never
      const { batchId } = yield* client.batches.start({ headers: {}, payload: { folder: corpusFolder, manifest } })
      assert.strictEqual((yield* batchEnded(client, batchId)).state, "Completed")
      const params = { namespace: "coast" as never }
      const { relations } = yield* client.knowledge.relations({ params, query: { limit: 1 } })
      const { entities } = yield* client.knowledge.entities({ params, query: { limit: 2 } })
      const one = relations[0]?.subject ?? ""
      const other = entities.find(({ iri }) => iri !== one)?.iri ?? ""
      const tab = yield* openTab(`${url}/knowledge/coast?entity=${encodeURIComponent(one)}`)
      yield* tab.run((page) => page.getByRole("button", { name: "Keep apart from" }).click())
      yield* tab.run((page) => page.getByRole("listbox", { name: "The other entity" }).selectOption(other))
      yield* tab.run((page) => page.getByLabel("Why").fill("two of one name"))
      yield* tab.run((page) => page.getByRole("button", { name: "Keep apart", exact: true }).click())
      yield* tab.shows("Decision 1 holds")
      const { decisions } = yield* client.knowledge.identities({ params, query: {} })
      assert.deepInclude(decisions[0], { kind: "different", entities: [one, other], by: "console", reason: "two of one name" })
      yield* tab.visit("/knowledge/coast")
      yield* tab.shows("two of one name")
      yield* tab.run((page) => page.getByRole("button", { name: "Undo decision 1" }).click())
      yield* tab.shows("Decision 1 is undone")
      assert.strictEqual((yield* client.knowledge.identities({ params, query: {} })).decisions[0]?.state, "undone")
      assert.deepStrictEqual(tab.problems, [])
    }),
  )
})
