import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { RelativePath, StorageFailed, type StorageService } from "@detent/blobs/Storage"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { Batches } from "../../src/batch/Batches.ts"
import { ExtractionFailed } from "../../src/extract/Extractor.ts"
import { CanonicalGraph, type GraphVersion } from "../../src/graph/CanonicalGraph.ts"
import { readTurtle } from "../../src/rdf/Turtle.ts"
import { base, canonical, documentsOf, harbour, lookout, manifest, sea, shapes } from "./sea.ts"

const files = {
  "before.txt": "ShipAlba passed ShipBoreas.",
  "one.txt": "ShipCetus passed ShipDorado.",
  // Passed two others: one too many for the shapes.
  "two.txt": "ShipElektra passed ShipFjord. ShipElektra passed ShipGanymed.",
}
const shaped = { shapes: RelativePath.make("shapes.ttl") }

it.live("a batch lists the names that may be one entity, with the reason, and keeps them apart", () =>
  Effect.gen(function* () {
    const names = { "one.txt": "ShipHalcyonia passed ShipBoreas.", "two.txt": "ShipHalcyonja passed ShipBoreas." }
    const { layer, folder, data } = yield* harbour({ files: names })
    const id = yield* Effect.gen(function* () {
      const batches = yield* Batches
      const started = yield* batches.start(folder, manifest(["one.txt", "two.txt"]))
      expect((yield* batches.awaitEnd(started))._tag).toBe("Completed")
      return started
    }).pipe(Effect.provide(layer))
    const written = yield* Effect.promise(() => readFile(`${data}/batches/${id}/resolution/merges.json`, "utf8"))
    expect(JSON.parse(written)).toEqual({
      merges: [],
      proposals: [{ type: `${base}Ship`, left: "ShipHalcyonia", right: "ShipHalcyonja", reason: "slip" }],
    })
  }),
)

