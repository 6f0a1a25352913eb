/** The page of a batch of 1,000 documents while the batch runs: requests and renders per second, and the growth of the heap. */
import { pathToFileURL } from "node:url"
import type { Part } from "../../measure/Group.ts"
import { until, withPage, withServer } from "./ServerAndBrowser.ts"

/** Enough time for all documents on a slow machine. */
const wholeBatch = { seconds: 900, everyMillis: 100 }

export const batch: Part = async ({ quick }) => {
  const total = quick ? 200 : 1000
  return withServer({ kind: "documents", total }, (url, input) =>
    withPage(async (page) => {
      const manifestUri = pathToFileURL(`${input}/manifest.json`).href
      const started = await fetch(`${url}/api/v1/batch`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ manifestUri }),
      })
      const { batchId } = (await started.json()) as { readonly batchId: string }
      await page.goto(`${url}/batches/${batchId}`)
      await until(page, `document.querySelector("[role=progressbar]") !== null`)
      const devtools = await page.context().newCDPSession(page)
      const heap = async () => {
        await devtools.send("HeapProfiler.collectGarbage")
        return (await devtools.send("Runtime.getHeapUsage")).usedSize
      }
      await page.evaluate(`
        window.renders = 0
        new MutationObserver(() => renders++).observe(document.querySelector("main"), { subtree: true, childList: true, characterData: true, attributes: true })
      `)
      let requests = 0
      page.on("request", () => requests++)
      const begin = performance.now()
      await until(page, `Number(document.querySelector("[role=progressbar]").ariaValueNow) > 15`, wholeBatch)
      const early = await heap()
      await until(page, `document.querySelector("[role=progressbar]").ariaValueNow === "100"`, wholeBatch)
      const seconds = (performance.now() - begin) / 1000
      const grown = ((await heap()) - early) / 1e6
      const renders = Number(await page.evaluate("renders")) / seconds
      const asked = requests / seconds
      return {
        tables: [
          {
            title: `A batch of ${total.toLocaleString("en")} documents, followed for ${seconds.toFixed(0)} s`,
            columns: ["", ""],
            rows: [
              ["requests per second", asked.toFixed(2)],
              ["renders per second", renders.toFixed(2)],
              ["growth of the heap", `${grown.toFixed(1)} MB`],
            ],
          },
        ],
        figures: { "batch.requestsPerSecond": asked, "batch.rendersPerSecond": renders, "batch.heapGrowthMb": grown },
      }
    }),
  )
}
