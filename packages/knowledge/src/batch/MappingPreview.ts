/**
 * Shows how a mapping reads the documents of a manifest, from some records of each kind of file: the mapping that the manifest has, or one
 * that is proposed. Nothing is stored.
 */
import { Storage, type StorageFolder } from "@detent/blobs/Storage"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { formatOf, streamOnWorkers } from "../document/DocumentReader.ts"
import type { FoundRecord } from "../document/Reading.ts"
import { readMapped } from "../extract/mapped/MappedRecords.ts"
import { proposeFactMapping, type RecordSample } from "../extract/mapped/proposeFactMapping.ts"
import { type CompiledMapping, compileMapping, ruleOf } from "../mapping/CompiledMapping.ts"
import { type FactMappingRefused, factMappingText } from "../mapping/FactMapping.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { localName } from "../rdf/Vocabulary.ts"
import { type EquipmentError, Extractors } from "../runs/Extractors.ts"
import { newBatchId } from "../storage/Identity.ts"
import type { ManifestDocument, ManifestFile } from "./Manifest.ts"
import { type ManifestError, makeManifest, mappingIn } from "./ManifestMaking.ts"
import type { MappedTable, MappingPreview } from "./MappingPreviewView.ts"

export type MappingPreviewError = ManifestError | EquipmentError | FactMappingRefused

export interface MappingPreviewOptions {
  /** Records that are read of each kind of file. Default: 100. */
  readonly records?: number
}

export const previewMapping = (
  folder: StorageFolder,
  file: ManifestFile,
  { records: most = 100 }: MappingPreviewOptions = {},
): Effect.Effect<MappingPreview, MappingPreviewError, Storage | Extractors> =>
  Effect.gen(function* () {
    const { mapping: given, ...others } = file
    const manifest = yield* makeManifest(yield* newBatchId, folder, others)
    const ontology = yield* Effect.flatMap(Extractors, (extractors) => extractors.ontology(manifest.ontologyUri))
    const kinds = yield* sampledKinds(manifest.documents, folder, most)
    const found = given === undefined ? undefined : yield* mappingIn(folder, given)
    const proposal = found === undefined ? proposeFactMapping(kinds, ontology) : { mapping: found.mapping, notes: [] }
    const compiled = compileMapping(found?.name ?? "the proposed mapping", proposal.mapping, ontology)
    return {
      source: found === undefined ? "proposed" : "given",
      mapping: proposal.mapping,
      text: yield* factMappingText(proposal.mapping, proposal.notes),
      notes: proposal.notes,
      problems: Result.isFailure(compiled) ? compiled.failure.problems : [],
      tables: kinds.map((kind) => tableOf(kind, Result.isSuccess(compiled) ? compiled.success : undefined, ontology)),
    } satisfies MappingPreview
  })

/** Records of files with the same columns, each with its document. */
interface Kind extends RecordSample {
  readonly documents: number
  readonly found: ReadonlyArray<Found>
}

interface Found {
  readonly source: string
  readonly text: string
  readonly record: FoundRecord
}

/** At most this many documents of a kind are opened. */
const documentsOfKind = 50

/** Documents that are read at the same time. */
const readAtOnce = 4

const sampledKinds = (documents: ReadonlyArray<ManifestDocument>, folder: StorageFolder, most: number) =>
  Effect.gen(function* () {
    const kinds: Array<Kind> = []
    for (const [pattern, some] of yield* patternsOf(documents, folder)) {
      const read = yield* Effect.forEach(some.slice(0, documentsOfKind), (document) => recordsOf(document, most), {
        concurrency: readAtOnce,
      })
      // Objects differ in the keys that they have, tables of one file in their columns.
      const byTable = Map.groupBy(read.flat(), ({ record: { table, columns } }) =>
        JSON.stringify([table.replace(/^table \d+$/, ""), columns ?? []]),
      )
      for (const found of byTable.values())
        kinds.push({
          file: pattern,
          documents: some.length,
          found: found.slice(0, most),
          records: found.slice(0, most).map(({ record }) => record),
        })
    }
    return kinds
  })

