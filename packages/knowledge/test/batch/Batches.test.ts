import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { RelativePath, StorageFolder } from "@detent/blobs/Storage"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { BatchEventLog } from "../../src/batch/BatchEventLog.ts"
import { Batches } from "../../src/batch/Batches.ts"
import { CanonicalGraph } from "../../src/graph/CanonicalGraph.ts"
import * as Knowledge from "../../src/Knowledge.ts"
import { Namespace } from "../../src/storage/Identity.ts"
import { sharedWorkers } from "../../testing/SharedWorkers.ts"

const base = "https://example.org/sea#"
const ontology = `
@prefix : <${base}> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Company a owl:Class ; rdfs:label "company" . :Person a owl:Class ; rdfs:label "person" . :City a owl:Class ; rdfs:label "city" .
:founder a owl:ObjectProperty ; rdfs:label "founded by" ; rdfs:domain :Company ; rdfs:range :Person .
:headquarters a owl:ObjectProperty ; rdfs:label "headquartered in" ; rdfs:domain :Company ; rdfs:range :City .
:founded a owl:DatatypeProperty ; rdfs:label "founded in" ; rdfs:domain :Company ; rdfs:range xsd:gYear .
`
const documents = {
  "one.txt": "Harbour Light Inc. was founded in 1984 by Maria Lopez. Harbour Light Inc. is headquartered in Ravenholm.",
  "two.txt": "Northern Tidal Energy was founded by Per Hansen. Northern Tidal Energy is headquartered in Ravenholm.",
}

const opened = Effect.gen(function* () {
  const root = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "detent-batch-"))),
    (path) => Effect.promise(() => rm(path, { recursive: true })),
  )
  const input = join(root, "input")
  yield* Effect.promise(async () => {
    await mkdir(input)
    for (const [name, text] of Object.entries({ "sea.ttl": ontology, ...documents })) await writeFile(join(input, name), text)
  })
  const layer = Knowledge.layer({ folder: join(root, "data"), readable: [input], nodeId: "test" }).pipe(
    Layer.provideMerge(SqliteStore.layer({ filename: join(root, "batches.db") })),
    Layer.provide(sharedWorkers),
  )
  return { root, layer, folder: StorageFolder.make(`${pathToFileURL(input)}/`) }
})

const manifest = (...names: ReadonlyArray<string>) => {
  const [first = { source: RelativePath.make("one.txt") }, ...others] = names.map((name) => ({ source: RelativePath.make(name) }))
  return { targetNamespace: Namespace.make("sea"), ontology: RelativePath.make("sea.ttl"), documents: [first, ...others] as const }
}

describe("a batch", () => {
  it.live("goes from documents to the canonical graph", () =>
    Effect.gen(function* () {
      const { layer, folder } = yield* opened
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest("one.txt", "two.txt"), { config: { validation: "warn" } })
        const end = yield* batches.awaitEnd(id)
        expect(end._tag).toBe("Completed")
        const graph = yield* CanonicalGraph
        const version = yield* graph.current(Namespace.make("sea"))
        const lines = yield* Stream.runCollect(graph.lines(Option.getOrThrow(version)))
        expect(lines.length).toBeGreaterThan(0)
        expect(lines).toEqual([...new Set(lines)].sort())
        if (end._tag === "Completed")
          expect(yield* Effect.promise(() => readFile(new URL(end.canonicalGraphUri), "utf8"))).toContain("Harbour Light")
        const log = yield* BatchEventLog
        expect((yield* log.documents(id)).map(({ status }) => status)).toEqual(["completed", "completed"])
      }).pipe(Effect.provide(layer))
    }),
  )
})
