/** `detent batch`: documents to a validated knowledge graph. */

import { Storage, type StorageUri } from "@detent/blobs/Storage"
import {
  Batches,
  type BatchId,
  type BatchState,
  batchStates,
  DocumentId,
  type DocumentStanding,
  documentOfIri,
  loadManifest,
  type Violation,
} from "@detent/knowledge"
import * as operations from "@detent/workspace/operations/batches"
import { presentAddress } from "@detent/workspace/operations/data"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { followElsewhere, followHere } from "../batch/BatchFollowing.ts"
import { batchIdOf, readBySource, sourceOf } from "../batch/BatchSource.ts"
import { type ModelInput, noBaseUrl, selectionOf, startBatch } from "../batch/BatchStarting.ts"
import { batchText, batchView, estimateText, stateLooks } from "../batch/BatchView.ts"
import { leftOutText } from "../batch/LeftOut.ts"
import { decideReview, outcomeText, ownName, type ReviewAction, reviewPlaceFrom, reviewPlaceText, reviewText } from "../batch/Reviewing.ts"
import { WrongUsage } from "../Failure.ts"
import { command } from "../line/Command.ts"
import { ExitCode } from "../line/ExitCode.mjs"
import { agreed } from "../output/Asking.ts"
import { counted } from "../output/Count.ts"
import { momentText } from "../output/Moment.ts"
import { Output } from "../output/Output.ts"
import type { Column } from "../output/Table.ts"
import { writePieces } from "../output/Writing.ts"
import { changed } from "../workspace/Changing.ts"
import { cursorFrom, cursorText, notACursor } from "../workspace/Cursor.ts"
import { knowledge, type Place, placeText } from "../workspace/Opening.ts"
import { neededServer, type RunningServer, runningServerWith } from "../workspace/Server.ts"
import { allowedSource } from "../workspace/Sources.ts"
import { keyOption, paging } from "./shared.ts"

const { acting, estimating, observing, working } = knowledge

const batch = { name: "batch", summary: "the batch's id, as `detent batch list` shows it" } as const