/** A pattern for each table, and one for all objects and texts of a folder that have the same format. */
const patternsOf = (documents: ReadonlyArray<ManifestDocument>, folder: StorageFolder) =>
  Effect.gen(function* () {
    const patterns = new Map<string, Array<ManifestDocument>>()
    for (const document of documents) {
      const { sourceUri, contentType } = document
      const format = yield* Effect.orElseSucceed(formatOf({ name: sourceUri, contentType }), () => undefined)
      if (format === undefined || format === "txt" || format === "pdf") continue
      const path = sourceUri.startsWith(folder) ? sourceUri.slice(folder.length) : (sourceUri.split("/").at(-1) ?? sourceUri)
      const names = decodeURI(path).split("/")
      const name = names.at(-1) ?? path
      const isOne = format === "csv" || format === "xlsx" || names.length === 1
      const pattern =
        isOne && (format === "csv" || format === "xlsx")
          ? name
          : `${names.length === 1 ? "" : `${names[0]}/${names.length > 2 ? "**/" : ""}`}*${/\.[^.]+$/.exec(name)?.[0] ?? ""}`
      const known = patterns.get(pattern)
      if (known === undefined) patterns.set(pattern, [document])
      else known.push(document)
    }
    // A single document is named as it is.
    return [...patterns].map(([pattern, some]): [string, ReadonlyArray<ManifestDocument>] => {
      const [only, another] = some
      return [only === undefined || another !== undefined ? pattern : decodeURI(only.sourceUri.split("/").at(-1) ?? pattern), some]
    })
  })

/** The first records of a document. One that cannot be read has none: the batch reports it. */
const recordsOf = ({ sourceUri, contentType }: ManifestDocument, most: number) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const records: Array<FoundRecord> = []
    let text = ""
    const notes = { records: (some: ReadonlyArray<FoundRecord>) => Effect.sync(() => void records.push(...some)) }
    yield* streamOnWorkers({ name: sourceUri, contentType }, storage.getStream(sourceUri), notes).pipe(
      Stream.rechunk(1),
      Stream.takeUntil((piece) => {
        text += piece
        return (records[most]?.cells[0]?.end ?? Number.POSITIVE_INFINITY) <= text.length
      }),
      Stream.runDrain,
    )
    return records.slice(0, most).map((record): Found => ({ source: sourceUri, text, record }))
  }).pipe(Effect.orElseSucceed((): ReadonlyArray<Found> => []))

const shownFacts = 8
const shownValues = 3

const tableOf = (
  { file, documents, found }: Kind,
  compiled: CompiledMapping | undefined,
  ontology: OntologyIndex,
): typeof MappedTable.Type => {
  const read = found.map(({ source, text, record }) => {
    const rule = ruleOf(compiled?.rulesFor(source) ?? [], record)
    return rule === undefined
      ? { source, rule, mentions: [], facts: [], misfits: [], notRead: record.cells }
      : { source, rule, ...readMapped(record, rule, ontology, { text, offset: 0 }) }
  })
  const facts = read.flatMap(({ source, facts: some }) => some.map((fact) => ({ source, fact })))
  const misfits = read.flatMap((one) => one.misfits)
  const left = read.flatMap(({ source, notRead }) => notRead.map((cell) => ({ source, cell })))
  const byColumn = Map.groupBy(left, ({ cell }) => cell.column)
  const [table] = new Set(found.map(({ record }) => record.table))
  const rules = new Map(
    read.flatMap(({ rule }) =>
      rule === undefined ? [] : rule.record.facts.map((fact) => [fact.column, localName(fact.property)] as const),
    ),
  )
  const names = new Set(read.flatMap(({ rule }) => (rule === undefined ? [] : [rule.record.name])))
  const columns = Map.groupBy(
    found.flatMap(({ record }) => record.cells),
    ({ column }) => column,
  )
  return {
    file,
    ...(table === undefined || table === "" ? {} : { table }),
    documents,
    records: found.length,
    entities: read.reduce((sum, { mentions }) => sum + mentions.length, 0),
    facts: facts.length,
    samples: facts.slice(0, shownFacts).map(({ source, fact: { subject, property, object, quote } }) => ({
      subject: subject.text,
      property: localName(property),
      object: object._tag === "Entity" ? object.mention.text : object.lexical,
      type: localName(object._tag === "Entity" ? object.mention.type : object.datatype),
      source,
      quote,
    })),
    misfits: { count: misfits.length, examples: misfits.slice(0, shownValues).map(({ text }) => text.slice(0, 200)) },
    ...(left.length === 0
      ? {}
      : {
          notRead: {
            count: left.length,
            columns: [...byColumn].map(([column, cells]) => ({
              column,
              count: cells.length,
              source: cells[0]?.source ?? "",
              text: (cells[0]?.cell.text ?? "").slice(0, 100),
            })),
          },
        }),
    columns: [...columns].map(([column, cells]) => {
      const rule = names.has(column) ? "name" : rules.get(column)
      return {
        column,
        values: [...new Set(cells.map(({ text }) => text.slice(0, 60)))].slice(0, shownValues),
        ...(rule === undefined ? {} : { rule }),
      }
    }),
  }
}
