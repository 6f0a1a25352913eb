/** A process that extracts one document and writes down every call of its extractor. It resumes where the one before it was killed. */
import { appendFileSync, writeFileSync } from "node:fs"
import { flushCompileCache } from "node:module"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Extractions } from "../../src/runs/Extractions.ts"
import type { ToCrashWorker } from "./CrashProcess.ts"
import { partOf, passing, port, requestIn } from "./Sea.ts"

const extract = ({ root, name, pauseMillis }: ToCrashWorker) => {
  const note = (index: number) => {
    appendFileSync(join(root, `${name}.log`), `${index}\n`)
    process.send?.({ _tag: "Asked" })
  }
  const extractor = passing({ push: note }, () => Effect.sleep(pauseMillis))
  return Effect.gen(function* () {
    const extractions = yield* Extractions
    const result = yield* extractions.run({
      ...requestIn(root, "log.txt"),
      config: { windowSize: 2000, overlap: 200, batchSize: 2, concurrency: 2 },
      part: partOf(1),
    })
    const lines = yield* Stream.runCollect(extractions.lines(result.runId))
    const { entities } = yield* extractions.registry(result.runId)
    writeFileSync(join(root, `${name}.nt`), lines.join("\n"))
    writeFileSync(join(root, `${name}.json`), JSON.stringify({ result, entities }))
  }).pipe(Effect.provide(port({ root, extractor, nodeId: name, database: `${name}.db`, artifacts: name })))
}

process.on("message", (message) => {
  Effect.runPromise(extract(message as ToCrashWorker)).then(
    () => process.send?.({ _tag: "Done" }, () => process.exit(0)),
    (error: unknown) => process.send?.({ _tag: "Failed", problem: String(error) }, () => process.exit(1)),
  )
})
// A killed process does not write its cache of compiled modules, so this one does it before it may be killed.
flushCompileCache()
process.send?.({ _tag: "Ready" })