const run = command(
  {
    name: "batch run",
    summary: "turn documents into a validated knowledge graph",
    detail:
      "Takes a manifest.json, a folder that has one, or a folder of documents together with --ontology and --namespace.\n" +
      "Folders and files may be in a bucket: gs://BUCKET/PREFIX or s3://BUCKET/PREFIX.\n" +
      "A second run extracts changed documents, skips unchanged ones, and removes documents that are missing now from the graph.\n" +
      "Stop it with Ctrl-C or kill it: finished work is stored, and `detent batch resume` continues from there.\n" +
      "Models need a key in OPENAI_API_KEY or ANTHROPIC_API_KEY. It is sent to the provider only.",
    arguments: [{ name: "source", summary: "a folder, a bucket folder (gs://, s3://) or a manifest.json", complete: "file" }],
    options: [
      {
        name: "ontology",
        kind: "text",
        value: "FILE",
        summary: "the ontology: classes and properties; for a folder without a manifest",
        complete: "file",
      },
      { name: "namespace", kind: "text", value: "NAME", summary: "the graph to add to; for a folder without a manifest" },
      {
        name: "shapes",
        kind: "text",
        value: "FILE",
        summary: "SHACL shapes to validate with. Default: derived from the ontology",
        complete: "file",
      },
      { name: "examples", kind: "text", value: "FILE", summary: "sentences with their facts, to learn from", complete: "file" },
      { name: "keep-missing", kind: "flag", summary: "keep documents in the graph that are no longer in the folder or manifest" },
      {
        name: "extractor",
        kind: "text",
        value: "NAME",
        summary: "built-in, openai:MODEL or anthropic:MODEL. Default: that of the manifest, then knowledge.extractor, then built-in",
      },
      {
        name: "base-url",
        kind: "text",
        value: "URL",
        summary: "a server with the provider's API. Default: OPENAI_BASE_URL for OpenAI, then the provider's own address",
      },
      { name: "budget", kind: "text", value: "AMOUNT", summary: "stop before models use more than this, such as 5usd or 200000tokens" },
      { name: "estimate", kind: "flag", summary: "only estimate chunks, tokens and cost; no model is called" },
      {
        name: "on-failure",
        kind: "text",
        value: "POLICY",
        choices: ["continue", "failFast", "retryFailed"],
        default: "continue",
        summary: "what the batch does when a document fails",
      },
      {
        name: "validation",
        kind: "text",
        value: "POLICY",
        choices: ["quarantine", "fail", "warn"],
        default: "quarantine",
        summary: "what happens to statements that violate the shapes",
      },
      { name: "concurrency", kind: "integer", value: "N", default: 64, minimum: 1, summary: "documents extracted at the same time" },
      {
        name: "dispatch",
        kind: "text",
        value: "WHO",
        choices: ["process", "tasks", "activities"],
        default: "process",
        summary:
          "where activities run: in this process, as tasks of the queue in knowledge.tasks, or as `detent activity` calls of a job runner",
      },
      { name: "max-retries", kind: "integer", value: "N", minimum: 0, summary: "how often the batch can be retried. Default: 3" },
      { name: "no-resolution", kind: "flag", summary: "skip entity resolution: mentions of the same entity stay separate" },
      keyOption,
      { name: "detach", kind: "flag", summary: "start the batch on the running server of this workspace, and do not follow it" },
    ],
    examples: [
      { line: "detent batch run corpus", says: "a folder with a manifest.json" },
      {
        line: "detent batch run letters --ontology people.ttl --namespace family",
        says: "any folder of txt, md, html, json, csv or pdf",
      },
      {
        line: "detent batch run gs://docs/letters --ontology gs://docs/people.ttl --namespace family --data gs://results/detent --database postgres://db/detent",
        says: "documents and results in buckets; s3:// works the same",
      },
      { line: "detent batch run letters --keep-missing", says: "letters that were deleted stay in the graph" },
      { line: "detent batch run corpus --json | tail -1", says: "progress as JSON lines; the last line is the final status" },
      { line: "detent batch run corpus --extractor openai:gpt-5-mini --estimate", says: "what a model would cost" },
      {
        line: "detent batch run corpus --extractor openai:llama3 --base-url http://localhost:11434/v1",
        says: "a model on your own machine",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const read = yield* readBySource(input)
      const leftOut = yield* leftOutText(input)
      if (leftOut !== undefined) yield* (yield* Output).note(leftOut)
      const locations = [read.folder, ...read.files]
      const selection = yield* selectionOf(input)
      if (input.estimate) return yield* Effect.provide(estimated(input, selection), estimating(input, locations))
      const server = input.detach ? yield* neededServer(input, "knowledge") : yield* runningServerWith(input, "knowledge")
      const dispatch = input.dispatch === "process" ? {} : { dispatch: input.dispatch }
      const config = {
        failurePolicy: input["on-failure"],
        concurrency: input.concurrency,
        validation: input.validation,
        ...dispatch,
        ...(input["max-retries"] === undefined ? {} : { maxRetries: input["max-retries"] }),
        ...(input["no-resolution"] ? { resolveEntities: false } : {}),
        ...selection,
      }
      if (server !== undefined) {
        yield* noBaseUrl(input)
        const started = allowedSource(input.data, read, startBatch(server, input, config, input.key))
        const batchId = yield* Effect.provide(started, observing(input))
        return yield* given(input, batchId)
      }
      return yield* Effect.gen(function* () {
        const batchId = yield* allowedSource(input.data, read, startBatch(undefined, input, config, input.key))
        return yield* input.dispatch === "activities" ? awaitingActivities(input, batchId) : workedOn(input, batchId)
      }).pipe(Effect.provide(working(input, locations)))
    }),
)

const estimated = (input: Parameters<typeof sourceOf>[0], config: Effect.Success<ReturnType<typeof selectionOf>>) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { folder, manifest } = yield* sourceOf(input)
    const estimate = yield* operations.estimate({ folder, manifest, config })
    yield* output.value(estimate, () => estimateText(estimate, output.style))
  })

/** Shows a batch that waits for activities. No process works on it until the first activity, so there is no progress to follow. */
const awaitingActivities = (input: Place, id: BatchId) =>
  Effect.gen(function* () {
    const output = yield* Output
    const batches = yield* Batches
    const begun = yield* Stream.runHead(Stream.filter(batches.watch(id), ({ _tag }) => _tag !== "Pending"))
    const state = Option.isSome(begun) ? begun.value : yield* operations.state(id)
    yield* output.value(batchView(state), () => batchText(state, output.style, input))
    yield* output.note(
      output.noteStyle.dim(
        "It waits for `detent activity extraction` of each document in its manifest.json, then resolution, validation and ingestion",
      ),
    )
  })

