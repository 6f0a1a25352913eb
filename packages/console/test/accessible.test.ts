/** Every page of the console, in both themes and on a screen and a phone: no violation that axe finds, and nothing wider than the window. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { noBrowser, useBrowser } from "../../server/test/support/browser.ts"
import { corpusFolder, smallManifest } from "../../server/test/support/manifest.ts"
import { batchEnded, served } from "../../server/test/support/served.ts"
import { unless } from "../../store/test/support/skipping.ts"

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

interface Violation {
  readonly id: string
  readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary?: string }>
}

/**
 * Only contrast depends on the theme: the dark one is checked for that. Style sheets are not loaded once more, for one rule about the
 * orientation of screens.
 */
const rules = {
  light: `document, { resultTypes: ["violations"], preload: false }`,
  dark: `document, { resultTypes: ["violations"], preload: false, runOnly: ["color-contrast"] }`,
}

describe("every page of the console", unless(noBrowser), () => {
  const openTab = useBrowser()

  it.live("has no violation of accessibility in two themes and two widths, and never scrolls sideways", () =>
    Effect.gen(function* () {
      const { url, client } = yield* served()
      const documents = [{ source: "documents/books.json" }, { source: "documents/morozova.txt" }]
      const manifest = { ...smallManifest, documents } as never
      const { batchId } = yield* client.batches.start({ headers: {}, payload: { folder: corpusFolder, manifest } })
      for (const id of ["one", "two"]) {
        yield* client.instances.start({ params: { machine: "tally" }, payload: { id } })
        yield* client.instances.send({ params: { machine: "tally", id }, headers: {}, payload: { _tag: "Add", by: 7 } })
      }
      yield* client.instances.send({ params: { machine: "tally", id: "two" }, headers: {}, payload: { _tag: "Pause" } })
      yield* batchEnded(client, batchId)
      const params = { namespace: "coast" as never }
      const { entities } = yield* client.knowledge.entities({ params, query: { search: "Harbour" } })
      const pages = [
        ["/", "Changed last"],
        ["/machines", "tally"],
        ["/machines/tally", "Diagram"],
        ["/instances?machine=tally", "two"],
        ["/instances/tally/two?at=1", "Step 1 of 2"],
        ["/workflows", "Workflows"],
        ["/commands", "Commands"],
        ["/batches", "coast"],
        [`/batches/${batchId}`, "Artifacts"],
        ["/knowledge/coast", "Contributions"],
        ["/knowledge/coast/sparql?q=SELECT%20*%20%7B%20%3Fs%20%3Fp%20%3Fo%20%7D%20LIMIT%205", "5 rows"],
        [`/knowledge/coast?entity=${encodeURIComponent(entities[0]?.iri ?? "")}`, "Neighbourhood"],
        ["/uploads", "Choose a file"],
        ["/queues", "Queues"],
        ["/schedules", "Schedules"],
        ["/nodes", "This server"],
        ["/system", "System"],
      ] as const
      const problems: Array<string> = []
      const tab = yield* openTab(url)
      // Under the content policy a script comes from the server alone, or from the tools of the browser.
      yield* tab.evaluate(`${axe};true`)
      for (const [path, text] of pages) {
        yield* tab.visit(path)
        yield* tab.shows(text)
        yield* tab.until(`document.querySelector(".late") === null`)
        for (const theme of ["light", "dark"] as const) {
          yield* tab.run((page) => page.emulateMedia({ colorScheme: theme }))
          yield* tab.until(`document.documentElement.dataset.theme === "${theme}"`)
          for (const width of [1280, 390]) {
            yield* tab.resize(width)
            const violations = (yield* tab.evaluate(
              `axe.run(${rules[theme]}).then(({ violations }) => violations.map(({ id, nodes }) => ({ id, nodes })))`,
            )) as ReadonlyArray<Violation>
            const place = `${path}, ${theme}, ${width} pixels`
            for (const { id, nodes } of violations)
              for (const { html, failureSummary } of nodes) problems.push(`${place}: ${id}: ${html} ${failureSummary}`)
            const shown = Number(yield* tab.evaluate("document.documentElement.scrollWidth"))
            if (shown > width) problems.push(`${place}: it is ${shown} pixels wide`)
          }
        }
        yield* tab.run((page) => page.emulateMedia({ colorScheme: "light" }))
        yield* tab.resize(1280)
      }
      assert.deepStrictEqual(problems, [])
    }),
  )
})
