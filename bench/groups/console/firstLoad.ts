/** The bytes, compressed with gzip, of all files that the browser loads until the overview is shown. */
import type { Part } from "../../measure/Group.ts"
import { until, withPage, withServer } from "./ServerAndBrowser.ts"

export const firstLoad: Part = () =>
  withServer({ kind: "rows", total: 1 }, (url) =>
    withPage(async (page) => {
      const addresses: Array<string> = []
      page.on("request", (request) => addresses.push(request.url()))
      await page.goto(url)
      await until(page, `document.body.innerText.includes("Changed last")`)
      const files = addresses.filter((address) => !/\/(?:api|health)\//.test(address))
      const sizes = await Promise.all(
        files.map(async (address) => {
          const response = await fetch(address, { headers: { accept: "text/html", "accept-encoding": "gzip" } })
          await response.arrayBuffer()
          return Number(response.headers.get("content-length"))
        }),
      )
      const kb = sizes.reduce((sum, size) => sum + size, 0) / 1000
      return {
        tables: [
          {
            title: "The first load of the console",
            columns: ["", ""],
            rows: [
              ["files", String(files.length)],
              ["gzip", `${kb.toFixed(1)} kB`],
            ],
          },
        ],
        figures: { "firstLoad.gzipKb": kb, "firstLoad.files": files.length },
      }
    }),
  )
