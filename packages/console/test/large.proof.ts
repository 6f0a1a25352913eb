/** Large things in the console, as numbers of requests, of bytes and of elements: times are measured by `npm run bench -- console`. */
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { StorageFolder } from "@detent/blobs"
import { Engine } from "@detent/durable"
import { Event, Machine, State } from "@detent/machine"
import { defineConfig } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Route } from "playwright-core"
import { noBrowser, useBrowser } from "../../server/test/support/browser.ts"
import { served, temporaryFolder } from "../../server/test/support/served.ts"
import { E, Tally } from "../../server/test/support/Tally.ts"
import { unless } from "../../store/test/support/skipping.ts"

const elements = `document.querySelectorAll("*").length`

describe("large things in the console", unless(noBrowser), () => {
  const openTab = useBrowser()

  it.live("opens an instance of thousands of events with few requests, few bytes and few rows", () =>
    Effect.gen(function* () {
      const { url, context } = yield* served()
      const instance = yield* Context.get(context, Engine).start(Tally, "long")
      const total = 4000
      yield* Effect.forEach(Array.from({ length: total }), () => instance.send(E.Add({ by: 1 })), { concurrency: 500, discard: true })
      const tab = yield* openTab(`${url}/instances/tally/long`)
      yield* tab.shows("Step 4,000 of 4,000")
      yield* tab.until(`document.querySelectorAll("[role=table][aria-label=History] [role=row]").length > 5`)
      yield* tab.until(`document.querySelector("[data-state=Open] rect") !== null && document.querySelector(".late") === null`)
      const asked = tab.requests.filter((address) => address.includes("/api/v1/instances/"))
      assert.isAtMost(asked.length, 12, asked.join("\n"))
      const bytes = Number(
        yield* tab.evaluate(`performance.getEntriesByType("resource").filter(({ name }) => name.includes("/api/v1/instances/"))
            .reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0)`),
      )
      assert.isAtMost(bytes, 400_000)
      assert.isBelow(Number(yield* tab.evaluate(`document.querySelectorAll("[role=row]").length`)), 100)
      yield* tab.visit("/instances/tally/long?at=17")
      yield* tab.shows("Step 17 of 4,000")
      yield* tab.until(`/count\\s+−\\s+before:\\s+16\\s+\\+\\s+after:\\s+17/.test(document.querySelector("main").innerText)`)
      assert.deepStrictEqual(tab.problems, [])
    }),
  )

  it.live("follows a batch of many documents with at most two requests and four renders a second, and keeps its heap flat", () =>
    Effect.gen(function* () {
      const total = 60
      const input = yield* temporaryFolder
      const ontology = `@prefix : <https://example.org/firms#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
          @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . :Company a owl:Class ; rdfs:label "company" .
          :Person a owl:Class ; rdfs:label "person" .
          :founder a owl:ObjectProperty ; rdfs:label "founder" ; rdfs:domain :Company ; rdfs:range :Person .`
      yield* Effect.promise(async () => {
        await mkdir(input, { recursive: true })
        await writeFile(join(input, "firms.ttl"), ontology)
        for (let index = 0; index < total; index++)
          await writeFile(join(input, `${index}.csv`), `company,founder\nFirm ${index},Ada Sol ${index}\n`)
      })
      const { url, client } = yield* served({ readable: [input] })
      const documents = Array.from({ length: total }, (_, index) => ({ source: `${index}.csv` }))
      const manifest = { targetNamespace: "firms", ontology: "firms.ttl", documents }
      const folder = StorageFolder.make(`${pathToFileURL(input).href}/`)
      const { batchId } = yield* client.batches.start({ headers: {}, payload: { folder, manifest: manifest as never } })
      const tab = yield* openTab(`${url}/batches/${batchId}`)
      yield* tab.shows("Documents")
      yield* tab.evaluate(`
          window.renders = 0
          window.beganAt = performance.now()
          new MutationObserver(() => renders++).observe(document.querySelector("main"), { subtree: true, childList: true, characterData: true, attributes: true })
        `)
      const before = tab.requests.length
      const devtools = yield* tab.run((page) => page.context().newCDPSession(page))
      const heap = Effect.promise(async () => {
        await devtools.send("HeapProfiler.collectGarbage")
        return (await devtools.send("Runtime.getHeapUsage")).usedSize
      })
      yield* tab.until(`Number(document.querySelector("[role=progressbar]")?.ariaValueNow) > 10`)
      const early = yield* heap
      for (let turn = 0; turn < 1200 && !(yield* client.batches.get({ params: { batchId } })).isTerminal; turn++)
        yield* Effect.sleep("100 millis")
      const seconds = Number(yield* tab.evaluate("(performance.now() - beganAt) / 1000"))
      const requests = tab.requests.slice(before).filter((address) => address.includes("/api/")).length
      const renders = Number(yield* tab.evaluate("renders"))
      // The first round of reads is not preceded by another one.
      assert.isAtMost(requests, 2 * seconds + 8)
      assert.isAtMost(renders, 4 * seconds + 12)
      yield* tab.until(`document.querySelector("[role=progressbar]")?.ariaValueNow === "100"`)
      yield* tab.until(`document.querySelectorAll("[aria-label='One cell for each document'] a").length === ${total}`)
      assert.isAtMost((yield* heap) - early, 12_000_000)
      assert.deepStrictEqual(tab.problems, [])
    }),
  )

  it.live("shows a state of a megabyte, cut, and its difference", () =>
    Effect.gen(function* () {
      const state = State({ Open: { text: Schema.String, fields: Schema.Record(Schema.String, Schema.Int) } })
      const event = Event({ Grow: {} })
      const fields = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`field-${index}`, index]))
      const Huge = Machine.make({ name: "huge", state, event, initial: state.Open({ text: "x", fields: {} }) }).on(
        state.Open,
        event.Grow,
        state.Open,
        () => state.Open({ text: "y".repeat(1_000_000), fields }),
      )
      const { url, client } = yield* served({ config: defineConfig({ machines: [Huge] }) })
      const params = { machine: "huge", id: "one" }
      yield* client.instances.start({ params, payload: { id: "one" } })
      yield* client.instances.send({ params, headers: {}, payload: { _tag: "Grow" } })
      const tab = yield* openTab(`${url}/instances/huge/one`)
      yield* tab.shows("Show all 1000 kB")
      yield* tab.shows("The first 200 differences are shown")
      assert.isBelow(Number(yield* tab.evaluate("document.body.innerText.length")), 60_000)
      assert.isBelow(Number(yield* tab.evaluate(elements)), 3000)
      assert.deepStrictEqual(tab.problems, [])
    }),
  )

  it.live("draws a machine of 200 states, and takes counts of 100,000 states", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 200 }, (_, index) => `Step${index}`)
      const state = State(Object.fromEntries(names.map((name) => [name, { round: Schema.Int }])))
      const event = Event({ Next: {} })
      const first = (state as unknown as Record<string, (fields: { readonly round: number }) => never>)["Step0"]
      let machine = Machine.make({ name: "wide", state, event, initial: first?.({ round: 0 }) as never }) as never as ChainedMachine
      for (const [index, name] of names.entries()) {
        const next = names[index + 1]
        if (next !== undefined)
          machine = machine.on((state as Chained)[name], (event as unknown as Chained)["Next"], (state as Chained)[next])
      }
      const { url, client } = yield* served({ config: defineConfig({ machines: [machine as never] }) })
      yield* client.instances.start({ params: { machine: "wide" }, payload: { id: "one" } })
      const tab = yield* openTab(`${url}/machines/wide`)
      yield* tab.until(`document.querySelectorAll("svg [data-state]").length === 200`)
      // The numbers of a machine that had many states before.
      const counts = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`Old${index}`, index]))
      const changed = async (route: Route) => {
        const answer = await (await route.fetch()).json()
        const add = (one: object) => ({ ...one, counts })
        await route.fulfill({ json: "machines" in answer ? { machines: answer.machines.map(add) } : add(answer) })
      }
      yield* tab.run((page) => page.route(/\/api\/v1\/machines(\/wide)?$/, changed))
      for (const [path, text] of [
        ["/", "4,999,950,000"],
        ["/machines", "4,999,950,000"],
        ["/instances?machine=wide", "Step199"],
        ["/machines/wide", "4,999,950,000 instances"],
      ] as const) {
        yield* tab.visit(path)
        yield* tab.shows(text)
        assert.isBelow(Number(yield* tab.evaluate(elements)), 6000, path)
      }
      assert.deepStrictEqual(tab.problems, [])
    }),
  )
})

type Chained = Readonly<Record<string, unknown>>
interface ChainedMachine {
  readonly on: (from: unknown, event: unknown, to: unknown) => ChainedMachine
}
