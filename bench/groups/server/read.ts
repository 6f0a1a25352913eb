/** Reading one instance over HTTP, beside a bare handler of node:http that returns the same bytes. */
import type { Part } from "../../measure/Group.ts"
import { median } from "../../measure/Statistics.ts"
import { temporaryFolder } from "../../measure/TemporaryFolder.ts"
import { drive, sample } from "./Driving.ts"
import { startServing } from "./Programs.ts"

const path = "/api/v1/instances/order/order-1"
const connections = 32

export const read: Part = async ({ quick }) => {
  const folder = temporaryFolder()
  const detent = await startServing("serving.ts", [folder.file("home")])
  const { body } = await sample(detent.port, path)
  const bare = await startServing("bare.ts", [body])
  try {
    const [millis, turns] = quick ? [1000, 3] : [2000, 7]
    // Warms up both until their code is optimised.
    await drive(bare.port, path, connections, 2000)
    await drive(detent.port, path, connections, 4000)
    const results: Array<{ readonly ours: number; readonly busy: number; readonly writes: number; readonly theirs: number }> = []
    for (let turn = 0; turn < turns; turn++) {
      const theirs = await drive(bare.port, path, connections, millis)
      const ours = await drive(detent.port, path, connections, millis)
      const writing = startWriting(detent.port, turn)
      const busy = await drive(detent.port, path, connections, millis)
      results.push({ theirs, ours, busy, writes: ((await writing.stop()) / millis) * 1000 })
    }
    const of = (key: keyof (typeof results)[number]) => median(results.map((one) => one[key]))
    const [ours, busy, theirs] = [of("ours"), of("busy"), of("theirs")]
    const ratio = median(results.map((one) => one.ours / one.theirs))
    const busyRatio = median(results.map((one) => one.busy / one.theirs))
    return {
      tables: [
        {
          title: `Reading one instance over HTTP, ${connections} connections`,
          columns: ["", "requests per second", "of node:http"],
          rows: [
            ["node:http, the same bytes", theirs.toFixed(0), "1.00"],
            ["detent", ours.toFixed(0), ratio.toFixed(2)],
            [`detent, ${of("writes").toFixed(0)} instances/s started meanwhile`, busy.toFixed(0), busyRatio.toFixed(2)],
          ],
        },
      ],
      figures: { "read.perSecond": ours, "read.vsNodeHttp": ratio, "read.whileWriting": busyRatio },
    }
  } finally {
    await Promise.all([detent.stop(), bare.stop()])
    folder.remove()
  }
}

/** Starts one instance after the other until it is stopped; returns how many. */
const startWriting = (port: number, turn: number) => {
  let [stopped, count] = [false, 0]
  const writing = (async () => {
    while (!stopped) {
      const body = JSON.stringify({ id: `written-${turn}-${count}` })
      const headers = { "content-type": "application/json" }
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/instances/order`, { method: "POST", headers, body })
      if (response.status !== 201) throw new Error(`starting an instance was answered with ${await response.text()}`)
      await response.text()
      count++
    }
    return count
  })()
  return {
    stop: () => {
      stopped = true
      return writing
    },
  }
}
