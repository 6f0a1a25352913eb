/** The report of a graph in a browser, from a file and from the server. */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { StorageFolder } from "@detent/blobs"
import type { FactReport, ReportedFact } from "@detent/knowledge"
import { reportPage } from "@detent/workspace/ReportPage"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { unless } from "../../../store/test/support/skipping.ts"
import { noBrowser, useBrowser } from "../support/browser.ts"
import { request, served, temporaryFolder } from "../support/served.ts"

const base = "https://example.org/firms#"
const text =
  "Harbour Light was founded in 1984 by Maria Lopez. Harbour Light is headquartered in Ravenholm.\n\nOld Mill was founded in 1991."

const fact = (
  status: ReportedFact["status"],
  subject: string,
  property: string,
  object: string,
  quote: string,
  more: Partial<ReportedFact> = {},
): ReportedFact => {
  const start = text.indexOf(quote)
  assert.notStrictEqual(start, -1)
  const type = property === "born" ? "Person" : "Company"
  return {
    status,
    subject,
    types: [`${base}${type}`],
    property: `${base}${property}`,
    object,
    confidence: 0.8,
    extractor: "built-in",
    start,
    end: start + quote.length,
    quote,
    ...more,
  }
}

const facts = [
  fact("accepted", "Harbour Light", "founded", "1984", "Harbour Light was founded in 1984"),
  fact("accepted", "Harbour Light", "founder", "Maria Lopez", "Harbour Light was founded in 1984 by Maria Lopez"),
  fact("review", "Harbour Light", "headquarters", "Ravenholm", "Harbour Light is headquartered in Ravenholm", { confidence: 0.4 }),
  fact("quarantined", "Old Mill", "founded", "1991", "Old Mill was founded in 1991", { reason: "More than 1 value" }),
]

const reported = (documents: FactReport["documents"]): FactReport => ({
  namespace: "firms",
  version: "0123456789abcdef",
  documentsTotal: documents.length,
  documents,
  entities: 3,
})

const written = (report: FactReport, textOf: (at: number) => string | undefined) =>
  Effect.gen(function* () {
    const page = reportPage(report, Date.UTC(2026, 4, 2))
    const file = join(yield* temporaryFolder, "report.html")
    const blocks = report.documents.map((document, at) => page.document(document, at, textOf(at)))
    yield* Effect.promise(() => writeFile(file, page.head + blocks.join("") + page.tail))
    return pathToFileURL(file).href
  })

const marks = `[...document.querySelectorAll("mark")].map((mark) => mark.className + ": " + mark.textContent)`
const listed = `[...document.querySelectorAll("#list .triple")].map((one) => [...one.children].map((part) => part.textContent).join(" "))`
const set = (id: string, value: string) =>
  `{ const one = document.getElementById("${id}"); one.value = "${value}"; one.dispatchEvent(new Event("change")); true }`

