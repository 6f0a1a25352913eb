import { readdir, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { StorageFull, type StorageService } from "@detent/blobs/Storage"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { SqlClient } from "effect/sql/SqlClient"
import type { Chunk } from "../../src/document/Chunk.ts"
import { chunkText } from "../../src/document/Sentences.ts"
import { ExtractionFailed, type ExtractorService } from "../../src/extract/Extractor.ts"
import { Extractions } from "../../src/runs/Extractions.ts"
import * as ExtractionWorkflow from "../../src/runs/ExtractionWorkflow.ts"
import { folderWith, longText, opened, partOf, passing, port, requestIn } from "./Sea.ts"

const away = new ExtractionFailed({ extractor: "test", reason: "Unavailable", retryable: true, detail: "away" })

/** Fails at a chunk until it is mended. */
const failingAt = (index: number) => {
  const fault = { isBroken: true }
  return { fault, before: (chunk: Chunk) => (fault.isBroken && chunk.index === index ? Effect.fail(away) : Effect.void) }
}

/** Quotes so much that a graph is too large for a row, and has a file of its own. */
const quotingMuch = (extractor: ExtractorService): ExtractorService => ({
  ...extractor,
  facts: (chunk, mentions, ontology) =>
    Effect.map(extractor.facts(chunk, mentions, ontology), ({ facts, usage }) => ({
      usage,
      facts: facts.map((fact, index) => (index === 0 ? { ...fact, quote: fact.quote.repeat(30_000) } : fact)),
    })),
})

const files = async (folder: string): Promise<ReadonlyArray<string>> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name))

