import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { onCluster, onJournal, publish, reportLayer } from "../durable/SameWorkflow.ts"

describe("one workflow on two engines", () => {
  for (const [name, engine] of [
    ["the journal", onJournal],
    ["Effect's cluster", onCluster],
  ] as const) {
    it.live(`has the same result on ${name}`, () => {
      const folder = mkdtempSync(join(tmpdir(), "detent-same-"))
      return Effect.gen(function* () {
        expect(yield* publish("the year")).toBe("draft of the year, approved by Grace, sent at attempt 3")
      }).pipe(
        Effect.provide(reportLayer.pipe(Layer.provideMerge(engine(join(folder, "store.db"))))),
        Effect.ensuring(Effect.sync(() => rmSync(folder, { recursive: true, force: true }))),
      )
    })
  }
})
