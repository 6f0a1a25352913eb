/** What the console costs: the bytes of the first load, and the rows of a long list. */

import { Engine } from "@detent/durable"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { noBrowser, useBrowser } from "../../server/test/support/browser.ts"
import { request, useServed } from "../../server/test/support/served.ts"
import { Tally } from "../../server/test/support/Tally.ts"
import { unless } from "../../store/test/support/skipping.ts"

describe("what the console costs", unless(noBrowser), () => {
  const openTab = useBrowser()
  const shared = useServed()

  it.live("loads at most 200 kB, compressed with gzip, before the overview is there", () =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const tab = yield* openTab(url)
      yield* tab.shows("nothing to do")
      const files = tab.requests.filter((address) => !address.includes("/api/") && !address.includes("/health/"))
      const sizes = yield* Effect.forEach(files, (address) =>
        Effect.promise(async () => {
          const response = await fetch(address, { headers: { accept: "text/html", "accept-encoding": "gzip" } })
          return Number(response.headers.get("content-length"))
        }),
      )
      const total = sizes.reduce((sum, size) => sum + size, 0)
      assert.isAbove(total, 20_000)
      assert.isAtMost(total, 200_000, files.join())
    }),
  )

  it.live("has fewer than a hundred rows of a list of thousands in the document, and reads on while a person scrolls", () =>
    Effect.gen(function* () {
      const { url, context } = yield* shared
      const engine = Context.get(context, Engine)
      const ids = Array.from({ length: 3000 }, (_, index) => `row-${String(index).padStart(5, "0")}`)
      yield* Effect.forEach(ids, (id) => engine.start(Tally, id), { concurrency: 200, discard: true })
      const tab = yield* openTab(`${url}/instances?machine=tally`)
      yield* tab.until(`document.querySelectorAll("[role=row]").length > 5`)
      yield* tab.evaluate(`
          window.most = 0
          window.frames = []
          const scroller = document.querySelector("[role=rowgroup]")
          const turn = (before) => (now) => {
            most = Math.max(most, document.querySelectorAll("[role=row]").length)
            if (before !== undefined) frames.push(now - before)
            scroller.scrollTop += 1600
            if (frames.length < 400) requestAnimationFrame(turn(now))
          }
          requestAnimationFrame(turn())
        `)
      yield* tab.until(`frames.length >= 400 || document.querySelector("[role=rowgroup]").scrollTop > 100_000`)
      assert.isBelow(Number(yield* tab.evaluate("most")), 100)
      yield* tab.until(`Number(document.querySelector("[role=table]").getAttribute("aria-rowcount")) > 1000`)
      assert.deepStrictEqual(tab.problems, [])
    }),
  )

  it.live("is answered without a token, and lets nothing run that is not its own", () =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const page = yield* request(`${url}/`, { headers: { accept: "text/html" } })
      assert.notMatch(page.text, /<style|style="|\son\w+="|<script(?! type="module" crossorigin src="\/assets\/)/)
      const addresses = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = ""]) => address)
      for (const address of addresses) assert.match(address, /^\/(?:assets\/|icon\.svg$|docs$)/)
    }),
  )
})