describe("a failed run", () => {
  it.live("that two resume at once is resumed by one, and the other call fails", () =>
    Effect.gen(function* () {
      const asked: Array<number> = []
      const { fault, before } = failingAt(7)
      const { layer, request } = yield* opened(passing(asked, before), { "log.txt": longText })
      yield* Effect.gen(function* () {
        const extractions = yield* Extractions
        const { runId } = yield* Effect.flip(extractions.run(request("log.txt")))
        fault.isBroken = false
        const both = yield* Effect.all(
          [1, 2].map(() => Effect.exit(extractions.resume(runId, request("log.txt")))),
          { concurrency: 2 },
        )
        expect(both.filter(Exit.isSuccess)).toHaveLength(1)
        const [loser] = both.filter(Exit.isFailure)
        expect(String(loser?.cause)).toMatch(/RunStatusConflict|RunStatusRefused/)
        expect(asked.filter((index) => index < 6)).toHaveLength(6)
        expect((yield* extractions.get(runId)).statusVersion).toBe(4)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("that two nodes resume at once is resumed by one, and the other call fails", () =>
    Effect.gen(function* () {
      const asked: Array<number> = []
      const { fault, before } = failingAt(7)
      const root = yield* folderWith({ "log.txt": longText })
      const request = requestIn(root, "log.txt")
      const node = (nodeId: string) => port({ root, nodeId, extractor: passing(asked, before) })
      const { runId } = yield* Effect.provide(
        Effect.flip(Effect.flatMap(Extractions, (extractions) => extractions.run(request))),
        node("first"),
      )
      fault.isBroken = false
      const resuming = (nodeId: string) =>
        Effect.provide(
          Effect.flatMap(Extractions, (extractions) => Effect.exit(extractions.resume(runId, request))),
          node(nodeId),
        )
      const both = yield* Effect.all([resuming("second"), resuming("third")], { concurrency: 2 })
      expect(both.filter(Exit.isSuccess)).toHaveLength(1)
      expect(String(both.find(Exit.isFailure)?.cause)).toMatch(/RunStatusConflict|RunStatusRefused/)
      expect(asked.filter((index) => index < 6)).toHaveLength(6)
    }),
  )

  it.live("is not resumed on a document that was changed since, nor on one that was cut short", () =>
    Effect.gen(function* () {
      const { fault, before } = failingAt(7)
      const { layer, request, root } = yield* opened(passing([], before), { "log.txt": longText })
      yield* Effect.gen(function* () {
        const extractions = yield* Extractions
        const { runId } = yield* Effect.flip(extractions.run(request("log.txt")))
        fault.isBroken = false
        const resumedOn = (text: string) =>
          Effect.andThen(
            Effect.promise(() => writeFile(join(root, "log.txt"), text)),
            Effect.exit(extractions.resume(runId, request("log.txt"))),
          )
        const changed = yield* Effect.flip(Effect.flatten(resumedOn(longText.replace("Ship3 ", "Boat3 "))))
        expect(changed).toMatchObject({ _tag: "RunFailed", code: "DocumentChanged" })
        expect(changed.message).toContain("restore it and resume, or start a new run")
        // The first batch as it was, and nothing after it.
        const second = chunkText(longText, { size: 2000, overlap: 0 })[2]?.offset
        const cut = yield* Effect.flip(Effect.flatten(resumedOn(longText.slice(0, second))))
        expect(cut).toMatchObject({ _tag: "RunFailed", code: "DocumentChanged" })
        const whole = yield* Effect.flatten(resumedOn(longText))
        expect(whole.facts).toBe(600)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("whose document was deleted says so, and resumes when it is back", () =>
    Effect.gen(function* () {
      const { fault, before } = failingAt(7)
      const { layer, request, root } = yield* opened(passing([], before), { "log.txt": longText })
      yield* Effect.gen(function* () {
        const extractions = yield* Extractions
        const { runId } = yield* Effect.flip(extractions.run(request("log.txt")))
        fault.isBroken = false
        yield* Effect.promise(() => rm(join(root, "log.txt")))
        const gone = yield* Effect.flip(extractions.resume(runId, request("log.txt")))
        expect(gone).toMatchObject({ _tag: "RunFailed", code: "BlobNotFound" })
        yield* Effect.promise(() => writeFile(join(root, "log.txt"), longText))
        expect((yield* extractions.resume(runId, request("log.txt"))).facts).toBe(600)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("for which the disk was full resumes when there is room, and extracts nothing stored again", () =>
    Effect.gen(function* () {
      const asked: Array<number> = []
      let room = 2
      const small = (storage: StorageService): StorageService => ({
        ...storage,
        set: (uri, content, precondition) =>
          Effect.suspend(() =>
            uri.includes("/artifacts/") && --room < 0
              ? Effect.fail(new StorageFull({ uri, cause: new Error("ENOSPC") }))
              : storage.set(uri, content, precondition),
          ),
      })
      const root = yield* folderWith({ "log.txt": longText })
      const request = requestIn(root, "log.txt")
      yield* Effect.gen(function* () {
        const extractions = yield* Extractions
        const full = yield* Effect.flip(extractions.run(request))
        expect(full).toMatchObject({ _tag: "RunFailed", code: "StorageFull" })
        expect(full.message).toContain("free some space or raise the quota")
        const before = yield* Stream.runCollect(extractions.lines(full.runId))
        expect(before.length).toBeGreaterThan(0)
        const askedBefore = new Set(asked)
        room = Number.POSITIVE_INFINITY
        expect((yield* extractions.resume(full.runId, request)).facts).toBe(600)
        // Only the batch whose graph found no room was asked about again.
        expect(asked.length - new Set(asked).size).toBe(2)
        expect(askedBefore.size).toBeGreaterThan(2)
        const after = new Set(yield* Stream.runCollect(extractions.lines(full.runId)))
        expect(before.filter((line) => !after.has(line))).toEqual([])
      }).pipe(Effect.provide(port({ root, extractor: quotingMuch(passing(asked)), storage: small })))
    }),
  )
})

describe("what a run left", () => {
  const shortText = "Ship1 passed Ship2. Ship3 passed Ship4."

  it.live("in a row that was changed by hand is refused as damaged", () =>
    Effect.gen(function* () {
      const { layer, request } = yield* opened(passing([]), { "log.txt": shortText })
      yield* Effect.gen(function* () {
        const extractions = yield* Extractions
        const sql = yield* SqlClient
        const { runId } = yield* extractions.run(request("log.txt"))
        yield* sql`update run_artifacts set content = replace(content, 'Ship1', 'Boat1')`
        const lines = yield* Effect.flip(Stream.runCollect(extractions.lines(runId)))
        expect(lines._tag).toBe("ArtifactDamaged")
        expect((yield* Effect.flip(extractions.registry(runId)))._tag).toBe("ArtifactDamaged")
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("in a file that was changed by hand is refused as damaged, and in one that is gone as missing", () =>
    Effect.gen(function* () {
      const { layer, request, root } = yield* opened(quotingMuch(passing([])), { "log.txt": longText })
      yield* Effect.gen(function* () {
        const extractions = yield* Extractions
        const { runId, batches } = yield* extractions.run(request("log.txt"))
        expect(batches).toBeGreaterThan(1)
        const kept = yield* Effect.promise(() => files(join(root, "artifacts")))
        const graph = kept.find((path) => path.endsWith("batch_1.nt")) ?? ""
        yield* Effect.promise(() => writeFile(graph, "<urn:a> <urn:b> <urn:c> .\n"))
        const damaged = yield* Effect.flip(Stream.runCollect(extractions.lines(runId)))
        expect(damaged._tag).toBe("ArtifactDamaged")
        expect(damaged.message).toContain("restore it from a backup, or retry the batch, which makes it again")
        yield* Effect.promise(() => rm(graph))
        expect((yield* Effect.flip(Stream.runCollect(extractions.lines(runId))))._tag).toBe("BlobNotFound")
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("without the row of a graph is missing, not empty", () =>
    Effect.gen(function* () {
      const { layer, request } = yield* opened(passing([]), { "log.txt": shortText })
      yield* Effect.gen(function* () {
        const extractions = yield* Extractions
        const sql = yield* SqlClient
        const { runId } = yield* extractions.run(request("log.txt"))
        yield* sql`delete from run_artifacts where artifact_key = 'batch_0.nt'`
        expect((yield* Effect.flip(Stream.runCollect(extractions.lines(runId))))._tag).toBe("ArtifactMissing")
      }).pipe(Effect.provide(layer))
    }),
  )
})

describe("a cancelled run", () => {
  it.live("does not resume by itself when its process died before the execution heard of it", () =>
    Effect.gen(function* () {
      const asked: Array<number> = []
      let hanging = true
      let reached = false
      const before = (chunk: Chunk) =>
        Effect.suspend(() => {
          reached ||= chunk.index === 4
          return hanging && chunk.index === 4 ? Effect.never : Effect.void
        })
      const root = yield* folderWith({ "log.txt": longText })
      const request = { ...requestIn(root, "log.txt"), part: partOf(1) }
      const process = () => port({ root, extractor: passing(asked, before) })
      yield* Effect.gen(function* () {
        const extractions = yield* Extractions
        const sql = yield* SqlClient
        const running = yield* Effect.forkChild(extractions.run(request))
        while (!reached) yield* Effect.sleep("10 millis")
        // All that cancelling stores, before the execution is interrupted.
        yield* sql`update extraction_runs set status = 'cancelled', status_version = 2, completed_at = 0`
        yield* Fiber.interrupt(running)
      }).pipe(Effect.provide(process()))
      hanging = false
      yield* Effect.gen(function* () {
        const extractions = yield* Extractions
        const failure = yield* Effect.flip(extractions.run(request))
        expect(failure).toMatchObject({ _tag: "RunFailed", code: "RunSuperseded" })
        expect(asked.filter((index) => index > 5)).toEqual([])
        expect((yield* extractions.resume(failure.runId, request)).facts).toBe(600)
        expect(asked.filter((index) => index < 4)).toHaveLength(4)
      }).pipe(Effect.provide(process()))
    }),
  )
})

describe("a run that had ended when its process died, before its execution heard of it", () => {
  /** The execution as it was before its end was stored; the run's own rows stay. */
  const forgetEnd = Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql`delete from detent_events`
    yield* sql`update detent_instances set sequence = 0, tag = 'Running', status = 'running', owner = 'test', needs_owner = 1`
  })

  it.live("with success gives the same result, and extracts nothing again", () =>
    Effect.gen(function* () {
      const asked: Array<number> = []
      const root = yield* folderWith({ "log.txt": longText })
      const request = { ...requestIn(root, "log.txt"), part: partOf(1) }
      const process = () => port({ root, extractor: passing(asked) })
      const run = Effect.flatMap(Extractions, (extractions) => extractions.run(request))
      const result = yield* Effect.provide(Effect.tap(run, forgetEnd), process())
      expect(asked).toHaveLength(result.chunks)
      expect(yield* Effect.provide(run, process())).toEqual(result)
      expect(asked).toHaveLength(result.chunks)
    }),
  )

  it.live("and was resumed by another since says that it can be tried again, since nothing is wrong with the document", () =>
    Effect.gen(function* () {
      const { fault, before } = failingAt(7)
      const root = yield* folderWith({ "log.txt": longText })
      const request = { ...requestIn(root, "log.txt"), part: partOf(1) }
      yield* Effect.gen(function* () {
        const extractions = yield* Extractions
        const sql = yield* SqlClient
        const { runId } = yield* Effect.flip(extractions.run(request))
        fault.isBroken = false
        // Two deliveries of one task have resumed the run, one right after the other.
        yield* sql`update extraction_runs set status = 'running', status_version = 5, completed_at = null`
        const late = ExtractionWorkflow.execute({ runId, resumption: 1, ontologyUri: request.ontologyUri })
        expect(yield* Effect.flip(late)).toMatchObject({ code: "RunSuperseded", retryable: true })
        expect((yield* extractions.complete(request, 0)).facts).toBe(600)
      }).pipe(Effect.provide(port({ root, extractor: passing([], before) })))
    }),
  )

  it.live("with a failure says why, does not try again by itself, and can be resumed", () =>
    Effect.gen(function* () {
      const asked: Array<number> = []
      const { fault, before } = failingAt(7)
      const root = yield* folderWith({ "log.txt": longText })
      const request = { ...requestIn(root, "log.txt"), part: partOf(1) }
      const process = () => port({ root, extractor: passing(asked, before) })
      yield* Effect.gen(function* () {
        const extractions = yield* Extractions
        yield* Effect.flip(extractions.run(request))
        yield* forgetEnd
      }).pipe(Effect.provide(process()))
      fault.isBroken = false
      const askedBefore = asked.length
      yield* Effect.gen(function* () {
        const extractions = yield* Extractions
        const failure = yield* Effect.flip(extractions.run(request))
        expect(failure).toMatchObject({ _tag: "RunFailed", code: "RunSuperseded" })
        expect(failure.detail).toContain("away")
        expect(asked).toHaveLength(askedBefore)
        expect((yield* extractions.get(failure.runId)).status).toBe("failed")
        expect((yield* extractions.resume(failure.runId, request)).facts).toBe(600)
      }).pipe(Effect.provide(process()))
    }),
  )
})
