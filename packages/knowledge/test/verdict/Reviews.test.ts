/** The review list of a batch: what people accept enters the graph in their name, what they reject stays out of it. */
import { fork } from "node:child_process"
import { once } from "node:events"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { RelativePath } from "@detent/blobs/Storage"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { programOf } from "../../../store/test/support/programs.ts"
import { Batches } from "../../src/batch/Batches.ts"
import { manifestOfFolder } from "../../src/batch/ManifestMaking.ts"
import { CanonicalGraph } from "../../src/graph/CanonicalGraph.ts"
import { ReviewStore } from "../../src/review/ReviewStore.ts"
import { defaultPipelineConfig } from "../../src/runs/Run.ts"
import { Reviews } from "../../src/verdict/Reviews.ts"
import { canonical, harbour, manifest, sea } from "../batch/sea.ts"
import { reviewsConformance } from "./reviewsConformance.ts"
import { completed, factOf, files, hesitant, passings } from "./unsure.ts"

/** Runs the process until it has killed itself. */
const killedReviewer = (args: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const reviewer = fork(programOf(join(import.meta.dirname, "killedReviewer.ts")), args, {
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      execArgv: [],
    })
    let said = ""
    reviewer.stderr?.on("data", (piece) => {
      said += String(piece)
    })
    const [, signal] = await once(reviewer, "exit")
    expect(signal, said).toBe("SIGKILL")
  })

reviewsConformance("SQLite", Effect.succeed({}))

