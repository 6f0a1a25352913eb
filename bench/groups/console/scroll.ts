/** A list of 10,000 rows, scrolled from its first row to its last: the time of a frame, and the rows in the document. */
import type { Part } from "../../measure/Group.ts"
import { median } from "../../measure/Statistics.ts"
import { until, withPage, withServer } from "./ServerAndBrowser.ts"

/** Loads every page first, so that the measurement has frames only, no requests. */
const readAll = `(async () => {
  const scroller = document.querySelector("[role=rowgroup]")
  scroller.scrollTop = scroller.scrollHeight
  await new Promise(requestAnimationFrame)
  return Number(document.querySelector("[role=table]").getAttribute("aria-rowcount"))
})()`

const scrolled = `new Promise((resolve) => {
  const scroller = document.querySelector("[role=rowgroup]")
  const frames = []
  let most = 0
  scroller.scrollTop = 0
  const turn = (before) => (now) => {
    if (before !== undefined) frames.push(now - before)
    most = Math.max(most, document.querySelectorAll("[role=row]").length)
    scroller.scrollTop += 400
    if (frames.length < 600) requestAnimationFrame(turn(now))
    else resolve({ frames, most })
  }
  requestAnimationFrame(turn())
})`

export const scroll: Part = async ({ quick }) => {
  const total = quick ? 2000 : 10_000
  return withServer({ kind: "rows", total }, (url) =>
    withPage(async (page) => {
      await page.goto(`${url}/instances?machine=tally`)
      await until(page, `document.querySelectorAll("[role=row]").length > 5`)
      for (let turn = 0; turn < 2000 && ((await page.evaluate(readAll)) as number) <= total; turn++)
        await new Promise((resolve) => setTimeout(resolve, 20))
      const { frames, most } = (await page.evaluate(scrolled)) as { readonly frames: ReadonlyArray<number>; readonly most: number }
      const frame = median(frames)
      return {
        tables: [
          {
            title: `A list of ${total.toLocaleString("en")} rows, scrolled by 10 rows a frame`,
            columns: ["", ""],
            rows: [
              ["median frame", `${frame.toFixed(1)} ms`],
              ["slowest frame", `${Math.max(...frames).toFixed(1)} ms`],
              ["most rows in the document", String(most)],
            ],
          },
        ],
        figures: { "list.frameMedianMs": frame, "list.domRows": most },
      }
    }),
  )
}