/** Shows a batch that a server works on. Without --detach, follows it. */
const given = (input: Place & { readonly detach: boolean; readonly dispatch?: string }, id: BatchId) =>
  (input.detach || input.dispatch === "activities" ? shown(input, id) : watched(input, id)).pipe(Effect.provide(observing(input)))

const shown = (input: Place, id: BatchId): Effect.Effect<void, unknown, Batches | Output> =>
  Effect.gen(function* () {
    const output = yield* Output
    const state = yield* operations.state(id)
    yield* output.value(batchView(state), () => batchText(state, output.style, input))
    yield* output.note(output.noteStyle.dim(`Follow it: detent batch watch ${id}${placeText(input)}`))
  })

const watched = (place: Place, id: BatchId) =>
  Effect.gen(function* () {
    const { note } = yield* Output
    const left = note(`No longer watching; the batch is not affected. Watch again with: detent batch watch ${id}${placeText(place)}`)
    return yield* Effect.onInterrupt(followElsewhere(id, place), () => left)
  })

/** The most unfinished batches that a message names. */
const namedAtMost = 5

/** Works on the batch in this process. Says at the start how to resume, since kill -9 leaves no message. */
const workedOn = (place: Place, id: BatchId) =>
  Effect.gen(function* () {
    const { note, noteStyle } = yield* Output
    const again = `detent batch resume ${id}${placeText(place)}`
    yield* note(noteStyle.dim(`${id}; if it is stopped, resume with: ${again}`))
    const unfinished = yield* operations.unfinished(namedAtMost + 1)
    const others = unfinished.filter(({ batchId }) => batchId !== id).slice(0, namedAtMost)
    // Every process that works on batches continues those whose process has ended, which may cost money.
    if (others.length > 0)
      yield* note(
        `Unfinished batches continue too: ${others.map(({ batchId, state }) => `${batchId} (${state})`).join(", ")}. ` +
          `End one with: detent batch cancel ID${placeText(place)}`,
      )
    return yield* Effect.onInterrupt(followHere(id, place), () => note(`Stopped; finished work is stored. Resume with: ${again}`))
  })

