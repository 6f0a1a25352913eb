/** A small world of ships, a folder with documents about it, and the whole pipeline on a SQLite file of its own. */

import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { FileStorage } from "@detent/blobs"
import { RelativePath, Storage, StorageFolder, type StorageService } from "@detent/blobs/Storage"
import type * as PostgresStore from "@detent/durable/PostgresStore"
import * as SqliteStore from "@detent/durable/SqliteStore"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { BatchEventLog } from "../../src/batch/BatchEventLog.ts"
import type { ManifestFile } from "../../src/batch/Manifest.ts"
import type { Chunk } from "../../src/document/Chunk.ts"
import { type ExtractionFailed, Extractor, type ExtractorService, noUsage } from "../../src/extract/Extractor.ts"
import { CanonicalGraph } from "../../src/graph/CanonicalGraph.ts"
import * as Knowledge from "../../src/Knowledge.ts"
import { Extractors } from "../../src/runs/Extractors.ts"
import { type BatchId, Namespace } from "../../src/storage/Identity.ts"
import type { ContentLimitOptions } from "../../src/threads/WorkerPool.ts"
import { sharedWorkers } from "../../testing/SharedWorkers.ts"

export const base = "https://example.org/sea#"
export const sea = Namespace.make("sea")

export const ontology = `
@prefix : <${base}> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Ship a owl:Class ; rdfs:label "ship" . :Port a owl:Class ; rdfs:label "port" .
:passed a owl:ObjectProperty ; rdfs:label "passed" ; rdfs:domain :Ship ; rdfs:range :Ship .
`

/** Every ship has passed at most one other: a document that says more offends. */
export const shapes = `
@prefix : <${base}> . @prefix sh: <http://www.w3.org/ns/shacl#> .
:ShipShape a sh:NodeShape ; sh:targetClass :Ship ; sh:property [ sh:path :passed ; sh:maxCount 1 ; sh:message "passed too many" ] .
`

type Before = (chunk: Chunk) => Effect.Effect<void, ExtractionFailed>

/** Finds "Ship X passed Ship Y" and notes the text of every chunk it is asked about. */
export const lookout = (asked: Array<string>, before: Before = () => Effect.void): ExtractorService => {
  const shipsIn = (chunk: Chunk) =>
    [...chunk.text.matchAll(/Ship\p{L}+/gu)].map((match) => ({
      type: `${base}Ship`,
      text: match[0],
      span: { start: chunk.offset + match.index, end: chunk.offset + match.index + match[0].length },
      confidence: 0.9,
    }))
  return {
    name: "lookout",
    entities: (chunk) =>
      Effect.gen(function* () {
        asked.push(chunk.text)
        yield* before(chunk)
        return { mentions: shipsIn(chunk), usage: noUsage }
      }),
    facts: (chunk, mentions) =>
      Effect.succeed({
        facts: mentions.flatMap((subject, index) => {
          const object = mentions[index + 1]
          if (index % 2 === 1 || object === undefined) return []
          const span = { start: subject.span.start, end: object.span.end }
          const quote = chunk.text.slice(span.start - chunk.offset, span.end - chunk.offset)
          return [
            { subject, property: `${base}passed`, object: { _tag: "Entity" as const, mention: object }, quote, span, confidence: 0.8 },
          ]
        }),
        usage: noUsage,
      }),
  }
}

export interface Setting {
  readonly files: Readonly<Record<string, string | Uint8Array>>
  readonly extractor?: ExtractorService
  readonly storage?: (files: StorageService) => StorageService
  /** Default: a SQLite file. */
  readonly store?: (filename: string) => ReturnType<typeof SqliteStore.layer> | ReturnType<typeof PostgresStore.layer>
  readonly patience?: Duration.Input
  readonly contentLimits?: ContentLimitOptions
  readonly retention?: Duration.Input
  /** The documents of another harbour, instead of `files`: their ids follow from where they are. */
  readonly from?: string
  readonly tasks?: Knowledge.KnowledgeOptions["tasks"]
  readonly taskWorker?: Knowledge.KnowledgeOptions["taskWorker"]
  readonly settings?: Knowledge.KnowledgeOptions["settings"]
}

