import { MemUri } from "@detent/blobs/Storage"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Chunk } from "../../src/document/Chunk.ts"
import { ExtractionFailed } from "../../src/extract/Extractor.ts"
import { Extractions } from "../../src/runs/Extractions.ts"
import { ExtractionWorkflow, executionIdOf } from "../../src/runs/ExtractionWorkflow.ts"
import { RunStore } from "../../src/runs/RunStore.ts"
import { documentIdOf, runIdOf } from "../../src/storage/Identity.ts"
import { longText, opened, partOf, passing } from "./Sea.ts"

describe("a run", () => {
  it.live("finds what the document says, batch by batch, and asked for again is the same run", () =>
    Effect.gen(function* () {
      const asked: Array<number> = []
      const { layer, request } = yield* opened(passing(asked), { "log.txt": longText })
      yield* Effect.gen(function* () {
        const extractions = yield* Extractions
        const part = partOf(1)
        const result = yield* extractions.run({ ...request("log.txt"), part })
        expect(result.batches).toBeGreaterThan(3)
        expect(result.facts).toBe(600)
        // Many batches name the same ships: each counts once.
        expect(result.entities).toBe(601)
        expect(result).not.toHaveProperty("cost")
        expect(yield* extractions.run({ ...request("log.txt"), part })).toEqual(result)
        expect(asked).toHaveLength(result.chunks)
        expect((yield* extractions.get(result.runId)).status).toBe("succeeded")
        const lines = yield* Stream.runCollect(extractions.lines(result.runId))
        expect(lines).toEqual([...new Set(lines)].sort())
        expect(lines.filter((line) => line.includes("#passed> <urn"))).toHaveLength(600)
        expect((yield* extractions.registry(result.runId)).entities).toHaveLength(601)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("succeeds whether or not its last batch is full, and each batch of it is kept", () =>
    Effect.gen(function* () {
      const { layer, request } = yield* opened(passing([]), { "log.txt": longText.slice(0, 7000) })
      yield* Effect.gen(function* () {
        const extractions = yield* Extractions
        const runs = yield* RunStore
        for (const batchSize of [1, 2, 3, 4, 5]) {
          const asked = request("log.txt")
          const { runId, batches, chunks } = yield* extractions.run({ ...asked, config: { ...asked.config, batchSize } })
          expect(chunks).toBe(4)
          expect(batches).toBe(Math.ceil(4 / batchSize))
          const standing = Option.getOrThrow(yield* runs.standing(runId))
          expect(standing).toMatchObject({ run: { status: "succeeded", statusVersion: 2 }, lastBatch: Option.some(batches - 1) })
        }
      }).pipe(Effect.provide(layer))
    }),
  )

  it.effect("is known to workflows by the id they would give it", () =>
    Effect.gen(function* () {
      const runId = runIdOf({ ...partOf(1), documentId: documentIdOf("mem://log/log.txt") })
      for (const resumption of [0, 1, 12]) {
        const payload = { runId, resumption, ontologyUri: MemUri.make("mem://log/sea.ttl") }
        expect(executionIdOf(payload)).toBe(yield* ExtractionWorkflow.executionId(payload))
      }
    }),
  )

  it.live("that failed continues after its last checkpoint when it is resumed", () =>
    Effect.gen(function* () {
      const asked: Array<number> = []
      let broken = true
      const fault = (chunk: Chunk) =>
        broken && chunk.index === 7
          ? Effect.fail(new ExtractionFailed({ extractor: "test", reason: "Unavailable", retryable: true, detail: "away" }))
          : Effect.void
      const { layer, request } = yield* opened(passing(asked, fault), { "log.txt": longText })
      yield* Effect.gen(function* () {
        const extractions = yield* Extractions
        const part = partOf(2)
        const failure = yield* Effect.flip(extractions.run({ ...request("log.txt"), part }))
        expect(failure).toMatchObject({ _tag: "RunFailed", code: "ExtractionFailed", retryable: true })
        expect((yield* extractions.get(failure.runId)).status).toBe("failed")
        broken = false
        const result = yield* extractions.resume(failure.runId, request("log.txt"))
        expect(result.entities).toBe(601)
        expect((yield* extractions.get(failure.runId)).status).toBe("succeeded")
        expect(result.facts).toBe(600)
        // The first three batches of two were stored; the sixth chunk shared a batch with the one that failed.
        expect(asked.filter((index) => index < 6)).toHaveLength(6)
        expect((yield* Effect.flip(extractions.resume(failure.runId, request("log.txt"))))._tag).toBe("RunStatusRefused")
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("that is cancelled stops, can be resumed, and is not cancelled twice", () =>
    Effect.gen(function* () {
      const asked: Array<number> = []
      let hanging = true
      let reached = false
      const fault = (chunk: Chunk) =>
        Effect.suspend(() => {
          reached ||= chunk.index === 4
          return hanging && chunk.index === 4 ? Effect.never : Effect.void
        })
      const { layer, request } = yield* opened(passing(asked, fault), { "log.txt": longText })
      yield* Effect.gen(function* () {
        const extractions = yield* Extractions
        const part = partOf(3)
        const runId = yield* extractions.start({ ...request("log.txt"), part })
        while (!reached) yield* Effect.sleep("10 millis")
        expect((yield* extractions.cancel(runId)).status).toBe("cancelled")
        expect((yield* Effect.flip(extractions.cancel(runId)))._tag).toBe("RunStatusRefused")
        hanging = false
        expect((yield* extractions.resume(runId, request("log.txt"))).facts).toBe(600)
        expect(asked.filter((index) => index < 4)).toHaveLength(4)
      }).pipe(Effect.provide(layer))
    }),
  )
})
