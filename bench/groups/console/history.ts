/** The page of an instance with 40,000 events: the time until its state, its last events and its diagram are shown. */
import type { Part } from "../../measure/Group.ts"
import { median } from "../../measure/Statistics.ts"
import { until, withPage, withServer } from "./ServerAndBrowser.ts"

const isOpen = (total: number) => {
  const step = total.toLocaleString("en")
  return `document.body.innerText.includes("Step ${step} of ${step}") && document.querySelectorAll("[role=table][aria-label=History] [role=row]").length > 5 && document.querySelector("[data-state=Open] rect") !== null && document.querySelector(".late") === null`
}

export const history: Part = async ({ quick }) => {
  const total = quick ? 10_000 : 40_000
  return withServer({ kind: "history", total }, (url) =>
    withPage(async (page) => {
      const millis: Array<number> = []
      await page.goto(url)
      for (let round = 0; round < 5; round++) {
        await page.goto("about:blank")
        const begin = performance.now()
        await page.goto(`${url}/instances/tally/long`)
        await until(page, isOpen(total))
        millis.push(performance.now() - begin)
      }
      const opened = median(millis)
      return {
        tables: [
          {
            title: `An instance of ${total.toLocaleString("en")} events, opened in a browser with cached files`,
            columns: ["", ""],
            rows: [
              ["until everything is shown, median of 5", `${opened.toFixed(0)} ms`],
              ["slowest of 5", `${Math.max(...millis).toFixed(0)} ms`],
            ],
          },
        ],
        figures: quick ? { "history10k.openMs": opened } : { "history40k.openMs": opened },
      }
    }),
  )
}