describe("a graph that violates its shapes", () => {
  const ended = (validation: "fail" | "quarantine" | "warn") =>
    Effect.gen(function* () {
      const { layer, folder, data } = yield* harbour({ files })
      return yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(["one.txt", "two.txt"], shaped), { config: { validation } })
        const end = yield* batches.awaitEnd(id)
        const report = yield* Effect.promise(() => readFile(`${data}/batches/${id}/validation/report.json`, "utf8"))
        const turtle = yield* Effect.promise(() => readFile(`${data}/batches/${id}/validation/report.ttl`, "utf8"))
        return { end, report: JSON.parse(report), turtle, graph: yield* canonical(data) }
      }).pipe(Effect.provide(layer))
    })

  it.live("fails the batch under `fail`, with a report, and nothing is added", () =>
    Effect.gen(function* () {
      const { end, report, graph } = yield* ended("fail")
      expect(end).toMatchObject({ _tag: "Failed", failedInStage: "validating", error: { code: "ValidationFailed" } })
      expect(report).toMatchObject({ conforms: false, violations: 1 })
      expect(graph.lines).toEqual([])
    }),
  )

  it.live("loses the offending statements under `quarantine`, and the rest is added", () =>
    Effect.gen(function* () {
      const { end, report, graph } = yield* ended("quarantine")
      expect(end).toMatchObject({ _tag: "Completed", stats: { violations: 1, quarantined: 2 } })
      expect(report.quarantined).toHaveLength(1)
      const offending: ReadonlyArray<{ property: string; message: string; sources: ReadonlyArray<{ quote: string }> }> = report.statements
      const statements = offending.map(({ property, message, sources: [source] }) => [property, message, source?.quote])
      expect(statements.sort()).toEqual([
        [`${base}passed`, "passed too many", "ShipElektra passed ShipFjord"],
        [`${base}passed`, "passed too many", "ShipElektra passed ShipGanymed"],
      ])
      expect(graph.passings).toBe(1)
      expect(graph.published).toContain("ShipElektra")
      expect(graph.published).not.toContain("ShipElektra passed")
    }),
  )

  it.live("is reported as SHACL has it too, with the words that led to it", () =>
    Effect.gen(function* () {
      const { report, turtle } = yield* ended("quarantine")
      const triples = yield* Stream.runCollect(readTurtle(Stream.succeed(turtle), "report.ttl"))
      const said = (property: string) =>
        triples.filter(({ predicate }) => predicate.value.endsWith(property)).map(({ object }) => object.value)
      expect(said("#conforms")).toEqual(["false"])
      expect(said("#focusNode")).toEqual([report.listed[0].focus])
      expect(said("#resultMessage")).toEqual(["passed too many"])
      expect(said("#resultPath")).toEqual([`${base}passed`])
      expect(said(":quarantined")).toEqual(report.quarantined)
      expect(said(":quote").sort()).toEqual(["ShipElektra passed ShipFjord", "ShipElektra passed ShipGanymed"])
    }),
  )

  it.live("is found too where two batches contradict each other: the later one loses what it adds to it", () =>
    Effect.gen(function* () {
      const later = { "one.txt": "ShipCetus passed ShipDorado.", "two.txt": "ShipCetus passed ShipFjord. ShipGanymed passed ShipFjord." }
      const { layer, folder, data } = yield* harbour({ files: later })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const run = (name: string, validation: "fail" | "quarantine") =>
          Effect.flatMap(batches.start(folder, manifest([name], shaped), { config: { validation } }), batches.awaitEnd)
        expect(yield* run("one.txt", "quarantine")).toMatchObject({ _tag: "Completed", stats: { violations: 0, quarantined: 0 } })
        const failed = yield* run("two.txt", "fail")
        expect(failed).toMatchObject({ _tag: "Failed", error: { code: "ValidationFailed" } })
        expect(failed._tag === "Failed" ? failed.error.message : "").toMatch(
          /passed too many \((?=.*ShipCetus passed ShipDorado).*ShipCetus passed ShipFjord/,
        )
        expect((yield* canonical(data)).passings).toBe(1)
        expect(yield* run("two.txt", "quarantine")).toMatchObject({ _tag: "Completed", stats: { violations: 1, quarantined: 1 } })
        const { lines, published } = yield* canonical(data)
        const names = new Map(
          lines.map((line) => [line.split(" ", 1)[0], /#label> "([^"]+)"/.exec(line)?.[1]] as const).filter(([, name]) => name),
        )
        const passing = lines.filter((line) => line.includes(`<${base}passed> <urn`))
        expect(passing.map((line) => names.get(line.split(" ", 1)[0] ?? "")).sort()).toEqual(["ShipCetus", "ShipGanymed"])
        expect(published).not.toContain("ShipCetus passed ShipFjord")
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("is added whole under `warn`, with a report", () =>
    Effect.gen(function* () {
      const { end, report, graph } = yield* ended("warn")
      expect(end).toMatchObject({ _tag: "Completed", stats: { violations: 1, quarantined: 0 } })
      expect(report).toMatchObject({ conforms: false, violations: 1 })
      expect(graph.passings).toBe(3)
    }),
  )

  it.live("shapes that no longer parse when they are needed fail the batch, not the process", () =>
    Effect.gen(function* () {
      let broken = false
      const storage = (one: StorageService): StorageService => ({
        ...one,
        getStream: (uri) =>
          Stream.suspend(() =>
            broken && uri.endsWith("shapes.ttl") ? Stream.succeed(Buffer.from(shapes.slice(0, -9))) : one.getStream(uri),
          ),
        setStream: (uri, content, precondition) =>
          Effect.tap(one.setStream(uri, content, precondition), () =>
            Effect.sync(() => {
              broken = true
            }),
          ),
      })
      const { layer, folder } = yield* harbour({ files, storage })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(["one.txt"], shaped))
        const end = yield* batches.awaitEnd(id)
        expect(end).toMatchObject({ _tag: "Failed", failedInStage: "validating" })
        expect(end._tag === "Failed" ? end.error.message : "").toMatch(/shapes\.ttl/)
      }).pipe(Effect.provide(layer))
    }),
  )
})

describe("ingestion", () => {
  const config = { validation: "warn" } as const

  it.live("of two batches into one namespace at once adds both", () =>
    Effect.gen(function* () {
      const many = documentsOf(24)
      const names = Object.keys(many)
      const { layer, folder, data } = yield* harbour({ files: many })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const parts = [0, 1, 2, 3].map((part) => names.filter((_, index) => index % 4 === part))
        const ends = yield* Effect.forEach(
          parts,
          (part) => Effect.flatMap(batches.start(folder, manifest(part), { config }), batches.awaitEnd),
          { concurrency: 4 },
        )
        expect(ends.map(({ _tag }) => _tag)).toEqual(["Completed", "Completed", "Completed", "Completed"])
        const { passings, published } = yield* canonical(data)
        expect(passings).toBe(24)
        // The file shows what the graph holds, independent of the last writer.
        expect(published.match(/rdf:predicate sea:passed/g)).toHaveLength(24)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("that fails leaves the canonical graph as before, and can be retried", () =>
    Effect.gen(function* () {
      let broken = false
      const fault = (uri: string) => new StorageFailed({ uri, operation: "write", retryable: false, cause: new Error("the disk is gone") })
      const storage = (one: StorageService): StorageService => ({
        ...one,
        setStream: (uri, content, precondition) =>
          broken && uri.endsWith("entities.ttl") ? Effect.fail(fault(uri)) : one.setStream(uri, content, precondition),
      })
      const { layer, folder, data } = yield* harbour({ files, storage })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        yield* Effect.flatMap(batches.start(folder, manifest(["before.txt"]), { config }), batches.awaitEnd)
        const before = yield* canonical(data)
        broken = true
        const id = yield* batches.start(folder, manifest(["one.txt"]), { config })
        const end = yield* batches.awaitEnd(id)
        expect(end).toMatchObject({ _tag: "Failed", failedInStage: "ingesting", error: { code: "StorageFailed" } })
        expect(end._tag === "Failed" ? end.error.message : "").toMatch(/the disk is gone/)
        expect(yield* canonical(data)).toEqual(before)
        broken = false
        yield* batches.retry(id)
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Completed", retryCount: 1 })
        expect((yield* canonical(data)).passings).toBe(2)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("that is tried again with more leaves earlier versions of the graph readable as they were", () =>
    Effect.gen(function* () {
      let broken = true
      const away = new ExtractionFailed({ extractor: "lookout", reason: "Unavailable", retryable: true, detail: "away" })
      const fault = (uri: string) => new StorageFailed({ uri, operation: "write", retryable: false, cause: new Error("the disk is gone") })
      const storage = (one: StorageService): StorageService => ({
        ...one,
        setStream: (uri, content, precondition) =>
          broken && uri.endsWith("entities.ttl") ? Effect.fail(fault(uri)) : one.setStream(uri, content, precondition),
      })
      const extractor = lookout([], ({ text }) => (broken && text.includes("Cetus") ? Effect.fail(away) : Effect.void))
      const { layer, folder } = yield* harbour({ files, storage, extractor })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(["before.txt", "one.txt"]), { config })
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Failed", failedInStage: "ingesting", documentsFailed: 1 })
        broken = false
        yield* batches.retry(id)
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Completed", documentsCompleted: 2 })
        const graph = yield* CanonicalGraph
        const sizes: Array<number> = []
        for (let current = yield* graph.current(sea); Option.isSome(current); ) {
          const version: GraphVersion = current.value
          const lines = yield* Stream.runCollect(graph.lines(version))
          sizes.push(lines.filter((line) => line.includes(`<${base}passed> <urn`)).length)
          current = Option.isNone(version.previous) ? Option.none() : Option.some(yield* graph.version(sea, version.previous.value))
        }
        // With both documents; with nothing, when it had failed; with the one that could be read.
        expect(sizes).toEqual([2, 0, 1])
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("is not withdrawn where the graph would not conform without it, unless it is forced to", () =>
    Effect.gen(function* () {
      const files = { "one.txt": "ShipAlba passed ShipBoreas.", "two.txt": "ShipAlba passed ShipCetus." }
      const { layer, folder, input, data } = yield* harbour({ files })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const shapes = RelativePath.make("shapes.ttl")
        const run = (name: string) =>
          Effect.gen(function* () {
            const id = yield* batches.start(folder, manifest([name], { shapes }))
            expect((yield* batches.awaitEnd(id))._tag).toBe("Completed")
            return id
          })
        yield* run("one.txt")
        // The ship of the first version of the document is free for another document.
        yield* Effect.promise(() => writeFile(join(input, "one.txt"), "ShipDorado passed ShipBoreas."))
        const second = yield* run("one.txt")
        const third = yield* run("two.txt")
        const refused = yield* Effect.flip(batches.withdraw(second))
        expect(refused).toMatchObject({ _tag: "WithdrawalRefused", batchId: second, violations: 1 })
        expect(refused.message).toContain("passed too many")
        expect((yield* canonical(data)).lines.join("\n")).toContain("ShipDorado")
        // What is wrong already is not a reason to keep a batch.
        expect(Option.isSome(yield* batches.withdraw(second, { force: true }))).toBe(true)
        expect((yield* canonical(data)).passings).toBe(2)
        expect(Option.isSome(yield* batches.withdraw(third))).toBe(true)
        expect((yield* canonical(data)).passings).toBe(1)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("can be withdrawn, and what others added stays", () =>
    Effect.gen(function* () {
      const { layer, folder, data } = yield* harbour({ files })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const first = yield* batches.start(folder, manifest(["before.txt"]), { config })
        yield* batches.awaitEnd(first)
        const second = yield* batches.start(folder, manifest(["one.txt"]), { config })
        yield* batches.awaitEnd(second)
        expect((yield* canonical(data)).passings).toBe(2)
        expect(Option.isSome(yield* batches.withdraw(first))).toBe(true)
        const { lines, published, passings } = yield* canonical(data)
        expect(passings).toBe(1)
        expect(published).toContain("ShipCetus")
        expect(published).not.toContain("ShipAlba")
        expect(lines.some((line) => line.includes(`<${base}Ship>`))).toBe(true)
        expect(Option.isNone(yield* batches.withdraw(first))).toBe(true)
      }).pipe(Effect.provide(layer))
    }),
  )
})