describe("the review list of a batch", () => {
  it.live("refuses a fact with which the graph would not conform, says why, and leaves it open", () =>
    Effect.gen(function* () {
      const { layer, folder, data } = yield* harbour({ files, extractor: hesitant() })
      yield* Effect.gen(function* () {
        const { id } = yield* completed(folder, {}, { shapes: RelativePath.make("shapes.ttl") })
        const alba = yield* factOf(id, "ShipAlba")
        const cetus = yield* factOf(id, "ShipCetus")
        const reviews = yield* Reviews
        const outcome = yield* reviews.accept(id, { all: true }, "ada")
        expect(outcome).toMatchObject({ decided: 2, remaining: 1, review: { open: 1, accepted: 2, rejected: 0 } })
        const problem = `the graph would not conform: passed: passed too many; the graph has ${folder}one.txt: "ShipAlba passed ShipBoreas"`
        expect(outcome.refused).toEqual([{ factId: alba.factId, problem }])
        expect(yield* passings(data)).toEqual(["ShipAlba passed ShipBoreas", "ShipCetus passed ShipDorado", "ShipElektra passed ShipFjord"])
        expect(yield* factOf(id, "ShipAlba")).toMatchObject({ status: "open", refused: problem })
        expect(yield* reviews.reject(id, { facts: [alba.factId, cetus.factId] }, "bo")).toMatchObject({
          decided: 1,
          refused: [{ factId: cetus.factId }],
        })
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("refuses facts that are not on the list, and a batch that has not ended", () =>
    Effect.gen(function* () {
      const { layer, folder } = yield* harbour({ files: { ...files, "broken.pdf": "%PDF" }, extractor: hesitant() })
      yield* Effect.gen(function* () {
        const { id } = yield* completed(folder)
        const reviews = yield* Reviews
        expect(yield* Effect.flip(reviews.accept(id, { facts: ["0123456789abcdef"] }, "ada"))).toMatchObject({
          _tag: "ReviewFactUnknown",
          facts: ["0123456789abcdef"],
        })
        const batches = yield* Batches
        const failed = yield* batches.start(folder, manifest(["broken.pdf"]))
        expect((yield* batches.awaitEnd(failed))._tag).toBe("Failed")
        expect((yield* Effect.flip(reviews.reject(failed, { all: true }, "ada")))._tag).toBe("ReviewNotReady")
      }).pipe(Effect.provide(layer))
    }),
  )
})

describe("decisions", () => {
  it.live("hold for the version of the document: extracted again it brings back what was accepted and nothing that was rejected", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const { layer, folder, input, data } = yield* harbour({ files, extractor: hesitant(asked) })
      yield* Effect.gen(function* () {
        const first = yield* completed(folder)
        const reviews = yield* Reviews
        yield* reviews.accept(first.id, { facts: [(yield* factOf(first.id, "ShipCetus")).factId] }, "ada")
        yield* reviews.reject(first.id, { facts: [(yield* factOf(first.id, "ShipElektra")).factId] }, "bo")
        // Another configuration: every document is extracted again, and every fact is sure enough.
        const second = yield* completed(folder, { pipeline: { ...defaultPipelineConfig, reviewBelow: 0.2 } })
        expect(asked).toHaveLength(4)
        expect(yield* passings(data)).toEqual(["ShipAlba passed ShipBoreas", "ShipAlba passed ShipDorado", "ShipCetus passed ShipDorado"])
        const third = yield* completed(folder, { pipeline: { ...defaultPipelineConfig, reviewBelow: 0.4 } })
        expect((yield* reviews.list(third.id, { status: "open" })).facts.map(({ subject }) => subject)).toEqual(["ShipAlba"])
        expect(yield* reviews.counts(third.id)).toEqual({ open: 1, accepted: 1, rejected: 1 })
        expect(third.end.stats.forReview).toBe(3)
        expect(second.end.stats.forReview).toBe(0)
        expect((yield* canonical(data)).lines.filter((line) => line.includes("acceptedBy"))).toHaveLength(1)
        // The words of the rejected fact are no longer in the document.
        yield* Effect.promise(() => writeFile(join(input, "two.txt"), files["two.txt"].replaceAll("ShipFjord", "ShipGale")))
        const fourth = yield* completed(folder)
        expect((yield* reviews.list(fourth.id, { status: "open" })).facts.map(({ subject }) => subject).toSorted()).toEqual([
          "ShipAlba",
          "ShipElektra",
        ])
        // The list of the first batch is about a version that the graph does not have any more.
        const old = yield* factOf(first.id, "ShipAlba")
        const late = yield* reviews.accept(first.id, { facts: [old.factId] }, "ada")
        expect(late.refused[0]?.problem).toMatch(/does not have this version of .*two\.txt/)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("stay where a changed document still states the fact with the same words, unless they were taken back", () =>
    Effect.gen(function* () {
      const { layer, folder, input, data } = yield* harbour({ files, extractor: hesitant() })
      yield* Effect.gen(function* () {
        const first = yield* completed(folder)
        const reviews = yield* Reviews
        yield* reviews.accept(first.id, { facts: [(yield* factOf(first.id, "ShipElektra")).factId] }, "ada")
        yield* reviews.reject(first.id, { facts: [(yield* factOf(first.id, "ShipAlba")).factId] }, "bo")
        const change = (before: string) => Effect.promise(() => writeFile(join(input, "two.txt"), `${before}${files["two.txt"]}`))
        yield* change("ShipHesper passed ShipIbis.\n\n")
        const second = yield* completed(folder)
        expect(yield* passings(data)).toContain("ShipElektra passed ShipFjord")
        expect(yield* reviews.counts(second.id)).toEqual({ open: 0, accepted: 1, rejected: 1 })
        const accepted = yield* factOf(second.id, "ShipElektra")
        expect(accepted).toMatchObject({ status: "accepted", decidedBy: "ada" })
        expect(accepted.history?.map(({ by }) => by)).toEqual(["ada"])
        yield* reviews.reopen(second.id, { facts: [accepted.factId] }, "cy")
        yield* change("ShipHesper passed ShipIbis again.\n\n")
        const third = yield* completed(folder)
        expect(yield* reviews.counts(third.id)).toEqual({ open: 1, accepted: 0, rejected: 1 })
        expect(yield* passings(data)).not.toContain("ShipElektra passed ShipFjord")
      }).pipe(Effect.provide(layer))
    }),
  )

  for (const moment of ["before", "after"])
    it.live(`are applied once by the next process where one is killed with -9 ${moment} it moves the graph`, () =>
      Effect.gen(function* () {
        const { layer, folder, data, root } = yield* harbour({ files, extractor: hesitant() })
        const { id } = yield* Effect.provide(completed(folder), layer)
        yield* killedReviewer([data, join(root, "batches.db"), id, "current.json", moment])
        const versions = yield* Effect.gen(function* () {
          const reviews = yield* Reviews
          yield* Effect.repeat(
            Effect.flatMap(ReviewStore, (store) => store.pendingIn),
            {
              until: (left) => left.length === 0,
              schedule: Schedule.spaced("20 millis"),
            },
          )
          expect(yield* passings(data)).toHaveLength(4)
          const { lines, published } = yield* canonical(data)
          expect(lines.filter((line) => line.includes('acceptedBy> "ada"'))).toHaveLength(3)
          expect(published.match(/acceptedBy/g)).toHaveLength(3)
          const first = yield* Effect.flatMap(CanonicalGraph, (graph) => graph.current(sea))
          yield* reviews.publishPending
          expect(yield* reviews.counts(id)).toEqual({ open: 0, accepted: 3, rejected: 0 })
          return [first, yield* Effect.flatMap(CanonicalGraph, (graph) => graph.current(sea))].map((one) => Option.getOrThrow(one).version)
        }).pipe(Effect.provide(layer))
        expect(versions[0]).toBe(versions[1])
      }),
    )

  for (const moment of ["before", "after"])
    it.live(
      `leave the graph with their batch, once, where a process that withdraws it is killed with -9 ${moment} it moves the graph`,
      () =>
        Effect.gen(function* () {
          const { layer, folder, data, root } = yield* harbour({ files, extractor: hesitant() })
          const { id, version } = yield* Effect.gen(function* () {
            const { id } = yield* completed(folder)
            yield* Effect.flatMap(Reviews, (reviews) => reviews.accept(id, { all: true }, "ada"))
            return { id, version: Option.getOrThrow(yield* Effect.flatMap(CanonicalGraph, (graph) => graph.current(sea))).version }
          }).pipe(Effect.provide(layer))
          yield* killedReviewer([data, join(root, "batches.db"), id, "current.json", moment, "withdraw"])
          yield* Effect.gen(function* () {
            const { withdraw } = yield* Batches
            const current = Effect.map(
              Effect.flatMap(CanonicalGraph, (graph) => graph.current(sea)),
              Option.getOrThrow,
            )
            const left = yield* current
            expect(left.version === version).toBe(moment === "before")
            const again = yield* withdraw(id)
            expect(Option.isSome(again)).toBe(moment === "before")
            const { lines, published } = yield* canonical(data)
            expect(lines).toEqual([])
            expect(published).not.toContain("acceptedBy")
            const { version: last, contributions } = yield* current
            expect(contributions).toEqual([])
            expect(Option.isNone(yield* withdraw(id))).toBe(true)
            expect((yield* current).version).toBe(last)
          }).pipe(Effect.provide(layer))
        }),
    )

  it.live("that are taken back leave a fact in the graph that a later batch is sure of", () =>
    Effect.gen(function* () {
      const { layer, folder, data } = yield* harbour({ files, extractor: hesitant() })
      yield* Effect.gen(function* () {
        const first = yield* completed(folder)
        const reviews = yield* Reviews
        const { factId } = yield* factOf(first.id, "ShipCetus")
        yield* reviews.accept(first.id, { facts: [factId] }, "ada")
        yield* completed(folder, { pipeline: { ...defaultPipelineConfig, reviewBelow: 0.2 } })
        expect(yield* reviews.reopen(first.id, { facts: [factId] }, "ada")).toMatchObject({ decided: 1 })
        expect(yield* passings(data)).toContain("ShipCetus passed ShipDorado")
        expect((yield* canonical(data)).lines.filter((line) => line.includes("acceptedBy"))).toEqual([])
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live(
    "that are taken back leave the graph as it was where a name of an accepted fact is another name of a ship in the document, or one without facts",
    () =>
      Effect.gen(function* () {
        const renamed = {
          "one.txt":
            "ShipAlba passed ShipBoreas.\n\nShipALBA maybe passed ShipDorado. ShipALBA maybe passed ShipCetus. ShipCetus is there.",
          "two.txt": files["two.txt"],
        }
        const { layer, folder, data } = yield* harbour({ files: renamed, extractor: hesitant() })
        yield* Effect.gen(function* () {
          const { id } = yield* completed(folder)
          const before = yield* canonical(data)
          const reviews = yield* Reviews
          yield* reviews.accept(id, { all: true }, "ada")
          const accepted = yield* canonical(data)
          expect(yield* passings(data)).toHaveLength(4)
          const [first, ...others] = (yield* reviews.list(id)).facts.map(({ factId }) => factId)
          yield* reviews.reopen(id, { facts: others }, "ada")
          yield* reviews.accept(id, { facts: others }, "ada")
          expect((yield* canonical(data)).lines).toHaveLength(accepted.lines.length)
          yield* reviews.reopen(id, { facts: others }, "ada")
          yield* reviews.reopen(id, { facts: [first ?? ""] }, "ada")
          expect((yield* canonical(data)).lines).toEqual(before.lines)
          yield* reviews.accept(id, { all: true }, "ada")
          yield* reviews.reopen(id, { all: true }, "ada")
          expect((yield* canonical(data)).lines).toEqual(before.lines)
        }).pipe(Effect.provide(layer))
      }),
  )

  it.live("that are taken back and not yet out of the graph leave it with the next process", () =>
    Effect.gen(function* () {
      const { layer, folder, data } = yield* harbour({ files, extractor: hesitant() })
      yield* Effect.gen(function* () {
        const { id } = yield* completed(folder)
        const reviews = yield* Reviews
        yield* reviews.accept(id, { all: true }, "ada")
        const store = yield* ReviewStore
        const listed = yield* store.list(id, { limit: 10 })
        // The process ends here, before the graph follows.
        expect((yield* store.reopen(sea, listed, "bo", 2_000)).size).toBe(3)
        expect(yield* passings(data)).toHaveLength(4)
        yield* reviews.publishPending
        expect(yield* passings(data)).toEqual(["ShipAlba passed ShipBoreas"])
        expect(yield* reviews.counts(id)).toEqual({ open: 3, accepted: 0, rejected: 0 })
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("stay when a batch with failed documents is retried", () =>
    Effect.gen(function* () {
      const { layer, folder, input, data } = yield* harbour({ files: { ...files, "late.pdf": "%PDF" }, extractor: hesitant() })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(["one.txt", "two.txt", "late.pdf"]))
        expect((yield* batches.awaitEnd(id))._tag).toBe("PartiallyCompleted")
        const reviews = yield* Reviews
        yield* reviews.accept(id, { facts: [(yield* factOf(id, "ShipCetus")).factId] }, "ada")
        yield* Effect.promise(() => writeFile(join(input, "late.pdf"), "%PDF-1.4 still broken"))
        yield* batches.retry(id)
        yield* Stream.runDrain(Stream.takeUntil(batches.watch(id), ({ _tag }) => _tag === "PartiallyCompleted"))
        expect(yield* passings(data)).toEqual(["ShipAlba passed ShipBoreas", "ShipCetus passed ShipDorado"])
        expect(yield* reviews.counts(id)).toEqual({ open: 2, accepted: 1, rejected: 0 })
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("are withdrawn with their batch", () =>
    Effect.gen(function* () {
      const { layer, folder, data } = yield* harbour({ files, extractor: hesitant() })
      yield* Effect.gen(function* () {
        const { id } = yield* completed(folder)
        yield* (yield* Reviews).accept(id, { all: true }, "ada")
        expect(yield* passings(data)).toHaveLength(4)
        yield* (yield* Batches).withdraw(id)
        expect((yield* canonical(data)).lines).toEqual([])
      }).pipe(Effect.provide(layer))
    }),
  )
})

it.live("a folder that is run again keeps what reviewers accepted of unchanged documents", () =>
  Effect.gen(function* () {
    const { layer, folder, data } = yield* harbour({ files, extractor: hesitant() })
    yield* Effect.gen(function* () {
      const batches = yield* Batches
      const run = Effect.gen(function* () {
        const file = yield* manifestOfFolder(folder, { targetNamespace: sea, ontology: RelativePath.make("sea.ttl") })
        const id = yield* batches.start(folder, file, { config: { validation: "warn" } })
        yield* batches.awaitEnd(id)
        return id
      })
      const id = yield* run
      yield* (yield* Reviews).accept(id, { all: true }, "ada")
      yield* run
      expect(yield* passings(data)).toHaveLength(4)
    }).pipe(Effect.provide(layer))
  }),
)