/** The layer can be provided several times: each is a new start of the program. */
export const harbour = ({
  files,
  extractor = lookout([]),
  storage = (one) => one,
  store = (filename) => SqliteStore.layer({ filename }),
  patience,
  contentLimits,
  retention,
  from,
  tasks,
  taskWorker,
  settings,
}: Setting) =>
  Effect.gen(function* () {
    const root = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "detent-batch-"))),
      (path) => Effect.promise(() => rm(path, { recursive: true })),
    )
    const input = from ?? join(root, "input")
    yield* Effect.promise(async () => {
      if (from !== undefined) return
      await mkdir(input)
      for (const [name, text] of Object.entries({ "sea.ttl": ontology, "shapes.ttl": shapes, ...files }))
        await writeFile(join(input, name), text)
    })
    const data = join(root, "data")
    const layer = Layer.fresh(
      Knowledge.layer({
        folder: data,
        nodeId: "test",
        workflow: { drainTimeout: "100 millis" },
        ...(patience === undefined ? {} : { patience }),
        ...(contentLimits === undefined ? {} : { contentLimits }),
        retention,
        ...(tasks === undefined ? {} : { tasks }),
        ...(taskWorker === undefined ? {} : { taskWorker }),
        ...(settings === undefined ? {} : { settings }),
        extractors: Extractors.layer.pipe(Layer.provide(Layer.succeed(Extractor, extractor))),
        storage: Layer.effect(Storage, Effect.map(FileStorage.make({ root: data, readable: [input] }), storage)),
      }).pipe(Layer.provideMerge(store(join(root, "batches.db"))), Layer.provide(sharedWorkers)),
    )
    return { root, data, input, layer, folder: StorageFolder.make(`${pathToFileURL(input)}/`) }
  })

export const manifest = (names: ReadonlyArray<string>, more: Partial<ManifestFile> = {}): ManifestFile => {
  const [first, ...others] = names.map((name) => ({ source: RelativePath.make(name) }))
  if (first === undefined) throw new Error("a manifest names at least one document")
  return { targetNamespace: sea, ontology: RelativePath.make("sea.ttl"), documents: [first, ...others], ...more }
}

/** The triples of the canonical graph, and the file it is published as. */
export const canonical = (data: string) =>
  Effect.gen(function* () {
    const graph = yield* CanonicalGraph
    const current = yield* graph.current(sea)
    const lines = Option.isNone(current) ? [] : yield* Stream.runCollect(graph.lines(current.value))
    const published = yield* Effect.promise(() => readFile(join(data, "canonical", sea, "entities.ttl"), "utf8").catch(() => ""))
    return { lines, published, passings: lines.filter((line) => line.includes(`<${base}passed> <urn`)).length }
  })

/** The published events of a batch until its end, in order, without times. */
export const toldOf = (id: BatchId, last: string) =>
  Effect.gen(function* () {
    const log = yield* BatchEventLog
    const events = yield* log.events().pipe(
      Stream.filter(({ payload }) => payload.batchId === id),
      Stream.takeUntil(({ _tag }) => _tag === last),
      Stream.runCollect,
    )
    return events.map(({ _tag, payload }) => ({ _tag, payload }))
  })

export const documentsOf = (count: number): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `log-${name(index)}.txt`,
      `Ship${name(index)} passed Ship${name(index + count)} off the coast.`,
    ]),
  )

/** Names that no spelling rule takes for one another. */
const name = (index: number): string => {
  const letters = "bdfgklmnprst"
  const vowels = "aeiou"
  let [rest, word] = [index * 7919 + 12_345_679, ""]
  while (rest > 0) {
    word += `${letters[rest % letters.length]}${vowels[Math.floor(rest / letters.length) % vowels.length]}`
    rest = Math.floor(rest / (letters.length * vowels.length))
  }
  return word
}
