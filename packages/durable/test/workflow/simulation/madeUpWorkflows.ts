/** Made-up workflows on nodes that die and a store that fails. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as References from "effect/References"
import * as TestClock from "effect/testing/TestClock"
import { simulate } from "./Simulation.ts"

const from = Number(process.env["DETENT_WORKFLOW_SEED"] ?? 1)

/** The test, with the number of workflows. */
export const madeUpWorkflows = (runs: number) =>
  describe("Effect workflows, simulated", () => {
    it.live(
      `${runs} made-up workflows end as they must, whatever dies: what is stored is never done again, and nothing is stored twice`,
      () =>
        Effect.gen(function* () {
          let crashes = 0
          let failures = 0
          let activities = 0
          for (let seed = from; seed < from + runs; seed++) {
            // Each simulation has a clock of its own, which stands still when the simulation is over.
            const simulated = yield* Effect.provide(simulate(seed), TestClock.layer())
            expect([seed, simulated.problems]).toEqual([seed, []])
            crashes += simulated.crashes
            activities += simulated.activities
            if (simulated.outcome === "Failure") failures++
          }
          // A run in which nothing happened proves nothing.
          expect(crashes).toBeGreaterThan(runs / 2)
          expect(activities).toBeGreaterThan(runs * 2)
          expect(failures).toBeGreaterThan(runs / 20)
        }).pipe(Effect.provideService(References.MinimumLogLevel, "None")),
    )
  })
