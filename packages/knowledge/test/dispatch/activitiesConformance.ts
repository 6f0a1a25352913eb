/** What activities must do for their batch, on whichever database. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { blobIn, getText, Storage } from "@detent/blobs/Storage"
import { folderAt } from "@detent/blobs/StorageLocation"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { BatchEventLog } from "../../src/batch/BatchEventLog.ts"
import { Batches } from "../../src/batch/Batches.ts"
import { type ManifestDocument, ManifestJson } from "../../src/batch/Manifest.ts"
import {
  type ActivityName,
  ExtractionOutput,
  IngestionOutput,
  ResolutionOutput,
  runActivity,
  ValidationOutput,
} from "../../src/dispatch/Activities.ts"
import { ExtractionFailed } from "../../src/extract/Extractor.ts"
import type { BatchId } from "../../src/storage/Identity.ts"
import { canonical, documentsOf, harbour, lookout, manifest, type Setting } from "../batch/sea.ts"

const files = documentsOf(3)
const names = Object.keys(files)

const ofModel = (reason: "NotAllowed" | "Refused", stops?: "ModelRefused") =>
  new ExtractionFailed({ extractor: "lookout", reason, retryable: false, detail: "no", ...(stops === undefined ? {} : { stops }) })

export const activitiesConformance = (
  database: string,
  /** The store of one test. Default: a SQLite file. */
  store: Effect.Effect<Pick<Setting, "store">, unknown, Scope.Scope> = Effect.succeed({}),
) => {
  const port = (setting: Partial<Setting> = {}) => Effect.flatMap(store, (own) => harbour({ files, ...own, ...setting }))

  /** A batch that waits for activities, and a way to run them. */
  const waiting = (data: string, folder: Parameters<(typeof Batches)["Service"]["start"]>[0], config: object = {}, shapes: object = {}) =>
    Effect.gen(function* () {
      const batches = yield* Batches
      const id = yield* batches.start(folder, manifest(names, shapes), { config: { dispatch: "activities", ...config } })
      const place = folderAt(data)
      const { documents, ontologyUri } = yield* Effect.flatMap(
        Effect.flatMap(Storage, (storage) => Effect.flatMap(batches.state(id), (state) => getText(storage, state.manifestUri))),
        Schema.decodeEffect(ManifestJson),
      )
      const run = <A>(name: ActivityName, output: Schema.Codec<A, unknown>, input: object) =>
        Effect.gen(function* () {
          const given: unknown = yield* runActivity(place, name, { batchId: id, ...input })
          return yield* Effect.orDie(Schema.decodeUnknownEffect(Schema.toCodecJson(output))(given))
        })
      const extract = ({ documentId, sourceUri }: ManifestDocument) =>
        run("extraction", ExtractionOutput, { documentId, sourceUri, ontologyUri })
      const resolve = (graphs: ReadonlyArray<{ readonly graphUri: string }>) =>
        run("resolution", ResolutionOutput, { documentGraphUris: graphs.map(({ graphUri }) => graphUri) })
      const validate = (resolvedUri: string | undefined) => run("validation", ValidationOutput, { resolvedUri })
      const ingest = (validatedUri: string) => run("ingestion", IngestionOutput, { validatedUri, targetNamespace: "sea" })
      return { id, documents, extract, resolve, validate, ingest }
    })

  const stateOf = (id: BatchId) => Effect.flatMap(Batches, (batches) => batches.state(id))

  describe(`activities on ${database}`, () => {
    it.live("take only what the batch's own stages have written, and change nothing of a graph when it has ended", () =>
      Effect.gen(function* () {
        const { data, folder, layer } = yield* port()
        yield* Effect.gen(function* () {
          const { id, documents, extract, resolve, validate, ingest } = yield* waiting(data, folder)
          const graphs = yield* Effect.forEach(documents, extract)
          const [source, own] = [documents[0]?.sourceUri ?? "", blobIn(folderAt(data), `batches/${id}/manifest.json`)]
          for (const graphUri of [source, own])
            assert.match((yield* Effect.flip(resolve([{ graphUri }]))).message, /is not a graph of a document/)
          const { resolvedUri } = yield* resolve(graphs)
          const { validatedUri } = yield* validate(resolvedUri)
          yield* ingest(validatedUri)
          assert.strictEqual((yield* stateOf(id))._tag, "Completed")
          const { lines } = yield* canonical(data)
          for (const uri of [source, own]) {
            assert.match((yield* Effect.flip(validate(uri))).message, /is not a file that a stage of/)
            assert.match((yield* Effect.flip(ingest(uri))).message, /is not a file that a stage of/)
          }
          assert.deepStrictEqual((yield* canonical(data)).lines, lines)
          // What was withdrawn stays so.
          yield* Effect.flatMap(Batches, (batches) => batches.withdraw(id, { force: true }))
          yield* ingest(validatedUri)
          assert.isEmpty((yield* canonical(data)).lines)
        }).pipe(Effect.provide(layer))
      }).pipe(Effect.scoped),
    )

    it.live("move a batch of several documents to its end, in any order and again", () =>
      Effect.gen(function* () {
        const { data, folder, layer } = yield* port()
        yield* Effect.gen(function* () {
          const { id, documents, extract, resolve, validate, ingest } = yield* waiting(data, folder)
          const [first, ...others] = documents.toReversed()
          const graphs = [yield* extract(first!)]
          // The same again counts once.
          yield* extract(first!)
          assert.deepInclude(yield* stateOf(id), { _tag: "Extracting", documentsCompleted: 1 })
          graphs.push(...(yield* Effect.forEach(others, extract, { concurrency: 2 })))
          assert.deepInclude(yield* stateOf(id), { _tag: "Resolving", documentsCompleted: 3, documentsFailed: 0, relationCount: 3 })
          const { resolvedUri } = yield* resolve(graphs)
          const { validatedUri } = yield* validate(resolvedUri)
          yield* ingest(validatedUri)
          assert.strictEqual((yield* stateOf(id))._tag, "Completed")
          assert.strictEqual((yield* canonical(data)).passings, 3)
          // What is over can be run again, and changes nothing.
          yield* ingest(validatedUri)
          assert.strictEqual((yield* canonical(data)).passings, 3)
          assert.deepInclude(yield* Effect.flatMap(BatchEventLog, (log) => log.counts(id)), { completed: 3, failed: 0, processing: 0 })
        }).pipe(Effect.provide(layer))
      }).pipe(Effect.scoped),
    )

    it.live("count a document that cannot be extracted as failed, and end the batch in part", () =>
      Effect.gen(function* () {
        const bad = Object.values(files)[0] ?? ""
        const extractor = lookout([], (chunk) => (chunk.text === bad ? Effect.fail(ofModel("Refused")) : Effect.void))
        const { data, folder, layer } = yield* port({ extractor })
        yield* Effect.gen(function* () {
          const { id, documents, extract, resolve, validate, ingest } = yield* waiting(data, folder)
          const exits = yield* Effect.forEach(documents, (document) => Effect.result(extract(document)))
          const graphs = exits.flatMap((exit) => (exit._tag === "Success" ? [exit.success] : []))
          assert.strictEqual(graphs.length, 2)
          assert.deepInclude(yield* stateOf(id), { _tag: "Resolving", documentsCompleted: 2, documentsFailed: 1 })
          const { resolvedUri } = yield* resolve(graphs)
          const { validatedUri } = yield* validate(resolvedUri)
          yield* ingest(validatedUri)
          assert.strictEqual((yield* stateOf(id))._tag, "PartiallyCompleted")
        }).pipe(Effect.provide(layer))
      }).pipe(Effect.scoped),
    )

    it.live("fail the batch where every document would fail, and continue when it is resumed", () =>
      Effect.gen(function* () {
        let isRefused = true
        const extractor = lookout([], () => (isRefused ? Effect.fail(ofModel("NotAllowed", "ModelRefused")) : Effect.void))
        const { data, folder, layer } = yield* port({ extractor })
        yield* Effect.gen(function* () {
          const { id, documents, extract } = yield* waiting(data, folder)
          yield* Effect.flip(extract(documents[0]!))
          const failed = yield* stateOf(id)
          assert.deepInclude(failed._tag === "Failed" ? failed.error : {}, { code: "ModelRefused" })
          const refused = yield* Effect.flip(extract(documents[1]!))
          assert.include(refused, { _tag: "ActivityRefused" })
          isRefused = false
          yield* Effect.flatMap(Batches, (batches) => batches.resume(id))
          yield* Effect.forEach(documents, extract)
          assert.strictEqual((yield* stateOf(id))._tag, "Resolving")
        }).pipe(Effect.provide(layer))
      }).pipe(Effect.scoped),
    )

    it.live("extract no document again that the graph has in the same version", () =>
      Effect.gen(function* () {
        const asked: Array<string> = []
        const { data, folder, layer } = yield* port({ extractor: lookout(asked) })
        yield* Effect.gen(function* () {
          const batches = yield* Batches
          // All but the last, by the process itself.
          const before = yield* batches.start(folder, manifest(names.slice(0, 2)))
          assert.strictEqual((yield* batches.awaitEnd(before))._tag, "Completed")
          assert.strictEqual(asked.length, 2)
          const { id, documents, extract, resolve, validate, ingest } = yield* waiting(data, folder)
          const graphs = yield* Effect.forEach(documents, extract)
          assert.deepStrictEqual(
            graphs.map(({ unchanged, relationCount }) => [unchanged, relationCount]),
            [
              [true, 1],
              [true, 1],
              [undefined, 1],
            ],
          )
          assert.strictEqual(asked.length, 3)
          const storage = yield* Storage
          for (const { graphUri } of graphs) assert.include(yield* getText(storage, graphUri), "passed")
          assert.deepInclude(yield* stateOf(id), { _tag: "Resolving", documentsCompleted: 3, documentsUnchanged: 2 })
          const { resolvedUri } = yield* resolve(graphs)
          const { validatedUri } = yield* validate(resolvedUri)
          yield* ingest(validatedUri)
          assert.strictEqual((yield* stateOf(id))._tag, "Completed")
          assert.strictEqual((yield* canonical(data)).passings, 3)
          const record = JSON.parse(
            yield* Effect.promise(() => readFile(join(data, "documents", documents[2]!.documentId, "metadata.json"), "utf8")),
          )
          assert.deepInclude(record, { status: "completed", batchId: id })
        }).pipe(Effect.provide(layer))
      }).pipe(Effect.scoped),
    )

    it.live("use the batch's policy: a violation fails a batch that says so", () =>
      Effect.gen(function* () {
        const offending = { ...files, [names[0]!]: "ShipCetus passed ShipDorado. ShipCetus passed ShipFjord." }
        const { data, folder, layer } = yield* port({ files: offending })
        yield* Effect.gen(function* () {
          const { id, documents, extract, resolve, validate } = yield* waiting(
            data,
            folder,
            { validation: "fail" },
            { shapes: "shapes.ttl" },
          )
          const graphs = yield* Effect.forEach(documents, extract)
          const { resolvedUri } = yield* resolve(graphs)
          const stranger = yield* Effect.flip(validate(graphs[0]?.graphUri))
          assert.include(stranger, { _tag: "ActivityInputRefused" })
          yield* Effect.flip(validate(resolvedUri))
          const failed = yield* stateOf(id)
          assert.deepInclude(failed._tag === "Failed" ? failed.error : {}, { code: "ValidationFailed" })
        }).pipe(Effect.provide(layer))
      }).pipe(Effect.scoped),
    )
  })
}