describe("the report of a graph in a browser", unless(noBrowser), () => {
  const openTab = useBrowser()

  it.live("marks facts in the text, also where they overlap, and shows what each says", () =>
    Effect.gen(function* () {
      const url = yield* written(reported([{ documentId: "doc-1", title: "Firms", language: "en", facts }]), () => text)
      const tab = yield* openTab(url)
      yield* tab.until(`document.querySelectorAll("mark").length === 4`)
      assert.deepStrictEqual(yield* tab.evaluate(marks), [
        "accepted many: Harbour Light was founded in 1984",
        "accepted:  by Maria Lopez",
        "review: Harbour Light is headquartered in Ravenholm",
        "quarantined: Old Mill was founded in 1991",
      ])
      assert.strictEqual(yield* tab.evaluate(`document.getElementById("words").textContent`), text)
      yield* tab.evaluate(`document.querySelector("mark").click()`)
      const card = yield* tab.evaluate(`document.getElementById("card").innerText`)
      for (const said of ["Harbour Light founded 1984", "Harbour Light founder Maria Lopez", "accepted", "0.80", "built-in", "Company"])
        assert.include(card, said)
      // From the list to the words.
      yield* tab.evaluate(`document.querySelectorAll("#list button")[3].click()`)
      assert.deepStrictEqual(yield* tab.evaluate(`[...document.querySelectorAll("mark.on")].map((mark) => mark.textContent)`), [
        "Old Mill was founded in 1991",
      ])
      assert.include(yield* tab.evaluate(`document.getElementById("card").innerText`), "More than 1 value")
      yield* tab.press("Escape")
      assert.isTrue(yield* tab.evaluate(`document.getElementById("card").hidden`))
      // Filters.
      yield* tab.evaluate(set("property", `${base}founder`))
      assert.deepStrictEqual(yield* tab.evaluate(listed), ["Harbour Light founder Maria Lopez"])
      assert.deepStrictEqual(
        yield* tab.evaluate(marks),
        ["accepted on: Harbour Light was founded in 1984 by Maria Lopez"].map((one) => one.replace(" on", "")),
      )
      yield* tab.evaluate(set("property", ""))
      yield* tab.evaluate(`document.querySelector(".statuses input[value=accepted]").click()`)
      assert.deepStrictEqual(yield* tab.evaluate(listed), ["Harbour Light headquarters Ravenholm", "Old Mill founded 1991"])
      assert.deepStrictEqual(tab.problems, [])
      assert.deepStrictEqual(tab.requests, [url])
    }),
  )

  it.live("never runs what documents hold", () =>
    Effect.gen(function* () {
      const attack = `</script><script>document.title="taken"</script><!--<script><img src=x onerror="document.title='taken'"> &lt;b&gt; \u2028 {{x}} javascript:alert(1)`
      const hostile: ReportedFact = {
        status: "quarantined",
        subject: attack,
        types: [attack],
        property: attack,
        object: attack,
        datatype: attack,
        extractor: attack,
        start: 0,
        end: attack.length,
        quote: attack,
        reason: attack,
      }
      const document = { documentId: `doc-"><script>`, title: attack, source: attack, language: `de"><b>`, facts: [hostile] }
      const url = yield* written({ ...reported([document]), namespace: attack }, () => attack)
      const tab = yield* openTab(url)
      yield* tab.until(`document.querySelectorAll("mark").length === 1`)
      assert.strictEqual(yield* tab.evaluate(`document.getElementById("words").textContent`), attack)
      assert.strictEqual(yield* tab.evaluate(`document.querySelector("h1").textContent`), attack)
      yield* tab.evaluate(`document.querySelector("mark").click()`)
      assert.strictEqual(yield* tab.evaluate(`document.querySelectorAll("img, b:not(.triple b), iframe").length`), 0)
      assert.notStrictEqual(yield* tab.evaluate("document.title"), "taken")
      // A script that is injected into the page does not run: the policy names the one that may.
      yield* tab.evaluate(
        // Trusted types refuse the attribute already.
        `try { const one = document.createElement("img"); one.setAttribute("onerror", "document.title='taken'"); one.src = "x:"; document.body.append(one) } catch {}`,
      )
      yield* Effect.sleep("200 millis")
      assert.notStrictEqual(yield* tab.evaluate("document.title"), "taken")
    }),
  )

  it.live("opens with a thousand documents, and fits a phone", () =>
    Effect.gen(function* () {
      const many = Array.from({ length: 1000 }, (_, at) => ({
        documentId: `doc-${at}`,
        title: `Document ${at} with a name that is longer than a phone is wide, and then some`,
        facts,
      }))
      const url = yield* written(reported(many), (at) => (at === 999 ? undefined : `${text}\n${at} `.repeat(1)))
      const tab = yield* openTab(url)
      yield* tab.until(`document.querySelectorAll("#documents button").length === 1000`)
      // Only the document that is open is drawn.
      assert.strictEqual(yield* tab.evaluate(`document.querySelectorAll("mark").length`), 4)
      yield* tab.evaluate(`document.querySelector('#documents [data-at="700"]').click()`)
      assert.include(yield* tab.evaluate(`document.getElementById("words").textContent`), "\n700 ")
      yield* tab.evaluate(`document.querySelector('#documents [data-at="999"]').click()`)
      assert.include(yield* tab.evaluate(`document.getElementById("words").textContent`), "no longer stored")
      yield* tab.evaluate(
        `{ const one = document.getElementById("search"); one.value = "document 777"; one.dispatchEvent(new Event("input")); true }`,
      )
      assert.strictEqual(yield* tab.evaluate(`document.querySelectorAll("#documents button").length`), 1)
      for (const width of [390, 720, 1000, 1600]) {
        yield* tab.resize(width)
        assert.isAtMost(Number(yield* tab.evaluate("document.documentElement.scrollWidth")), width)
      }
    }),
  )

  it.live("comes from the server, with a policy that allows nothing else, for the documents of a batch", () =>
    Effect.gen(function* () {
      const input = yield* temporaryFolder
      const ontology = `@prefix : <${base}> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
          :Company a owl:Class ; rdfs:label "company" . :Person a owl:Class ; rdfs:label "person" .
          :founder a owl:ObjectProperty ; rdfs:label "founder" ; rdfs:domain :Company ; rdfs:range :Person .`
      yield* Effect.promise(() => writeFile(join(input, "firms.ttl"), ontology))
      yield* Effect.promise(() =>
        writeFile(join(input, "firms.csv"), "company,founder\nHarbour <b>Light</b>,Maria Lopez\nOld Mill,José Núñez\n"),
      )
      const { url, client } = yield* served({ readable: [input] })
      const folder = StorageFolder.make(`${pathToFileURL(input).href}/`)
      const manifest = { targetNamespace: "firms", ontology: "firms.ttl", documents: [{ source: "firms.csv" }] } as const
      const { batchId } = yield* client.batches.start({ headers: {}, payload: { folder, manifest: manifest as never } })
      for (let turn = 0; turn < 600 && !(yield* client.batches.get({ params: { batchId } })).isTerminal; turn++)
        yield* Effect.sleep("100 millis")
      const address = `${url}/api/v1/knowledge/firms/graph/report?batch=${batchId}`
      const answer = yield* request(address)
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.type, "text/html; charset=utf-8")
      const policy = answer.headers.get("content-security-policy") ?? ""
      for (const part of ["default-src 'none'", "script-src 'sha256-", "frame-ancestors 'none'", "sandbox allow-scripts"])
        assert.include(policy, part)
      assert.notInclude(policy, "unsafe")
      const tab = yield* openTab(address)
      yield* tab.until(`document.querySelectorAll("mark").length > 0`)
      assert.deepStrictEqual(yield* tab.evaluate(listed), ["Harbour <b>Light</b> founder Maria Lopez", "Old Mill founder José Núñez"])
      assert.deepStrictEqual(tab.problems, [])
      const unknown = yield* request(`${url}/api/v1/knowledge/firms/graph/report?batch=batch-000000000000`)
      assert.strictEqual(unknown.status, 404)
    }),
  )
})
