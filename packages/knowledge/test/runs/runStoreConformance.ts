/** What a store of runs must do, on whichever database. */
import { zstdCompressSync } from "node:zlib"
import { ContentHash, contentHashOf } from "@detent/blobs/ContentHash"
import { MemUri } from "@detent/blobs/Storage"
import { describe, expect, it } from "@effect/vitest"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { defaultPipelineConfig, ExtractionRun, RunEnding } from "../../src/runs/Run.ts"
import { contentOf, loadArtifact, prepareArtifact } from "../../src/runs/RunArtifacts.ts"
import { RunStore } from "../../src/runs/RunStore.ts"
import type { ArtifactStore } from "../../src/storage/ArtifactStore.ts"
import { documentIdOf, runIdOf } from "../../src/storage/Identity.ts"
import { partOf } from "./Sea.ts"

/** Beyond what 32 bits hold, as all times are. */
const at = DateTime.makeUnsafe(1_800_000_000_123)

const away = RunEnding.cases.Failed.make({ code: "Away", detail: "away" })

const runOf = (name: string, attempt = 0) => {
  const inputUri = MemUri.make(`mem://log/${name}.txt`)
  const part = { ...partOf(7), attempt }
  return new ExtractionRun({
    runId: runIdOf({ ...part, documentId: documentIdOf(inputUri) }),
    status: "running",
    statusVersion: 1,
    documentId: documentIdOf(inputUri),
    batchId: Option.some(part.batchId),
    attempt,
    ontologyHash: ContentHash.make("0123456789abcdef"),
    schemaVersion: "1.0.0",
    inputUri,
    inputHash: Option.none(),
    config: defaultPipelineConfig,
    createdAt: at,
    startedAt: Option.some(at),
    completedAt: Option.none(),
    ending: Option.none(),
    errorMessage: Option.none(),
  })
}

const stepOf = (run: ExtractionRun, batchIndex: number, text: string) =>
  Effect.gen(function* () {
    const graph = yield* prepareArtifact(run.runId, `batch_${batchIndex}.nt`, text, at.epochMilliseconds)
    const counts = { chunks: 1, entities: 0, facts: 0, forReview: 0, calls: 0, inputTokens: 0, outputTokens: 0 }
    return {
      artifacts: [graph.row],
      checkpoint: {
        run_id: run.runId,
        batch_index: batchIndex,
        result_json: JSON.stringify({ ...counts, textHash: contentHashOf(text) }),
        entity_snapshot_path: graph.path,
        entity_snapshot_hash: graph.hash,
        created_at: at.epochMilliseconds,
      },
      graph: { path: graph.path, hash: graph.hash, chunks: 1 },
    }
  })

