/** Running a folder again: what changed is replaced, what is gone is withdrawn, what is the same is left alone. */
import { rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { RelativePath, type StorageFolder } from "@detent/blobs/Storage"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import { BatchEventLog } from "../../src/batch/BatchEventLog.ts"
import { Batches } from "../../src/batch/Batches.ts"
import type { BatchConfig } from "../../src/batch/BatchState.ts"
import { manifestOfFolder } from "../../src/batch/ManifestMaking.ts"
import { CanonicalGraph } from "../../src/graph/CanonicalGraph.ts"
import { base, canonical, harbour, lookout, ontology, sea, shapes } from "./sea.ts"

const files = {
  "one.txt": "ShipAlba passed ShipBoreas.",
  "two.txt": "ShipCetus passed ShipDorado.",
  "three.txt": "ShipElektra passed ShipFjord. ShipAlba passed ShipBoreas.",
}

const config = { validation: "warn" } as const

/** Runs all documents of the folder, as `detent batch run FOLDER` does. */
const runFolder = (
  folder: StorageFolder,
  options: { readonly keepMissing?: boolean; readonly shapes?: RelativePath } = {},
  validation: BatchConfig["validation"] = config.validation,
) =>
  Effect.gen(function* () {
    const batches = yield* Batches
    const file = yield* manifestOfFolder(folder, { targetNamespace: sea, ontology: RelativePath.make("sea.ttl"), ...options })
    const id = yield* batches.start(folder, file, { config: { validation } })
    const end = yield* batches.awaitEnd(id)
    if (end._tag !== "Completed") return yield* Effect.die(`the batch ended ${JSON.stringify(end)}`)
    return { id, end }
  })

const write = (input: string, name: string, text: string) => Effect.promise(() => writeFile(join(input, name), text))

/** "ShipAlba passed ShipBoreas" for every fact of the graph, by the labels of its entities. */
const passings = (data: string) =>
  Effect.map(canonical(data), ({ lines }) => {
    const labels = new Map(
      lines.flatMap((line) => {
        const [subject = "", predicate, object = ""] = line.split(" ")
        return predicate?.endsWith("#label>") ? [[subject, JSON.parse(object) as string] as const] : []
      }),
    )
    return lines
      .flatMap((line) => {
        const [subject = "", predicate, object = ""] = line.split(" ")
        return predicate === `<${base}passed>` ? [`${labels.get(subject)} passed ${labels.get(object)}`] : []
      })
      .toSorted()
  })

describe("a folder that is run again", () => {
  it.live("is not extracted again where nothing changed, and the graph stays at its version", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const { layer, folder } = yield* harbour({ files, extractor: lookout(asked) })
      yield* Effect.gen(function* () {
        const first = yield* runFolder(folder)
        expect(asked).toHaveLength(3)
        const second = yield* runFolder(folder)
        expect(asked).toHaveLength(3)
        expect(second.end.canonicalVersion).toBe(first.end.canonicalVersion)
        expect(second.end.stats).toMatchObject({ documentsProcessed: 3, documentsUnchanged: 3, relationsExtracted: 0, triplesIngested: 0 })
        expect(yield* (yield* Batches).changes(second.id)).toMatchObject({ added: 0, removed: 0, documents: [] })
        const standings = yield* Effect.flatMap(BatchEventLog, (log) => log.documents(second.id))
        expect(standings.map(({ status }) => status)).toEqual(["completed", "completed", "completed"])
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("replaces the facts of a changed document, and keeps what another document says too", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const { layer, folder, input, data } = yield* harbour({ files, extractor: lookout(asked) })
      yield* Effect.gen(function* () {
        yield* runFolder(folder)
        yield* write(input, "three.txt", "ShipElektra passed ShipGanymed.")
        const second = yield* runFolder(folder)
        expect(asked).toHaveLength(4)
        expect(yield* passings(data)).toEqual([
          "ShipAlba passed ShipBoreas",
          "ShipCetus passed ShipDorado",
          "ShipElektra passed ShipGanymed",
        ])
        expect(second.end.stats).toMatchObject({ documentsUnchanged: 2, documentsWithdrawn: 0, relationsExtracted: 1 })
        const { published, lines } = yield* canonical(data)
        expect(published).not.toContain("ShipFjord")
        expect(lines.filter((line) => line.includes("#label>") && line.includes("ShipFjord"))).toEqual([])
        // One statement of Alba's passing is left: the one of the other document.
        expect(lines.filter((line) => line.includes(":quote>") && line.includes("ShipAlba passed ShipBoreas"))).toHaveLength(1)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("keeps what a later run found, when an earlier, slower run ends after it", () =>
    Effect.gen(function* () {
      const held = yield* Latch.make(false)
      const isReading = yield* Latch.make(false)
      const slow = lookout([], ({ text }) => (text.includes("ShipCetus") ? Effect.andThen(isReading.open, held.await) : Effect.void))
      const { layer, folder, input, data } = yield* harbour({ files, extractor: slow })
      yield* Effect.gen(function* () {
        const earlier = yield* Effect.forkChild(runFolder(folder))
        yield* isReading.await
        // The earlier run has read the old version of this document, and its list lacks the new one.
        yield* write(input, "two.txt", "ShipHesper passed ShipIbis.")
        yield* write(input, "four.txt", "ShipJuno passed ShipKraken.")
        yield* runFolder(folder)
        yield* held.open
        const { end } = yield* Fiber.join(earlier)
        expect(end.stats.documentsWithdrawn).toBe(0)
        expect(yield* passings(data)).toEqual([
          "ShipAlba passed ShipBoreas",
          "ShipElektra passed ShipFjord",
          "ShipHesper passed ShipIbis",
          "ShipJuno passed ShipKraken",
        ])
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("withdraws a document that is gone, unless it is to be kept", () =>
    Effect.gen(function* () {
      const { layer, folder, input, data } = yield* harbour({ files })
      yield* Effect.gen(function* () {
        yield* runFolder(folder)
        yield* Effect.promise(() => rm(join(input, "two.txt")))
        const kept = yield* runFolder(folder, { keepMissing: true })
        expect(kept.end.stats.documentsWithdrawn).toBe(0)
        expect(yield* passings(data)).toContain("ShipCetus passed ShipDorado")
        const { id, end } = yield* runFolder(folder)
        expect(end.stats).toMatchObject({ documentsWithdrawn: 1, documentsUnchanged: 2 })
        expect(yield* passings(data)).toEqual(["ShipAlba passed ShipBoreas", "ShipElektra passed ShipFjord"])
        expect((yield* canonical(data)).lines.filter((line) => line.includes("ShipCetus"))).toEqual([])
        const { documents, ...changed } = yield* (yield* Batches).changes(id)
        expect(changed).toMatchObject({ added: 0, removed: 1 })
        expect(documents).toMatchObject([
          {
            source: `${folder}two.txt`,
            added: [],
            removed: [
              { subjectLabel: "ShipCetus", property: `${base}passed`, objectLabel: "ShipDorado", quote: "ShipCetus passed ShipDorado" },
            ],
          },
        ])
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("has a document again that comes back, and a batch that is withdrawn gives back what it replaced", () =>
    Effect.gen(function* () {
      const { layer, folder, input, data } = yield* harbour({ files })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        yield* runFolder(folder)
        const before = yield* passings(data)
        yield* Effect.promise(() => rm(join(input, "two.txt")))
        yield* write(input, "one.txt", "ShipAlba passed ShipHydra.")
        const changed = yield* runFolder(folder)
        expect(yield* passings(data)).toEqual(["ShipAlba passed ShipBoreas", "ShipAlba passed ShipHydra", "ShipElektra passed ShipFjord"])
        yield* batches.withdraw(changed.id)
        expect(yield* passings(data)).toEqual(before)
        yield* write(input, "two.txt", "ShipCetus passed ShipIbis.")
        yield* runFolder(folder)
        expect(yield* passings(data)).toEqual([
          "ShipAlba passed ShipBoreas",
          "ShipAlba passed ShipHydra",
          "ShipCetus passed ShipIbis",
          "ShipElektra passed ShipFjord",
        ])
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("is extracted again with another ontology", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const { layer, folder, input } = yield* harbour({ files, extractor: lookout(asked) })
      yield* Effect.gen(function* () {
        yield* runFolder(folder)
        yield* write(input, "sea.ttl", `${ontology}\n:Light a owl:Class .`)
        const { end } = yield* runFolder(folder)
        expect(asked).toHaveLength(6)
        expect(end.stats.documentsUnchanged).toBe(0)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("leaves documents of other folders and batches alone", () =>
    Effect.gen(function* () {
      const { layer, folder, input, data } = yield* harbour({ files })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        yield* runFolder(folder)
        // A batch of one document says nothing of the others.
        yield* write(input, "one.txt", "ShipAlba passed ShipHydra.")
        const documents = [{ source: RelativePath.make("one.txt") }] as const
        const id = yield* batches.start(folder, { targetNamespace: sea, ontology: RelativePath.make("sea.ttl"), documents }, { config })
        expect((yield* batches.awaitEnd(id))._tag).toBe("Completed")
        expect(yield* passings(data)).toEqual([
          "ShipAlba passed ShipBoreas",
          "ShipAlba passed ShipHydra",
          "ShipCetus passed ShipDorado",
          "ShipElektra passed ShipFjord",
        ])
        expect((yield* batches.changes(id)).documents).toMatchObject([
          { added: [{ objectLabel: "ShipHydra" }], removed: [{ objectLabel: "ShipBoreas" }] },
        ])
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("replaces and withdraws what a release before wrote, which noted no documents", () =>
    Effect.gen(function* () {
      const { layer, folder, input, data } = yield* harbour({ files })
      yield* Effect.gen(function* () {
        const graph = yield* CanonicalGraph
        yield* runFolder(folder)
        // As it was stored before: contributions without documents.
        const version = Option.getOrThrow(yield* graph.current(sea))
        const pointer = {
          namespace: sea,
          version: version.version,
          previous: null,
          contributions: version.contributions.map(({ batchId, uri, hash, triples, ingestedAt }) => ({
            batchId,
            uri,
            hash,
            triples,
            ingestedAt: new Date(ingestedAt.epochMilliseconds).toISOString(),
          })),
        }
        yield* Effect.promise(() => writeFile(join(data, "canonical", sea, "current.json"), JSON.stringify(pointer)))
        yield* Effect.promise(() => rm(join(input, "two.txt")))
        yield* write(input, "one.txt", "ShipAlba passed ShipHydra.")
        const { end } = yield* runFolder(folder)
        expect(end.stats).toMatchObject({ documentsUnchanged: 0, documentsWithdrawn: 1 })
        expect(yield* passings(data)).toEqual(["ShipAlba passed ShipBoreas", "ShipAlba passed ShipHydra", "ShipElektra passed ShipFjord"])
      }).pipe(Effect.provide(layer))
    }),
  )
})

it.live("a batch whose ontology has no domain, range or other rule is published", () =>
  Effect.gen(function* () {
    const bare = ontology.replace(" ; rdfs:domain :Ship ; rdfs:range :Ship", "")
    const { layer, folder, data } = yield* harbour({ files: { ...files, "sea.ttl": bare } })
    yield* Effect.gen(function* () {
      expect((yield* runFolder(folder, {}, "quarantine")).end.stats).toMatchObject({ violations: 0, quarantined: 0 })
      expect(yield* passings(data)).toHaveLength(3)
    }).pipe(Effect.provide(layer))
  }),
)

describe("statements that were held back", () => {
  const shaped = { shapes: RelativePath.make("shapes.ttl") }
  const rivals = { "one.txt": "ShipAlba passed ShipBoreas.", "two.txt": "ShipCetus passed ShipDorado." }

  it.live("enter the graph once it conforms with them, without another extraction", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const { layer, folder, input, data } = yield* harbour({ files: rivals, extractor: lookout(asked) })
      yield* Effect.gen(function* () {
        const run = runFolder(folder, shaped, "quarantine")
        yield* run
        yield* write(input, "three.txt", "ShipAlba passed ShipFjord.")
        expect((yield* run).end.stats).toMatchObject({ quarantined: 1 })
        expect(yield* passings(data)).toEqual(["ShipAlba passed ShipBoreas", "ShipCetus passed ShipDorado"])
        const same = yield* run
        expect(same.end.stats).toMatchObject({ documentsUnchanged: 3, triplesIngested: 0 })
        // A document that has nothing to do with it: the statement is still held back, and said to be.
        yield* write(input, "four.txt", "ShipJuno passed ShipKraken.")
        expect((yield* run).end.stats).toMatchObject({ documentsUnchanged: 3, quarantined: 1 })
        yield* write(input, "one.txt", "ShipAlba is in port.")
        const last = yield* run
        expect(last.end.stats).toMatchObject({ documentsUnchanged: 3, quarantined: 0 })
        expect(yield* passings(data)).toEqual(["ShipAlba passed ShipFjord", "ShipCetus passed ShipDorado", "ShipJuno passed ShipKraken"])
        expect(asked).toHaveLength(5)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("leave their document with the batch that extracted it, as long as they stay held back", () =>
    Effect.gen(function* () {
      const files = { "one.txt": "ShipAlba passed ShipBoreas. ShipDorado passed ShipEcho. ShipDorado passed ShipFjord." }
      const { layer, folder, input, data } = yield* harbour({ files })
      yield* Effect.gen(function* () {
        const run = runFolder(folder, shaped, "quarantine")
        const first = yield* run
        expect(yield* passings(data)).toEqual(["ShipAlba passed ShipBoreas"])
        yield* write(input, "four.txt", "ShipJuno passed ShipKraken.")
        const second = yield* run
        expect(second.end.stats.triplesIngested).toBeLessThan(first.end.stats.triplesIngested)
        expect(second.end.stats).toMatchObject({ relationsExtracted: 1, clustersResolved: 2 })
        expect((yield* run).end.stats).toMatchObject({ documentsUnchanged: 2, triplesIngested: 0 })
        yield* (yield* Batches).withdraw(first.id)
        expect(yield* passings(data)).toEqual(["ShipJuno passed ShipKraken"])
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("enter the graph when the batch that contradicted them is withdrawn, or the shapes allow them", () =>
    Effect.gen(function* () {
      const { layer, folder, input, data } = yield* harbour({ files: rivals })
      yield* Effect.gen(function* () {
        const run = runFolder(folder, shaped, "quarantine")
        const first = yield* run
        yield* write(input, "three.txt", "ShipAlba passed ShipFjord. ShipElektra passed ShipGale. ShipElektra passed ShipHesper.")
        expect((yield* run).end.stats.quarantined).toBeGreaterThan(0)
        yield* Effect.promise(() => rm(join(input, "one.txt")))
        yield* (yield* Batches).withdraw(first.id)
        yield* run
        expect(yield* passings(data)).toContain("ShipAlba passed ShipFjord")
        expect(yield* passings(data)).toContain("ShipCetus passed ShipDorado")
        yield* write(input, "shapes.ttl", shapes.replace("sh:maxCount 1", "sh:maxCount 2"))
        expect((yield* run).end.stats.quarantined).toBe(0)
        expect((yield* passings(data)).filter((one) => one.startsWith("ShipElektra"))).toHaveLength(2)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("are found in unchanged documents when the shapes become stricter", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const { layer, folder, input, data } = yield* harbour({ files: rivals, extractor: lookout(asked) })
      yield* Effect.gen(function* () {
        yield* runFolder(folder, shaped, "quarantine")
        yield* write(input, "shapes.ttl", shapes.replace("sh:maxCount 1", "sh:maxCount 0"))
        const refused = yield* Effect.exit(runFolder(folder, shaped, "fail"))
        expect(String(refused)).toContain("passed too many")
        expect(yield* passings(data)).toHaveLength(2)
        expect((yield* runFolder(folder, shaped, "quarantine")).end.stats).toMatchObject({ documentsUnchanged: 2, quarantined: 2 })
        expect(yield* passings(data)).toEqual([])
        expect(asked).toHaveLength(2)
      }).pipe(Effect.provide(layer))
    }),
  )
})
