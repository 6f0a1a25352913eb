import { it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as References from "effect/References"
import * as TestClock from "effect/testing/TestClock"
import { simulate } from "./Simulation.ts"
const from = Number(process.env["SEED"] ?? 1), n = Number(process.env["N"] ?? 40)
it.live("x", () => Effect.gen(function* () {
  for (let seed = from; seed < from + n; seed++) {
    const t = performance.now()
    process.stderr.write(`seed ${seed} `)
    const s = yield* Effect.provide(simulate(seed), TestClock.layer())
    process.stderr.write(`${(performance.now() - t).toFixed(0)} ms crashes ${s.crashes} ${JSON.stringify(s.problems).slice(0, 300)}\n`)
  }
}).pipe(Effect.provideService(References.MinimumLogLevel, "None")), 2_000_000)
