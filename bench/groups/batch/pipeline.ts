/** Runs one batch of generated documents from end to end, or the same documents twice, and prints its time and memory. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { RelativePath, StorageFolder } from "@detent/blobs/Storage"
import { MemoryStore } from "@detent/durable"
import * as SqliteClient from "@detent/durable/SqliteClient"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { Batches } from "@detent/knowledge"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { documentAt } from "../../../packages/knowledge/generators/GeneratedCorpus.ts"
import { generatedOntology } from "../../../packages/knowledge/generators/GeneratedOntology.ts"
import * as Knowledge from "../../../packages/knowledge/src/Knowledge.ts"
import { Namespace } from "../../../packages/knowledge/src/storage/Identity.ts"

export interface PipelineChoice {
  readonly documents: number
  readonly store: "sqlite" | "memory"
  /** Whether the documents are run a second time, unchanged. */
  readonly twice?: boolean
}

const { documents, store, twice = false }: PipelineChoice = JSON.parse(process.argv[2] ?? "{}")
const root = mkdtempSync(join(tmpdir(), "detent-bench-batch-"))
const input = join(root, "input")

/** A thousand documents per folder: file systems are slow with more. */
const folderOf = (index: number) => `part-${Math.floor(index / 1000)}`

const writeDocuments = (): ReadonlyArray<RelativePath> => {
  mkdirSync(input)
  writeFileSync(join(input, "ontology.ttl"), generatedOntology)
  return Array.from({ length: documents }, (_, index) => {
    const { name, text } = documentAt({ documents, seed: 11 }, index)
    if (index % 1000 === 0) mkdirSync(join(input, folderOf(index)))
    writeFileSync(join(input, folderOf(index), name), text)
    return RelativePath.make(`${folderOf(index)}/${name}`)
  })
}

/** Without durability only files outlive the process. */
const stores = {
  sqlite: SqliteStore.layer({ filename: join(root, "batch.db") }),
  memory: Layer.mergeAll(MemoryStore.layer, SqliteClient.layer({ filename: ":memory:" })),
}

const run = (names: ReadonlyArray<RelativePath>) =>
  Effect.gen(function* () {
    const batches = yield* Batches
    const [first, ...others] = names.map((source) => ({ source }))
    if (first === undefined) return yield* Effect.die("there are no documents")
    const folder = StorageFolder.make(`${pathToFileURL(input)}/`)
    const once = Effect.gen(function* () {
      const before = { wall: performance.now(), cpu: process.cpuUsage() }
      const id = yield* batches.start(folder, {
        targetNamespace: Namespace.make("generated"),
        ontology: RelativePath.make("ontology.ttl"),
        documents: [first, ...others],
        collection: folder,
      })
      const end = yield* batches.awaitEnd(id)
      if (end._tag !== "Completed") return yield* Effect.die(`the batch ended ${JSON.stringify(end)}`)
      const { user, system } = process.cpuUsage(before.cpu)
      return { seconds: (performance.now() - before.wall) / 1000, cpuSeconds: (user + system) / 1e6, stats: end.stats }
    })
    const { stats, ...measured } = yield* once
    const again = twice ? yield* once : undefined
    if (again !== undefined && again.stats.documentsUnchanged !== documents)
      return yield* Effect.die(`${again.stats.documentsUnchanged} of ${documents} documents were taken for unchanged`)
    return {
      ...measured,
      ...(again === undefined ? {} : { againSeconds: again.seconds, againCpuSeconds: again.cpuSeconds }),
      peakRssMb: process.resourceUsage().maxRSS / 1024,
      triples: stats.triplesIngested,
    }
  }).pipe(Effect.provide(Knowledge.layer({ folder: join(root, "data"), readable: [input] }).pipe(Layer.provide(stores[store]))))

try {
  console.log(JSON.stringify(await Effect.runPromise(run(writeDocuments()))))
} finally {
  rmSync(root, { recursive: true, force: true })
}
