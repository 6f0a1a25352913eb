import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { StorageFolder } from "@detent/blobs"
import { Batches, CanonicalGraph, GraphFacts, Knowledge, ManifestFileJson } from "@detent/knowledge"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const corpus = resolve("packages/knowledge/corpus")
const manifest = Schema.decodeSync(ManifestFileJson)(readFileSync(`${corpus}/manifest.json`, "utf8"))

const program = Effect.gen(function* () {
  const batches = yield* Batches
  const id = yield* batches.start(StorageFolder.make(`${pathToFileURL(corpus)}/`), manifest)
  const end = yield* batches.awaitEnd(id)
  console.log(`${end._tag}: ${end.documentsTotal} documents`)
  const version = yield* Effect.flatMap(CanonicalGraph.CanonicalGraph, (graph) => graph.current(manifest.targetNamespace))
  const graph = yield* Effect.fromOption(version)
  const facts = yield* GraphFacts
  const { items } = yield* facts.entities(graph, { search: "halcyon", limit: 3 })
  for (const entity of items) {
    console.log(entity.label, entity.types.join(" "))
    const found = yield* facts.factsOf(graph, entity.iri, { limit: 5 })
    for (const { property, quote, documentId, start, end, confidence } of found.items)
      console.log(`  ${property} ${confidence} "${quote}" ${documentId} ${start}-${end}`)
  }
})

const live = Knowledge.layerEmbedded({ folder: process.argv[2] ?? "data", readable: [corpus], nodeId: "reader" })

await Effect.runPromise(Effect.provide(program, live))
