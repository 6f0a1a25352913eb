import type { Group } from "../../measure/Group.ts"
import { batch } from "./batch.ts"
import { firstLoad } from "./firstLoad.ts"
import { history } from "./history.ts"
import { many } from "./many.ts"
import { scroll } from "./scroll.ts"

const group: Group = {
  parts: { load: firstLoad, scroll, history, batch, many },
  goals: [
    { key: "firstLoad.gzipKb", atMost: 200, about: "kB of the first load, compressed with gzip" },
    { key: "list.frameMedianMs", atMost: 20, about: "median frame while a list of 10,000 rows is scrolled, ms" },
    { key: "list.domRows", atMost: 99, about: "most rows of that list in the document" },
    { key: "history40k.openMs", atMost: 1000, about: "an instance of 40,000 events, until everything is shown, ms" },
    { key: "batch.requestsPerSecond", atMost: 2.2, about: "requests per second while the page follows a batch of 1,000 documents" },
    { key: "batch.rendersPerSecond", atMost: 4, about: "renders per second of that page" },
    { key: "counts.millisAt1M", atMost: 5, about: "counts by state at 1,000,000 instances, over HTTP, ms" },
    { key: "list.millisAt1M", atMost: 5, about: "the slowest of four lists at 1,000,000 instances, over HTTP, ms" },
  ],
}

export default group