export const runStoreConformance = (database: string, layer: Layer.Layer<RunStore | ArtifactStore, unknown>) => {
  describe(`runs on ${database}`, () => {
    it.layer(layer)((it) => {
      it.effect("are read as they were written, and created once", () =>
        Effect.gen(function* () {
          const runs = yield* RunStore
          const run = runOf("once")
          expect(yield* runs.create(run)).toEqual(run)
          const changed = yield* runs.changeStatus(run, { expectedVersion: 1, status: "failed", at, ending: away })
          expect(yield* runs.create(run)).toEqual(changed)
          expect(Option.getOrThrow(yield* runs.get(run.runId))).toEqual(changed)
          expect(Option.isNone(yield* runs.get(runOf("never").runId))).toBe(true)
        }),
      )

      it.effect("change their status for one of many who ask at once, and tell the others", () =>
        Effect.gen(function* () {
          const runs = yield* RunStore
          const run = yield* runs.create(runOf("many"))
          const exits = yield* Effect.all(
            Array.from({ length: 10 }, () => Effect.exit(runs.changeStatus(run, { expectedVersion: 1, status: "cancelled", at }))),
            { concurrency: "unbounded" },
          )
          expect(exits.filter(Exit.isSuccess)).toHaveLength(1)
          for (const exit of exits.filter(Exit.isFailure)) expect(String(exit.cause)).toContain("RunStatusConflict")
          expect(Option.getOrThrow(yield* runs.get(run.runId))).toMatchObject({ status: "cancelled", statusVersion: 2 })
        }),
      )

      it.effect("wait as queued, are begun once, and are cancelled together", () =>
        Effect.gen(function* () {
          const runs = yield* RunStore
          const part = partOf(8)
          const queuedOf = (name: string) => {
            const { statusVersion: _, ...run } = runOf(name)
            const runId = runIdOf({ ...part, documentId: run.documentId })
            const batchId = Option.some(part.batchId)
            return new ExtractionRun({ ...run, runId, batchId, status: "queued", statusVersion: 0, startedAt: Option.none() })
          }
          const [one, two, three] = [queuedOf("q-one"), queuedOf("q-two"), queuedOf("q-three")]
          yield* runs.queue([one, two, three])
          expect(yield* runs.counts(part.batchId)).toEqual({ queued: 3, running: 0, succeeded: 0, failed: 0, cancelled: 0 })
          const begun = new ExtractionRun({ ...one, status: "running", statusVersion: 1, startedAt: Option.some(at) })
          expect(yield* runs.create(begun)).toMatchObject({ status: "running", statusVersion: 1 })
          expect(Option.getOrThrow(yield* runs.get(one.runId))).toEqual(begun)
          // Queued again, by a process that starts again, it stays as it is.
          yield* runs.queue([one, two])
          expect(yield* runs.counts(part.batchId)).toMatchObject({ queued: 2, running: 1 })
          yield* runs.cancelQueued(part.batchId, RunEnding.cases.BatchCancelled.make({ attempt: 0 }))
          expect(yield* runs.counts(part.batchId)).toMatchObject({ queued: 0, running: 1, cancelled: 2 })
          const cancelled = Option.getOrThrow(yield* runs.get(two.runId))
          expect(cancelled).toMatchObject({
            status: "cancelled",
            statusVersion: 1,
            ending: Option.some(RunEnding.cases.BatchCancelled.make({ attempt: 0 })),
          })
          expect(yield* runs.create(new ExtractionRun({ ...begun, ...two, status: "running", statusVersion: 1 }))).toEqual(cancelled)
        }),
      )

      it.effect("are removed with all they stored when their batch ended long ago, except what is to be kept", () =>
        Effect.gen(function* () {
          const runs = yield* RunStore
          const part = partOf(9)
          const ended = (name: string, status: "succeeded" | "failed") =>
            Effect.gen(function* () {
              const run = runOf(name)
              const runId = runIdOf({ ...part, documentId: run.documentId })
              const own = yield* runs.create(new ExtractionRun({ ...run, runId, batchId: Option.some(part.batchId) }))
              yield* runs.saveStep(yield* stepOf(own, 0, `graph of ${name}`))
              yield* runs.saveArtifact((yield* prepareArtifact(runId, "content_0.txt", `text of ${name}`, at.epochMilliseconds)).row)
              return yield* runs.changeStatus(own, { expectedVersion: 1, status, at })
            })
          const [gone, failed, kept] = [
            yield* ended("gone", "succeeded"),
            yield* ended("failed", "failed"),
            yield* ended("kept", "succeeded"),
          ]
          const end = at.epochMilliseconds
          expect(yield* runs.endedBatches(end, "", 100)).not.toContain(part.batchId)
          expect(yield* runs.endedBatches(end + 1, "", 100)).toContain(part.batchId)
          expect(yield* runs.endedBatches(end + 1, part.batchId, 100)).not.toContain(part.batchId)
          const purged = yield* runs.purge(part.batchId, new Set([kept.runId]))
          expect([...purged.gone].sort()).toEqual([gone.runId, failed.runId].sort())
          expect((yield* runs.ofBatch(part.batchId)).map(({ runId }) => runId)).toEqual([kept.runId])
          expect(yield* loadArtifact(kept.runId, "content_0.txt")).toBe("text of kept")
          expect(yield* Effect.flip(loadArtifact(kept.runId, "batch_0.nt"))).toMatchObject({ _tag: "ArtifactMissing" })
          expect(Option.isNone(yield* runs.artifact(gone.runId, "content_0.txt"))).toBe(true)
          expect(Option.isNone(yield* runs.lastCheckpoint(gone.runId))).toBe(true)
          expect(yield* runs.endedBatches(end + 1, "", 100)).not.toContain(part.batchId)
        }),
      )

      it.effect("keep the first checkpoint of a batch, and know the last batch", () =>
        Effect.gen(function* () {
          const runs = yield* RunStore
          const run = yield* runs.create(runOf("steps"))
          expect(Option.isNone(yield* runs.lastCheckpoint(run.runId))).toBe(true)
          expect(Option.getOrThrow(yield* runs.standing(run.runId))).toEqual({ run, lastBatch: Option.none() })
          for (const index of [0, 1, 2]) yield* runs.saveStep(yield* stepOf(run, index, `first ${index}`))
          yield* runs.saveStep(yield* stepOf(run, 1, "second"))
          const kept = Option.getOrThrow(yield* runs.checkpoint(run.runId, 1))
          expect(kept.result_json.textHash).toBe(contentHashOf("first 1"))
          expect(kept.created_at).toBe(at.epochMilliseconds)
          // A writer that comes late, such as after a pause of its process, changes nothing of what the checkpoint names.
          expect(yield* loadArtifact(run.runId, "batch_1.nt")).toBe("first 1")
          expect(Option.getOrThrow(yield* runs.artifact(run.runId, "batch_1.nt")).content_hash).toBe(kept.entity_snapshot_hash)
          expect(Option.getOrThrow(yield* runs.lastCheckpoint(run.runId)).batch_index).toBe(2)
          expect(Option.isNone(yield* runs.checkpoint(run.runId, 3))).toBe(true)
          expect(Option.getOrThrow(yield* runs.standing(run.runId))).toEqual({ run, lastBatch: Option.some(2) })
          expect(Option.isNone(yield* runs.standing(runOf("unknown").runId))).toBe(true)
        }),
      )

      it.effect("keep answers of a model until the checkpoint of their chunks, and count what they cost once", () =>
        Effect.gen(function* () {
          const runs = yield* RunStore
          // A batch of its own, since all its runs count together.
          const run = yield* runs.create(new ExtractionRun({ ...runOf("paid"), batchId: Option.some(partOf(6).batchId) }))
          const { batchId } = partOf(6)
          const answer = (chunk: number, step: "entities" | "facts", cost: number | null) => ({
            run_id: run.runId,
            chunk_index: chunk,
            step,
            input_hash: "asked",
            content: `{"about":${chunk}}`,
            calls: 1,
            input_tokens: 3_000_000_000,
            output_tokens: 20,
            cost,
            created_at: at.epochMilliseconds,
          })
          yield* runs.saveAnswer(answer(0, "entities", 0.25))
          yield* runs.saveAnswer(answer(0, "entities", 0.5))
          yield* runs.saveAnswer(answer(0, "facts", 0.25))
          yield* runs.saveAnswer(answer(1, "entities", 0.25))
          const contents = (yield* runs.answers(run.runId, 0, 0)).map(({ step, content, cost }) => [step, content, cost]).sort()
          expect(contents).toEqual([
            ["entities", '{"about":0}', 0.5],
            ["facts", '{"about":0}', 0.25],
          ])
          const usage = { calls: 3, inputTokens: 9_000_000_000, outputTokens: 60, cost: 1 }
          expect(yield* runs.totals({ batchId })).toEqual({ entities: 0, facts: 0, forReview: 0, usage })
          const step = yield* stepOf(run, 0, "paid for")
          const result = {
            ...JSON.parse(step.checkpoint.result_json),
            entities: 4,
            facts: 2,
            forReview: 1,
            calls: 2,
            inputTokens: 6e9,
            outputTokens: 40,
            cost: 0.75,
          }
          yield* runs.saveStep({
            ...step,
            checkpoint: { ...step.checkpoint, result_json: JSON.stringify(result) },
            answered: { first: 0, last: 0 },
          })
          expect(yield* runs.answers(run.runId, 0, 0)).toEqual([])
          expect(yield* runs.answers(run.runId, 0, 1)).toHaveLength(1)
          // The findings of a run count when it has succeeded, its usage at once.
          expect(yield* runs.totals({ batchId })).toEqual({ entities: 0, facts: 0, forReview: 0, usage })
          yield* runs.changeStatus(run, { expectedVersion: 1, status: "succeeded", at })
          expect(yield* runs.totals({ batchId })).toEqual({ entities: 4, facts: 2, forReview: 1, usage })
          expect(yield* runs.totals({ runId: run.runId })).toEqual({ entities: 4, facts: 2, forReview: 1, usage })
          const work = { chunks: JSON.parse(step.checkpoint.result_json).chunks, usage }
          expect(yield* runs.workOf(batchId)).toEqual(new Map([[run.runId, work]]))
          expect(yield* runs.workOf(batchId, [run.documentId])).toEqual(new Map([[run.runId, work]]))
          expect(yield* runs.workOf(batchId, ["doc-of-another"])).toEqual(new Map())
          expect(yield* runs.workOf(batchId, [])).toEqual(new Map())
          expect(yield* runs.misfits(batchId)).toBeUndefined()
          // A price that is not known makes the sum unknown.
          yield* runs.saveAnswer(answer(2, "entities", null))
          expect((yield* runs.totals({ batchId })).usage.cost).toBeUndefined()
          expect((yield* runs.workOf(batchId)).get(run.runId)?.usage.cost).toBeUndefined()
        }),
      )

      it.effect("that have succeeded tell what was not read, with the first of it", () =>
        Effect.gen(function* () {
          const runs = yield* RunStore
          const { batchId } = partOf(9)
          const example = (text: string) => ({ source: "mem://test/a.csv", property: "urn:sea:length", text })
          for (const [name, status] of [
            ["read", "succeeded"],
            ["refused", "failed"],
          ] as const) {
            const run = yield* runs.create(new ExtractionRun({ ...runOf(name), batchId: Option.some(batchId) }))
            for (const index of [0, 1]) {
              const step = yield* stepOf(run, index, `${name} ${index}`)
              const misfits = { count: 40, examples: ["a", "b", "c"].map((text) => example(`${text} ${index}`)) }
              const skipped = { count: 2, examples: [{ source: "mem://test/a.csv", text: `${name} ${index}`, problem: "refused" }] }
              const result = JSON.stringify({ ...JSON.parse(step.checkpoint.result_json), misfits, skipped, refused: skipped })
              yield* runs.saveStep({ ...step, checkpoint: { ...step.checkpoint, result_json: result } })
            }
            yield* runs.changeStatus(run, { expectedVersion: 1, status, at })
          }
          const refused = (text: string) => ({ source: "mem://test/a.csv", text, problem: "refused" })
          expect(yield* runs.skipped(batchId)).toEqual({ count: 4, examples: [0, 1].map((index) => refused(`read ${index}`)) })
          expect(yield* runs.refused(batchId)).toEqual(yield* runs.skipped(batchId))
          expect(yield* runs.misfits(batchId)).toEqual({ count: 80, examples: ["a 0", "b 0", "c 0", "a 1", "b 1"].map(example) })
        }),
      )

      it.effect("end with their last batch, unless another process has changed them meanwhile", () =>
        Effect.gen(function* () {
          const runs = yield* RunStore
          const end = { expectedVersion: 1, status: "succeeded", at } as const
          const [done, left] = [yield* runs.create(runOf("done")), yield* runs.create(runOf("left"))]
          yield* runs.saveEnd(yield* stepOf(done, 0, "whole"), done, end)
          expect(Option.getOrThrow(yield* runs.standing(done.runId))).toMatchObject({
            run: { status: "succeeded", statusVersion: 2, completedAt: Option.some(at) },
            lastBatch: Option.some(0),
          })
          const cancelled = yield* runs.changeStatus(left, { expectedVersion: 1, status: "cancelled", at })
          const told = yield* Effect.flip(runs.saveEnd(yield* stepOf(left, 0, "whole"), left, end))
          expect(told).toMatchObject({ _tag: "RunStatusConflict", expectedVersion: 1, actualVersion: 2 })
          expect(Option.getOrThrow(yield* runs.standing(left.runId))).toEqual({ run: cancelled, lastBatch: Option.some(0) })
          expect((yield* Effect.flip(runs.saveEnd(yield* stepOf(left, 1, "more"), cancelled, end)))._tag).toBe("RunStatusConflict")
        }),
      )

      it.effect("created by many at once are one, which all of them are given", () =>
        Effect.gen(function* () {
          const runs = yield* RunStore
          const asked = Array.from(
            { length: 10 },
            (_, index) => new ExtractionRun({ ...runOf("crowded"), createdAt: DateTime.makeUnsafe(index) }),
          )
          const given = yield* Effect.forEach(asked, runs.create, { concurrency: "unbounded" })
          const stored = Option.getOrThrow(yield* runs.get(runOf("crowded").runId))
          for (const one of given) expect(one).toEqual(stored)
        }),
      )

      it.effect("keep texts of any length and script as they are, and refuse what was damaged", () =>
        Effect.gen(function* () {
          const runs = yield* RunStore
          const run = yield* runs.create(runOf("lengths"))
          const text = 'Åse "of" Port\\Verran, 東京 👩‍🚀\n'
          const texts = ["", text, text.repeat(300), text.repeat(5000), text.repeat(20_000)]
          for (const [index, content] of texts.entries()) yield* runs.saveStep(yield* stepOf(run, index, content))
          for (const [index, content] of texts.entries()) {
            expect((yield* loadArtifact(run.runId, `batch_${index}.nt`)) === content).toBe(true)
          }
          const kept = Option.getOrThrow(yield* runs.artifact(run.runId, "batch_3.nt"))
          const packed = kept.packed ?? new Uint8Array()
          expect(packed.length).toBeGreaterThan(0)
          expect(packed.length).toBeLessThan(text.length * 500)
          const other = Option.getOrThrow(yield* runs.artifact(run.runId, "batch_2.nt"))
          for (const damaged of [packed.slice(0, -5), new Uint8Array(100), other.packed]) {
            yield* runs.saveArtifact({ ...kept, packed: damaged })
            expect((yield* Effect.flip(loadArtifact(run.runId, "batch_3.nt")))._tag).toBe("ArtifactDamaged")
          }
        }),
      )

      it.effect("unpack no more than they could have packed, whatever a row claims", () =>
        Effect.gen(function* () {
          const runs = yield* RunStore
          const run = yield* runs.create(runOf("bomb"))
          yield* runs.saveStep(yield* stepOf(run, 0, "passed ".repeat(5000)))
          const kept = Option.getOrThrow(yield* runs.artifact(run.runId, "batch_0.nt"))
          const much = Buffer.alloc(1_500_001, 32)
          yield* runs.saveArtifact({ ...kept, content_hash: contentHashOf(much), packed: zstdCompressSync(much) })
          const told = yield* Effect.flip(loadArtifact(run.runId, "batch_0.nt"))
          expect(told._tag).toBe("ArtifactDamaged")
          expect(told.message).toContain("restore it from a backup")
        }),
      )

      it.effect("give graphs in pages, also of runs that have none", () =>
        Effect.gen(function* () {
          const runs = yield* RunStore
          const { batchId } = partOf(8)
          const made = yield* Effect.forEach(["a", "b", "c", "d"], (name) =>
            Effect.gen(function* () {
              const one = runOf(`paged-${name}`)
              const run = yield* runs.create(new ExtractionRun({ ...one, batchId: Option.some(batchId) }))
              for (const index of [0, 1]) if (name !== "b") yield* runs.saveStep(yield* stepOf(run, index, `${name} ${index}`))
              yield* runs.changeStatus(run, { expectedVersion: 1, status: "succeeded", at })
              return run
            }),
          )
          const inOrder = made.map(({ documentId }) => documentId).toSorted()
          const first = yield* runs.graphsOf(batchId, "", 3)
          expect(first.map(({ documentId }) => documentId)).toEqual(inOrder.slice(0, 3))
          const second = yield* runs.graphsOf(batchId, inOrder[2] ?? "", 3)
          expect(second.map(({ documentId }) => documentId)).toEqual(inOrder.slice(3))
          const counts = new Map([...first, ...second].map(({ runId, graphs }) => [runId, graphs.length]))
          expect(made.map(({ runId }) => counts.get(runId))).toEqual([2, 0, 2, 2])
        }),
      )

      it.effect("store the steps of many at once, whole texts in any script included", () =>
        Effect.gen(function* () {
          const runs = yield* RunStore
          const text = 'Åse "of" Port\\Verran, 東京 👩‍🚀\n'.repeat(500)
          const names = Array.from({ length: 60 }, (_, index) => `crowd-${index}`)
          yield* Effect.forEach(
            names,
            (name) =>
              Effect.gen(function* () {
                const run = yield* runs.create(runOf(name))
                yield* runs.saveStep(yield* stepOf(run, 0, `${name} ${text}`))
                yield* runs.changeStatus(run, { expectedVersion: 1, status: "succeeded", at })
              }),
            { concurrency: "unbounded", discard: true },
          )
          const { batchId } = partOf(7)
          const pages: Array<string> = []
          for (let after = ""; ; ) {
            const page = yield* runs.graphsOf(batchId, after, 25)
            const last = page.at(-1)
            if (last === undefined) break
            for (const { graphs } of page) pages.push(...(yield* Effect.forEach(graphs, contentOf)))
            after = last.documentId
          }
          expect(pages.filter((content) => content.startsWith("crowd-")).toSorted()).toEqual(
            names.map((name) => `${name} ${text}`).toSorted(),
          )
        }),
      )

      it.effect("are listed by batch, and those under way apart", () =>
        Effect.gen(function* () {
          const runs = yield* RunStore
          const { batchId } = partOf(7)
          const [first, second] = [yield* runs.create(runOf("listed", 0)), yield* runs.create(runOf("listed", 1))]
          yield* runs.changeStatus(first, { expectedVersion: 1, status: "failed", at })
          const mine = (yield* runs.ofBatch(batchId)).filter(({ documentId }) => documentId === first.documentId)
          expect(mine.map(({ attempt, status }) => [attempt, status])).toEqual([
            [0, "failed"],
            [1, "running"],
          ])
          const running = yield* runs.runningOf(batchId)
          expect(running).toContain(second.runId)
          expect(running).not.toContain(first.runId)
        }),
      )
    })
  })
}
