/**
 * A batch of six simulated documents; one of them cannot be read.
 *
 * Run it: `npx node examples/batch/run.ts`
 */
import { spawn } from "@detent/machine"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { E } from "./Batch.ts"
import type { BatchConfig } from "./BatchConfig.ts"
import type { BatchEvent } from "./BatchEvent.ts"
import { simulated } from "./Simulation.ts"

const main = Effect.gen(function* () {
  const documentIds = ["charter", "letters", "minutes", "ledger", "map", "diary"]
  const world = {
    millisPerDocument: 150,
    isBroken: (documentId: string) => documentId === "map",
    emit: ({ _tag, ...fact }: BatchEvent) => console.log(`    fact: ${_tag} ${"documentId" in fact ? fact.documentId : ""}`),
    persist: () => {},
  }
  const config: BatchConfig = { concurrency: 2, failurePolicy: "continue-on-failure", enableEntityResolution: true, maxRetries: 2 }
  const batch = yield* spawn(simulated(world), { batchId: "b-1", documentIds, config, retryCount: 0 })
  batch.subscribe((state) => console.log(`→ ${state._tag}${"progress" in state ? ` ${Math.round(state.progress * 100)} %` : ""}`))
  yield* batch.send(E.StartExtraction())
  yield* Console.log("the end:", yield* batch.awaitFinal)
})

if (import.meta.main) await Effect.runPromise(Effect.scoped(main))
