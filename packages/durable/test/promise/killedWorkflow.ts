/** A process that runs a workflow of steps and is killed in the middle of it. Each execution of a step appends a line to a file. */
import { appendFileSync } from "node:fs"
import { flushCompileCache } from "node:module"
import * as Schema from "effect/Schema"
import { type DatabaseAddress, openEngine, workflow } from "../../src/promise.ts"

// A killed process does not write its cache of compiled modules, so this one does it before.
flushCompileCache()

const [database, log] = process.argv.slice(2) as [DatabaseAddress, string]
const wait = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

const Ten = workflow({ name: "ten", input: { id: Schema.String } }, async ({ id }, durable) => {
  const results: Array<string> = []
  for (let n = 1; n <= 10; n++) {
    results.push(
      await durable.step(`step ${n}`, async () => {
        appendFileSync(log, `begin ${n}\n`)
        await wait(15)
        appendFileSync(log, `end ${n}\n`)
        return `${id} ${n}`
      }),
    )
    // The result is stored: the next step is about to begin.
    appendFileSync(log, `stored ${n}\n`)
    if (n === 5) await durable.sleep("a pause", "40 millis")
  }
  return results
})

const engine = await openEngine({ database, nodeId: "only", workflows: [Ten] })
process.send?.({ result: await engine.workflows.run(Ten, "ten-1", { id: "ten-1" }) })
await engine.close()
