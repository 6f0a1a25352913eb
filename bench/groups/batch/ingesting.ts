/** Merges two files of sorted triples into a canonical graph and publishes it; then n3 reads the same triples. */
import { createReadStream, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { FileStorage } from "@detent/blobs"
import { blobIn } from "@detent/blobs/Storage"
import { folderAt } from "@detent/blobs/StorageLocation"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { StreamParser } from "n3"
import { generateCorpus } from "../../../packages/knowledge/generators/GeneratedCorpus.ts"
import { generatedOntology } from "../../../packages/knowledge/generators/GeneratedOntology.ts"
import { publishGraph } from "../../../packages/knowledge/src/batch/GraphStages.ts"
import * as CanonicalGraph from "../../../packages/knowledge/src/graph/CanonicalGraph.ts"
import { writeLines } from "../../../packages/knowledge/src/graph/GraphLines.ts"
import { loadOntology } from "../../../packages/knowledge/src/ontology/OntologyLoading.ts"
import { sortLines } from "../../../packages/knowledge/src/rdf/LineSort.ts"
import { BatchId, Namespace } from "../../../packages/knowledge/src/storage/Identity.ts"

const { triples }: { readonly triples: number } = JSON.parse(process.argv[2] ?? "{}")
const root = mkdtempSync(join(tmpdir(), "detent-bench-ingest-"))
const folder = folderAt(root)
const namespace = Namespace.make("generated")

/** Facts as lines of a graph, six per document. */
const linesOf = (seed: number) =>
  Stream.fromIterable(generateCorpus({ documents: Math.ceil(triples / 12), seed })).pipe(
    Stream.flatMap(({ name, facts }) =>
      Stream.fromIterable(
        facts.map(({ subject, property, object }) => {
          const value = typeof object === "string" ? `"${object}"` : `<urn:detent:graph:generated/${object.entity}>`
          return `<urn:detent:graph:generated/${seed}/${name}/${subject.entity}> <https://example.org/generated#${property}> ${value} .`
        }),
      ),
    ),
  )

const measured = Effect.gen(function* () {
  const ontology = yield* loadOntology({ name: "ontology.ttl", text: generatedOntology })
  const files = yield* Effect.forEach([1, 2], (seed) => {
    const batchId = BatchId.make(`batch-00000000000${seed}`)
    return Effect.map(writeLines(blobIn(folder, `batches/${batchId}/resolution/merged.nt`), sortLines(linesOf(seed))), (written) => ({
      batchId,
      ...written,
    }))
  })
  const graph = yield* CanonicalGraph.CanonicalGraph
  const started = performance.now()
  for (const file of files) yield* graph.contribute(namespace, file)
  yield* publishGraph(folder, namespace, ontology)
  const ingested = performance.now()
  for (const { uri } of files) yield* Effect.promise(() => parsed(new URL(uri)))
  const count = files.reduce((sum, file) => sum + file.triples, 0)
  return {
    triples: count,
    ingestPerSecond: count / ((ingested - started) / 1000),
    n3PerSecond: count / ((performance.now() - ingested) / 1000),
  }
}).pipe(Effect.provide(CanonicalGraph.layer(folder).pipe(Layer.provideMerge(FileStorage.layer({ root })))))

const parsed = (file: URL) =>
  new Promise<void>((resolve, reject) => {
    const quads = createReadStream(file).pipe(new StreamParser({ format: "N-Triples" }))
    quads.on("data", () => undefined)
    quads.on("end", resolve)
    quads.on("error", reject)
  })

try {
  console.log(JSON.stringify(await Effect.runPromise(measured)))
} finally {
  rmSync(root, { recursive: true, force: true })
}
