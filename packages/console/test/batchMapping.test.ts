/** The mapping of tables to facts, where a batch is started. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { noBrowser, useBrowser } from "../../server/test/support/browser.ts"
import { corpusFolder } from "../../server/test/support/manifest.ts"
import { served } from "../../server/test/support/served.ts"
import { unless } from "../../store/test/support/skipping.ts"

describe("the mapping of a batch in the console", unless(noBrowser), () => {
  const openTab = useBrowser()

  it.live("is proposed with the facts it gives, edited, and refused where the ontology has no such class", () =>
    Effect.gen(function* () {
      const { url } = yield* served()
      const tab = yield* openTab(`${url}/batches`)
      yield* tab.run((page) => page.getByRole("button", { name: "Start a batch" }).click())
      yield* tab.run((page) => page.getByLabel("Address of the manifest").fill(`${corpusFolder}manifest.json`))
      yield* tab.run((page) => page.getByRole("button", { name: "Map tables" }).click())
      yield* tab.until(`document.querySelector("#mapping")?.value.includes("files:") === true`)
      yield* tab.until(`document.querySelectorAll('[aria-label="What the mapping gives"] > li').length > 1`)
      const facts = yield* tab.evaluate(`document.querySelector('[aria-label="What the mapping gives"]').innerText`)
      assert.match(String(facts), /\d+ facts in \d+ records/)
      yield* tab.run((page) => page.locator("#mapping").fill("files: [{ file: '*.csv', class: Spaceship, name: name, facts: [] }]"))
      yield* tab.run((page) => page.getByRole("button", { name: "Look again" }).click())
      yield* tab.shows('the ontology has no class "Spaceship"')
    }),
  )
})
