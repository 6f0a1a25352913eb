import { Storage, type StorageUri } from "@detent/blobs/Storage"
import {
  type BatchId,
  type BatchState,
  DocumentId,
  type DocumentStanding,
  documentOfIri,
  loadManifest,
  type Violation,
} from "@detent/knowledge"
import * as operations from "@detent/workspace/operations/batches"
import { presentAddress } from "@detent/workspace/operations/data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { batchIdOf } from "../../batch/BatchSource.ts"
import { batchText, batchView } from "../../batch/BatchView.ts"
import { command } from "../../line/Command.ts"
import { counted } from "../../output/Count.ts"
import { Output } from "../../output/Output.ts"
import type { Column } from "../../output/Table.ts"
import { notACursor } from "../../workspace/Cursor.ts"
import { knowledge } from "../../workspace/Opening.ts"
import { upTo } from "../shared.ts"
import { batch } from "./shared.ts"

const { observing } = knowledge

export default command(
  {
    name: "batch show",
    summary: "one batch: state, counts, failures, where its files are",
    arguments: [batch],
    options: [
      {
        name: "documents",
        kind: "text",
        value: "WHICH",
        choices: ["pending", "processing", "completed", "failed", "set-aside", "all"],
        summary: "also list its documents with this status",
      },
      { name: "limit", kind: "integer", value: "N", default: 1000, minimum: 1, summary: "at most this many documents" },
      { name: "after", kind: "text", value: "CURSOR", summary: "the cursor at the end of the previous page" },
      { name: "failures", kind: "flag", summary: "list the causes why documents failed or were set aside" },
      { name: "quarantine", kind: "flag", summary: "list the statements that validation quarantined, and the violations that it did not" },
    ],
    examples: [
      { line: "detent batch show batch-3f9c2a71b0d4 --documents failed", says: "which documents failed, and why" },
      { line: "detent batch show batch-3f9c2a71b0d4 --failures", says: "the causes, and how many documents each has" },
      { line: "detent batch show batch-3f9c2a71b0d4 --quarantine", says: "what did not enter the graph, and why" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const id = yield* batchIdOf(input.batch)
      const state = yield* operations.state(id)
      const page = input.documents === undefined ? undefined : yield* documentsOf(id, input.documents, input)
      const documents = page?.items
      const validation = input.quarantine ? yield* validationOf(state) : undefined
      const failures = input.failures ? (yield* operations.failures(id)).groups : undefined
      const { review, inGraph } = yield* operations.statusWithReview(state)
      const view = batchView(state)
      const isWithdrawn = (yield* operations.withdrawnOf([view])).has(id)
      const graph = view.graph === undefined ? undefined : yield* presentAddress(input.data, view.graph)
      yield* output.value(
        {
          ...view,
          ...(graph === undefined ? {} : { graph }),
          review,
          ...(inGraph === undefined ? {} : { inGraph }),
          ...(documents === undefined ? {} : { listed: documents }),
          ...(isWithdrawn ? { withdrawn: true } : {}),
          ...validation,
          ...(failures === undefined ? {} : { failures }),
        },
        () => batchText(state, output.style, input, { review, inGraph, isWithdrawn, graph }),
      )
      if (output.isJson) return
      if (documents !== undefined) {
        yield* output.write("\n")
        yield* output.rows(
          documents,
          [
            { title: "DOCUMENT", of: ({ source }) => source },
            { title: "STATUS", of: ({ status }) => status },
            { title: "LANGUAGE", of: ({ language }) => language ?? "" },
            { title: "CHUNKS", of: ({ chunks }) => chunks ?? "" },
            ...(documents.some(({ tokens }) => tokens !== undefined)
              ? [
                  { title: "TOKENS", of: ({ tokens }: Listed) => tokens ?? "" },
                  { title: "COST", of: ({ cost }: Listed) => (cost === undefined ? "" : Number(cost.toFixed(6))) },
                ]
              : []),
            { title: "PROBLEM", of: ({ error, nextStep }) => error ?? (nextStep === undefined ? "" : `prose not read: ${nextStep}`) },
          ],
          input.documents === "all" ? "no document was begun" : `no document is ${input.documents}`,
        )
        if (page?.next !== undefined) yield* output.note(`more with --after ${page.next}`)
      }
      if (failures !== undefined) {
        yield* output.write("\n")
        yield* output.rows(
          failures,
          [
            { title: "DOCUMENTS", of: ({ count }) => count },
            { title: "STATUS", of: ({ status }) => status },
            { title: "PROBLEM", of: ({ problem }) => problem },
            { title: "FOR EXAMPLE", of: ({ documents: [first = ""] }) => first },
          ],
          "no document failed",
        )
      }
      if (validation === undefined) return
      const { quarantined, violations } = validation
      if (quarantined.length > 0 || violations.length === 0) {
        yield* output.write("\n")
        yield* output.rows(quarantined, findingColumns, "validation quarantined nothing")
      }
      if (violations.length === 0) return
      yield* output.text(`\n${unquarantinedText(violations.length, state)}\n`)
      yield* output.rows(violations, findingColumns, "")
    }).pipe(Effect.provide(observing(input))),
)

type Listed = Effect.Success<ReturnType<typeof documentsOf>>["items"][number]

const documentsOf = (
  id: BatchId,
  which: DocumentStanding["status"] | "pending" | "all",
  { limit, after }: { readonly limit: number; readonly after: string | undefined },
) =>
  Effect.gen(function* () {
    const place: string | undefined = after === undefined ? undefined : Option.getOrUndefined(Schema.decodeUnknownOption(DocumentId)(after))
    if (after !== undefined && place === undefined) return yield* notACursor(after)
    const status = which === "all" ? undefined : which
    return yield* upTo(limit, place, (most, from) =>
      Effect.map(operations.documents(id, { status, limit: most, after: from }), ({ documents: items, next }) => ({ items, next })),
    )
  })

type Validation = Effect.Success<ReturnType<typeof validationOf>>

const findingColumns: ReadonlyArray<Column<(Validation["quarantined"] | Validation["violations"])[number]>> = [
  { title: "SUBJECT", of: ({ subject }) => subject },
  { title: "PROPERTY", of: ({ property }) => property ?? "" },
  { title: "VALUE", of: ({ value }) => value ?? "" },
  { title: "REASON", of: ({ message }) => message },
  { title: "DOCUMENT", of: ({ documents }) => documents.join(", ") },
  // The IRI of an entity does not name it; the sentence does.
  { title: "QUOTE", of: ({ quotes: [quote = ""] }) => quote },
]

/** `2 violations were not quarantined; the batch added the statements to the graph:`. */
const unquarantinedText = (count: number, state: BatchState): string => {
  const reason =
    state.config.validation === "warn" ? "the batch added the statements to the graph" : "the cause is statements of other batches"
  const outcome = "stats" in state ? reason : "the batch added nothing to the graph"
  return `${counted(count, "violation")} ${count === 1 ? "was" : "were"} not quarantined; ${outcome}:`
}

/** The statements that validation quarantined and the violations that it did not, with the documents that state them. */
const validationOf = ({ batchId, manifestUri }: BatchState) =>
  Effect.gen(function* () {
    const report = yield* operations.validationReport(batchId)
    const sources = yield* sourcesOf(manifestUri)
    const located = <A>({ sources: said, ...finding }: A & { readonly sources: Violation["sources"] }) => {
      const documents = new Set(said.map(({ document }) => documentOfIri(document)))
      return { ...finding, documents: [...documents].map((one) => sources.get(one) ?? one), quotes: said.map(({ quote }) => quote) }
    }
    const statements = report?.statements ?? []
    const isHeld = ({ focus, message, shape }: Violation) =>
      statements.some((held) => held.shape === shape && held.message === message && (held.subject === focus || held.value === focus))
    const left = report?.remaining === 0 ? [] : (report?.listed ?? []).filter((one) => one.severity === "Violation" && !isHeld(one))
    return {
      quarantined: statements.map(located),
      violations: left.map(({ focus, severity: _, ...one }) => located({ subject: focus, ...one })),
    }
  })

const sourcesOf = (manifestUri: StorageUri) =>
  Effect.gen(function* () {
    const manifest = yield* loadManifest(yield* Storage, manifestUri)
    return new Map<string, string>(manifest.documents.map(({ documentId, sourceUri }) => [documentId, sourceUri]))
  })
