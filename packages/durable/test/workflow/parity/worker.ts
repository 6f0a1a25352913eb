/** A process that drives all programs on one engine until they are over, or until it is killed. */
import { appendFileSync } from "node:fs"
import { flushCompileCache } from "node:module"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as References from "effect/References"
import { readDeeds } from "./Deeds.ts"
import { type EngineName, engineOn } from "./Engines.ts"
import { programs } from "./Programs.ts"

const [, , engine = "detent", folder = "", url] = process.argv
const results = join(folder, "results")

// Workers end with the test that started them.
process.on("disconnect", () => process.exit(0))

const quiet = Layer.succeed(References.MinimumLogLevel, "None")
const runtime = ManagedRuntime.make(engineOn(engine as EngineName, folder, url).pipe(Layer.provideMerge(quiet)))

const drive = Effect.forEach(
  programs.filter(({ name }) => readDeeds(results, name).length === 0),
  ({ name, drive }) =>
    Effect.flatMap(Effect.exit(drive), (exit) =>
      Effect.sync(() => appendFileSync(results, `${JSON.stringify([name, JSON.stringify(exit)])}\n`)),
    ),
  { concurrency: "unbounded", discard: true },
)

// A killed process does not write its cache of compiled modules, so this one does it before it may be killed.
flushCompileCache()
await runtime.runPromise(Effect.sync(() => process.send?.("ready")))
await runtime.runPromise(drive)
process.send?.("over")
