/** A process that fills the index of a machine and is killed while it does. It reports how far the store says that the fill is. */
import { flushCompileCache } from "node:module"
import { type DatabaseAddress, openEngine } from "../../src/promise.ts"
import { Indexed } from "./filledMachine.ts"

// A killed process does not write its cache of compiled modules, so this one does it before.
flushCompileCache()

const [database] = process.argv.slice(2) as [DatabaseAddress]
const engine = await openEngine({ database, machines: [Indexed] })
for (;;) {
  const progress = await engine.indexes(Indexed)
  process.send?.(progress)
  if (progress?.isComplete === true) break
  await new Promise((resolve) => setTimeout(resolve, 2))
}
await engine.close()