const list = command(
  {
    name: "batch list",
    summary: "batches with their states",
    arguments: [],
    options: [
      {
        name: "state",
        kind: "text",
        value: "STATE",
        choices: batchStates,
        summary: "only batches in this state",
      },
      {
        name: "status",
        kind: "text",
        value: "STATUS",
        choices: ["running", "final", "stopped", "held"],
        summary: "only batches with this status; held batches wait for a repair",
      },
      { name: "order", kind: "text", value: "ORDER", choices: ["oldest", "newest"], summary: "by the last change. Default: oldest first" },
      ...paging,
    ],
    examples: [{ line: "detent batch list --state Failed", says: "batches that need attention" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const after = yield* cursorFrom(input.after)
      const page = yield* operations.list({
        ...optional({ state: input.state, status: input.status, order: input.order }),
        limit: input.limit,
        ...after,
      })
      const withdrawn = yield* operations.withdrawnOf(page.batches.flatMap(({ progress }) => progress ?? []))
      const rows = page.batches.map((one) => ({ ...one, ...(withdrawn.has(one.batchId) ? { withdrawn: true } : {}) }))
      const columns: ReadonlyArray<Column<(typeof rows)[number]>> = [
        { title: "BATCH", of: ({ batchId }) => batchId },
        { title: "STATE", of: ({ state }) => state, looks: (text, row, style) => stateLooks(row.state, style).replace(row.state, text) },
        { title: "STARTED", of: ({ startedAt }) => momentText(startedAt) },
        { title: "CHANGED", of: ({ updatedAt }) => momentText(updatedAt) },
        ...(withdrawn.size === 0 ? [] : [{ title: "GRAPH", of: (row: (typeof rows)[number]) => ("withdrawn" in row ? "withdrawn" : "") }]),
      ]
      const none =
        input.state === undefined && input.status === undefined
          ? "no batches here; start one with `detent batch run FOLDER`"
          : `no batch is ${input.state ?? input.status}`
      yield* output.rows(rows, columns, none)
      if (page.next !== undefined) yield* output.note(`more with --after ${cursorText(page.next)}`)
    }).pipe(Effect.provide(observing(input))),
)

const show = command(
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
      const documents = page?.documents
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

type Listed = Effect.Success<ReturnType<typeof documentsOf>>["documents"][number]

const documentsOf = (
  id: BatchId,
  which: DocumentStanding["status"] | "pending" | "all",
  { limit, after }: { readonly limit: number; readonly after: string | undefined },
) =>
  Effect.gen(function* () {
    const place = after === undefined ? undefined : Option.getOrUndefined(Schema.decodeUnknownOption(DocumentId)(after))
    if (after !== undefined && place === undefined) return yield* notACursor(after)
    const status = which === "all" ? undefined : which
    return yield* operations.documents(id, { status, limit: Math.min(1000, limit), after: place })
  })

type Validation = Effect.Success<ReturnType<typeof validationOf>>

const findingColumns: ReadonlyArray<Column<(Validation["quarantined"] | Validation["violations"])[number]>> = [
  { title: "SUBJECT", of: ({ subject }) => subject },
  { title: "PROPERTY", of: ({ property }) => property ?? "" },
  { title: "VALUE", of: ({ value }) => value ?? "" },
  { title: "REASON", of: ({ message }) => message },
  { title: "DOCUMENT", of: ({ documents }) => documents.join(", ") },
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

const artifacts = command(
  {
    name: "batch artifacts",
    summary: "list the files that a batch has stored, or print or download one",
    detail: "Artifacts are the manifest, the extraction of each document, the resolved graph, and the validation report.",
    arguments: [batch, { name: "artifact", summary: "a name of the list; prints its content unchanged", optional: true }],
    options: [
      { name: "output", kind: "text", value: "FILE", summary: "write the content to this file. Default: stdout", complete: "file" },
    ],
    examples: [
      { line: "detent batch artifacts batch-3f9c2a71b0d4", says: "names and sizes" },
      {
        line: "detent batch artifacts batch-3f9c2a71b0d4 validation/report.json --output report.json",
        says: "writes one artifact to a file",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const id = yield* batchIdOf(input.batch)
      const { artifact: name, output: file } = input
      if (name === undefined) {
        if (file !== undefined)
          return yield* new WrongUsage({ problem: "--output needs an artifact", nextStep: `name one of \`detent batch artifacts ${id}\`` })
        const { artifacts: listed } = yield* operations.artifacts(id)
        return yield* output.rows(
          listed,
          [
            { title: "ARTIFACT", of: ({ name: one }) => one },
            { title: "BYTES", of: ({ bytes }) => bytes },
          ],
          `${id} has stored nothing yet`,
        )
      }
      const { bytes, content } = yield* operations.artifact(id, name)
      if (file === undefined) return yield* Stream.runForEach(content, output.writeBytes)
      yield* writePieces(file, content)
      yield* output.value({ batchId: id, artifact: name, bytes, file }, () => "")
      yield* output.note(`${file} written: ${bytes} bytes`)
    }).pipe(Effect.provide(observing(input))),
)

const watch = command(
  {
    name: "batch watch",
    summary: "follow a batch until it ends; does no work itself",
    detail: "For a batch that a server, a worker or another terminal works on. Ctrl-C stops following; the batch continues.",
    arguments: [batch],
    options: [],
    examples: [{ line: "detent batch watch batch-3f9c2a71b0d4 --json", says: "a line of JSON for each change" }],
  },
  (input) => Effect.flatMap(batchIdOf(input.batch), (id) => watched(input, id)).pipe(Effect.provide(observing(input))),
)

const cancel = command(
  {
    name: "batch cancel",
    summary: "cancel a batch; extracted documents are kept",
    arguments: [batch],
    options: [keyOption],
    examples: [{ line: "detent batch cancel batch-3f9c2a71b0d4 --yes", says: "`detent batch resume` continues it later" }],
  },
  (input) =>
    afterAsking(
      input,
      ({ batchId }) => `Cancel ${batchId}? Extracted documents are kept.`,
      (server, id) =>
        Effect.gen(function* () {
          const output = yield* Output
          yield* changed(server, changeOf("cancel", id, input.key), operations.cancel(id))
          const state = yield* operations.state(id)
          yield* output.value(batchView(state), () => batchText(state, output.style, input))
          yield* output.note(output.noteStyle.dim(`Continue it: detent batch resume ${id}${placeText(input)}`))
        }),
    ),
)

const review = command(
  {
    name: "batch review",
    summary: "list the facts whose confidence is too low for the graph; accept, reject or reopen them",
    detail:
      "An accepted fact enters the graph with the name of the reviewer, if the graph then conforms to its shapes. A rejected fact stays\n" +
      "out of the graph, also when the same version of its document is extracted again. In a changed document, a decision stays\n" +
      "where the same words still state the fact.\n" +
      "reopen reverses a decision: the fact leaves the graph and is open again. The list shows every decision with its reviewer and time.",
    arguments: [
      { name: "action", summary: "what to do", choices: ["list", "accept", "reject", "reopen"] },
      batch,
      { name: "fact", summary: "ids of facts, as `detent batch review list` shows them", optional: true, many: true },
    ],
    options: [
      { name: "all", kind: "flag", summary: "every open fact (to reopen: every decided fact) that matches --property and --below" },
      { name: "property", kind: "text", value: "NAME", summary: "only facts of this property: its IRI, or the last part of the IRI" },
      { name: "below", kind: "text", value: "NUMBER", summary: "only facts with a lower confidence than this, from 0 to 1" },
      {
        name: "status",
        kind: "text",
        value: "STATUS",
        choices: ["open", "accepted", "rejected", "all"],
        default: "open",
        summary: "for list: only facts with this status",
      },
      { name: "by", kind: "text", value: "NAME", summary: "name of the reviewer. Default: your user name" },
      keyOption,
      ...paging,
    ],
    examples: [
      { line: "detent batch review list batch-3f9c2a71b0d4", says: "each fact with its words, its document, and why it is on the list" },
      {
        line: "detent batch review accept batch-3f9c2a71b0d4 5595054b876075bd",
        says: "adds the fact to the graph, with you as its reviewer",
      },
      {
        line: "detent batch review reject batch-3f9c2a71b0d4 --all --property worksFor --below 0.4",
        says: "all facts of one property with a low confidence",
      },
      { line: "detent batch review reopen batch-3f9c2a71b0d4 5595054b876075bd", says: "reverses the decision on a fact" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const id = yield* batchIdOf(input.batch)
      const filter = yield* filterOf(input)
      if (input.action === "list") return yield* Effect.provide(listed(input, id, filter), observing(input))
      const selection = yield* selectionFrom(input, filter)
      const server = yield* runningServerWith(input, "knowledge")
      return yield* Effect.provide(
        decided(input, input.action, id, selection, server),
        server === undefined ? acting(input) : observing(input),
      )
    }),
)

interface ReviewInput extends Place {
  readonly fact: ReadonlyArray<string>
  readonly all: boolean
  readonly property: string | undefined
  readonly below: string | undefined
  readonly by: string | undefined
  readonly key: string | undefined
  readonly status: "open" | "accepted" | "rejected" | "all"
  readonly after: string | undefined
  readonly limit: number
}

const filterOf = ({ property, below }: ReviewInput) =>
  Effect.gen(function* () {
    const limit = below === undefined ? undefined : Number(below)
    if (limit !== undefined && (below?.trim() === "" || !(limit >= 0 && limit <= 1)))
      return yield* new WrongUsage({ problem: `--below ${below} is not a confidence`, nextStep: "it is a number from 0 to 1, like 0.4" })
    return { ...(property === undefined ? {} : { property }), ...(limit === undefined ? {} : { below: limit }) }
  })

const selectionFrom = ({ fact, all, property, below }: ReviewInput, filter: Effect.Success<ReturnType<typeof filterOf>>) =>
  Effect.gen(function* () {
    if (all && fact.length > 0)
      return yield* new WrongUsage({ problem: "--all and ids of facts exclude each other", nextStep: "name the facts, or use --all" })
    if (all) return { all: true as const, ...filter }
    if (fact.length === 0)
      return yield* new WrongUsage({ problem: "no fact is named", nextStep: "name ids of `detent batch review list`, or use --all" })
    if (property !== undefined || below !== undefined)
      return yield* new WrongUsage({ problem: "--property and --below need --all", nextStep: "remove them, or add --all" })
    return { facts: fact }
  })

const listed = (input: ReviewInput, id: BatchId, filter: Effect.Success<ReturnType<typeof filterOf>>) =>
  Effect.gen(function* () {
    const output = yield* Output
    const after = yield* reviewPlaceFrom(input.after)
    const status = input.status === "all" ? {} : { status: input.status }
    const page = yield* operations.review(id, { ...filter, ...status, ...after, limit: input.limit })
    if (output.isJson) yield* output.rows(page.facts, [], "")
    else if (page.facts.length === 0)
      yield* output.note(`no fact of ${id} is ${input.status === "all" ? "on the review list" : input.status}`)
    for (const fact of output.isJson ? [] : page.facts) yield* output.text(reviewText(fact, output.style))
    if (page.next !== undefined) yield* output.note(`more with --after ${reviewPlaceText(page.next)}`)
  })

const decided = (
  input: ReviewInput,
  action: ReviewAction,
  id: BatchId,
  selection: Effect.Success<ReturnType<typeof selectionFrom>>,
  server: RunningServer | undefined,
) =>
  Effect.gen(function* () {
    const output = yield* Output
    if ("all" in selection) {
      const { open, accepted, rejected } = (yield* operations.status(id)).review
      const question = {
        accept: `Accept all open facts of ${id} that match the filter? ${open} facts are open.`,
        reject: `Reject all open facts of ${id} that match the filter? ${open} facts are open.`,
        reopen: `Reverse all decisions on facts of ${id} that match the filter? ${accepted} are accepted, ${rejected} rejected.`,
      }
      yield* agreed(question[action])
    }
    const outcome = yield* decideReview(server, { action, id, selection, by: input.by ?? ownName(), key: input.key })
    yield* output.value(outcome, () => outcomeText(action, outcome))
    return outcome.refused.length === 0 ? ExitCode.ok : ExitCode.inPart
  })

const Withdrawn = Schema.Struct({ batchId: Schema.String, namespace: Schema.String, version: Schema.optionalKey(Schema.String) })

const withdraw = command(
  {
    name: "batch withdraw",
    summary: "remove the facts of a batch from its graph",
    detail:
      "The batch and its artifacts stay. The graph gets a new version without the batch.\n" +
      "Refused where the graph would violate shapes that it does not violate now.",
    arguments: [batch],
    options: [{ name: "force", kind: "flag", summary: "withdraw even if the graph would then violate its shapes" }, keyOption],
    examples: [{ line: "detent batch withdraw batch-3f9c2a71b0d4", says: "asks first; --yes confirms" }],
  },
  (input) =>
    afterAsking(
      input,
      ({ batchId, targetNamespace }) => `Remove the facts of ${batchId} from the graph ${targetNamespace}?`,
      (server, id) =>
        Effect.gen(function* () {
          const output = yield* Output
          const { force } = input
          const change = { ...changeOf("withdraw", id, input.key), json: { force }, answer: Withdrawn }
          const withdrawn = yield* changed(server, change, operations.withdraw(id, { force }))
          const { namespace, version } = withdrawn
          const state = yield* operations.state(id)
          const hadTriples = "stats" in state && state.stats.triplesIngested > 0
          const nothing = hadTriples ? `nothing of ${id} is in ${namespace} any more\n` : `${id} has added nothing to ${namespace}\n`
          yield* output.value(withdrawn, () => (version === undefined ? nothing : `${namespace} is at version ${version}, without ${id}\n`))
        }),
    ),
)

/** Asks for confirmation, then changes an existing batch: through the server of the workspace, or in this process without a server. */
const afterAsking = <A, E, R>(
  input: Place & { readonly batch: string },
  question: (state: BatchState) => string,
  change: (server: RunningServer | undefined, id: BatchId) => Effect.Effect<A, E, R>,
) =>
  Effect.gen(function* () {
    const id = yield* batchIdOf(input.batch)
    const server = yield* runningServerWith(input, "knowledge")
    return yield* Effect.gen(function* () {
      yield* agreed(question(yield* operations.state(id)))
      return yield* change(server, id)
    }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
  })

/** The options of `batch retry` and `batch resume`. */
const restartOptions = [
  { name: "budget", kind: "text", value: "AMOUNT", summary: "a larger budget for models, such as 10usd" },
  { name: "base-url", kind: "text", value: "URL", summary: "another address of its model" },
  { name: "detach", kind: "flag", summary: "leave the work to the running server of this workspace, and do not follow it" },
  keyOption,
] as const

const retry = command(
  {
    name: "batch retry",
    summary: "retry a failed batch, in this process or on the running server",
    arguments: [batch],
    options: [
      { name: "documents", kind: "text", value: "ID,ID", summary: "the failed documents to retry. Default: all" },
      ...restartOptions,
    ],
    examples: [
      { line: "detent batch retry batch-3f9c2a71b0d4", says: "documents that are done are not read again" },
      { line: "detent batch retry batch-3f9c2a71b0d4 --documents doc-3f9c2a71b0d4", says: "retries one failed document" },
    ],
  },
  (input) => Effect.flatMap(documentsIn(input.documents), (documents) => restart(input, "retry", documents)),
)

const documentsIn = (text: string | undefined): Effect.Effect<ReadonlyArray<DocumentId> | undefined, WrongUsage> => {
  if (text === undefined) return Effect.undefined
  const documents = Schema.decodeUnknownOption(Schema.Array(DocumentId))(text.split(",").map((one) => one.trim()))
  return Option.isSome(documents)
    ? Effect.succeed(documents.value)
    : Effect.fail(
        new WrongUsage({
          problem: `--documents ${text} are not ids of documents`,
          nextStep: "see `detent batch show ID --documents failed --json`",
        }),
      )
}

const resume = command(
  {
    name: "batch resume",
    summary: "continue a batch that was stopped, killed or cancelled, or that failed",
    arguments: [batch],
    options: restartOptions,
    examples: [
      { line: "detent batch resume batch-3f9c2a71b0d4", says: "after Ctrl-C, kill -9 or a power cut" },
      { line: "detent batch resume batch-3f9c2a71b0d4 --budget 10usd", says: "after it stopped at a smaller budget" },
    ],
  },
  (input) => restart(input, "resume"),
)

/** Retries or resumes a batch: on the server, if one runs; otherwise in this process. */
const restart = (
  input: Place & ModelInput & { readonly batch: string; readonly detach: boolean; readonly key: string | undefined },
  operation: "retry" | "resume",
  documents?: ReadonlyArray<DocumentId>,
) =>
  Effect.gen(function* () {
    const id = yield* batchIdOf(input.batch)
    const { budget, baseUrl } = yield* selectionOf(input)
    const changes = { ...(budget === undefined ? {} : { budget }), ...(baseUrl === undefined ? {} : { baseUrl }) }
    const server = input.detach ? yield* neededServer(input, "knowledge") : yield* runningServerWith(input, "knowledge")
    if (server !== undefined && budget !== undefined && documents !== undefined)
      return yield* new WrongUsage({
        problem: "a server does not take --budget and --documents together",
        nextStep: "retry with --budget first",
      })
    const asked = { ...changes, ...optional({ documents }) }
    const json = Object.keys(asked).length === 0 ? undefined : asked
    const change = changed(
      server,
      { ...changeOf(budget === undefined ? operation : "raiseBudget", id, input.key), json },
      operation === "retry" ? operations.retry(id, asked) : operations.resume(id, changes),
    )
    if (server !== undefined) {
      yield* noBaseUrl(input)
      const isResting = yield* Effect.provide(needsEvent(id, operation), observing(input))
      if (isResting) yield* Effect.provide(change, observing(input))
      return yield* given(input, id)
    }
    return yield* Effect.gen(function* () {
      if (yield* needsEvent(id, operation)) yield* change
      return yield* workedOn(input, id)
    }).pipe(Effect.provide(working(input)))
  })

/** `operation` is its name in the API. */
const changeOf = (operation: "cancel" | "retry" | "resume" | "raiseBudget" | "withdraw", batchId: BatchId, key: string | undefined) => ({
  operation: `batches.${operation}`,
  params: { batchId },
  path: `/api/v1/batch/${batchId}/${operation === "raiseBudget" ? "budget" : operation}`,
  key,
})

/** Whether the batch needs an event to run again. A batch whose process was stopped needs none: the next process resumes it. */
const needsEvent = (id: BatchId, operation: "retry" | "resume") =>
  Effect.map(
    operations.state(id),
    ({ _tag }) => operation === "retry" || _tag === "Failed" || _tag === "Cancelled" || _tag === "PartiallyCompleted",
  )

export const noun = { name: "batch", summary: "documents to a validated knowledge graph", system: "knowledge" } as const

export const commands = [run, list, show, artifacts, watch, review, cancel, retry, resume, withdraw]
