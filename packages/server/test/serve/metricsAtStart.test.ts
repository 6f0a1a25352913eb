/** The registry of metrics is that of the process: test files that ran before in the same worker may have counted batches. */
import { readFileSync } from "node:fs"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { request, served } from "../support/served.ts"

const read = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), "utf8")

it.live("a server that has done nothing yet exposes the counters of dashboards and alerts, those of batches with every outcome", () =>
  Effect.gen(function* () {
    const { url } = yield* served()
    const { text } = yield* request(`${url}/metrics`)
    const used = [...`${read("infra/grafana/detent.json")} ${read("docs/guides/monitoring.md")}`.matchAll(/\bdetent_\w+_total\b/g)]
    // Which models there will be is not known before their first call.
    const names = new Set(used.map(([name]) => name).filter((name) => !name.startsWith("detent_model_")))
    assert.isAbove(names.size, 10)
    for (const name of names) assert.match(text, new RegExp(`^${name}(\\{[^}]*\\})? \\d+$`, "m"), name)
    for (const outcome of ["completed", "failed", "cancelled"])
      assert.match(text, new RegExp(`^detent_batches_total\\{[^}]*outcome="${outcome}"[^}]*\\} \\d+$`, "m"))
    for (const queue of ["batch", "activities"])
      for (const status of ["pending", "processing", "failed"])
        assert.match(text, new RegExp(`^detent_commands\\{queue="${queue}",status="${status}"\\} 0$`, "m"))
  }).pipe(Effect.scoped),
)
