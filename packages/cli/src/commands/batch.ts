/** `detent batch`: documents to a validated knowledge graph. */
import { Batches, type BatchId, documentOfIri, loadManifest, Storage, type StorageUri } from "@detent/knowledge"
import * as operations from "@detent/workspace/operations/batches"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { followElsewhere, followHere } from "../batch/BatchFollowing.ts"
import { batchIdOf, foldersOf, sourceOf } from "../batch/BatchSource.ts"
import { type ModelInput, noBaseUrl, selectionOf, startBatch } from "../batch/BatchStarting.ts"
import { batchText, batchView, estimateText, stateLooks } from "../batch/BatchView.ts"
import type { Handler } from "../Handler.ts"
import { agreed } from "../output/Asking.ts"
import { momentText } from "../output/Moment.ts"
import { Output } from "../output/Output.ts"
import type { Column } from "../output/Table.ts"
import { cursorFrom, cursorText } from "../workspace/Cursor.ts"
import { knowledge, type Place, placeText } from "../workspace/Opening.ts"
import { neededServer, runningServerWith } from "../workspace/Server.ts"
import { allowSource } from "../workspace/Sources.ts"

const { acting, estimating, observing, working } = knowledge

export const run: Handler<"batch run"> = (input) =>
  Effect.gen(function* () {
    const folders = yield* foldersOf(input)
    const selection = yield* selectionOf(input)
    if (input.estimate) return yield* Effect.provide(estimated(input, selection), estimating(input, folders))
    const server = input.detach ? yield* neededServer(input, "knowledge") : yield* runningServerWith(input, "knowledge")
    for (const folder of folders) yield* allowSource(input.data, folder)
    const dispatch = input.dispatch === "process" ? {} : { dispatch: input.dispatch }
    const config = {
      failurePolicy: input["on-failure"],
      concurrency: input.concurrency,
      validation: input.validation,
      ...dispatch,
      ...selection,
    }
    if (server !== undefined) {
      yield* noBaseUrl(input)
      const batchId = yield* Effect.provide(startBatch(server, input, config), observing(input))
      return yield* given(input, batchId)
    }
    return yield* Effect.gen(function* () {
      const batchId = yield* startBatch(undefined, input, config)
      return yield* input.dispatch === "activities" ? awaitingActivities(batchId) : workedOn(input, batchId)
    }).pipe(Effect.provide(working(input, folders)))
  })

const estimated = (input: Parameters<typeof sourceOf>[0], config: Effect.Success<ReturnType<typeof selectionOf>>) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { folder, manifest } = yield* sourceOf(input)
    const estimate = yield* operations.estimate({ folder, manifest, config })
    yield* output.value(estimate, () => estimateText(estimate, output.style))
  })

/** Nothing works on it until the first activity, so there is nothing to follow. */
const awaitingActivities = (id: BatchId) =>
  Effect.gen(function* () {
    const output = yield* Output
    const batches = yield* Batches
    const begun = yield* Stream.runHead(Stream.filter(batches.watch(id), ({ _tag }) => _tag !== "Pending"))
    const state = Option.isSome(begun) ? begun.value : yield* operations.state(id)
    yield* output.value(batchView(state), () => batchText(state, output.style))
    yield* output.note(
      output.noteStyle.dim(
        "It waits for `detent activity extraction` of each document in its manifest.json, then resolution, validation and ingestion",
      ),
    )
  })

/** A server has it now. Without --detach the command follows it. */
const given = (input: Place & { readonly detach: boolean; readonly dispatch?: string }, id: BatchId) =>
  (input.detach || input.dispatch === "activities" ? shown(input, id) : watched(input, id)).pipe(Effect.provide(observing(input)))

const shown = (input: Place, id: BatchId): Effect.Effect<void, unknown, Batches | Output> =>
  Effect.gen(function* () {
    const output = yield* Output
    const state = yield* operations.state(id)
    yield* output.value(batchView(state), () => batchText(state, output.style))
    yield* output.note(output.noteStyle.dim(`Follow it: detent batch watch ${id}${placeText(input)}`))
  })

const watched = (place: Place, id: BatchId) =>
  Effect.gen(function* () {
    const { note } = yield* Output
    const left = note(`No longer watching; the batch is not affected. Watch again with: detent batch watch ${id}${placeText(place)}`)
    return yield* Effect.onInterrupt(followElsewhere(id, place), () => left)
  })

/** What people need to know when it is stopped is said at once: who kills it with -9 hears nothing any more. */
const workedOn = (place: Place, id: BatchId) =>
  Effect.gen(function* () {
    const { note, noteStyle } = yield* Output
    const again = `detent batch resume ${id}${placeText(place)}`
    yield* note(noteStyle.dim(`${id}; stopped, it goes on with: ${again}`))
    return yield* Effect.onInterrupt(followHere(id, place), () => note(`Stopped; what is done is stored. Go on with: ${again}`))
  })

export const list: Handler<"batch list"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const after = yield* cursorFrom(input.after)
    const page = yield* operations.list({ ...(input.state === undefined ? {} : { state: input.state }), limit: input.limit, ...after })
    const rows = page.batches
    const columns: ReadonlyArray<Column<(typeof rows)[number]>> = [
      { title: "BATCH", of: ({ batchId }) => batchId },
      { title: "STATE", of: ({ state }) => state, looks: (text, row, style) => stateLooks(row.state, style).replace(row.state, text) },
      { title: "STARTED", of: ({ startedAt }) => momentText(startedAt) },
      { title: "CHANGED", of: ({ updatedAt }) => momentText(updatedAt) },
    ]
    const none = input.state === undefined ? "no batches here; start one with `detent batch run FOLDER`" : `no batch is ${input.state}`
    yield* output.rows(rows, columns, none)
    if (page.next !== undefined) yield* output.note(`more with --after ${cursorText(page.next)}`)
  }).pipe(Effect.provide(observing(input)))

export const show: Handler<"batch show"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const id = yield* batchIdOf(input.batch)
    const state = yield* operations.state(id)
    const documents =
      input.documents === undefined ? undefined : (yield* operations.documents(id, { status: input.documents, limit: 1000 })).documents
    const quarantined = input.quarantine ? yield* quarantineOf(id, state.manifestUri) : undefined
    yield* output.value(
      {
        ...batchView(state),
        ...(documents === undefined ? {} : { listed: documents }),
        ...(quarantined === undefined ? {} : { quarantined }),
      },
      () => batchText(state, output.style),
    )
    if (output.isJson) return
    if (documents !== undefined) {
      yield* output.write("\n")
      yield* output.rows(
        documents,
        [
          { title: "DOCUMENT", of: ({ source }) => source },
          { title: "STATUS", of: ({ status }) => status },
          { title: "PROBLEM", of: ({ error }) => error ?? "" },
        ],
        `no document is ${input.documents}`,
      )
    }
    if (quarantined === undefined) return
    yield* output.write("\n")
    yield* output.rows(
      quarantined,
      [
        { title: "SUBJECT", of: ({ subject }) => subject },
        { title: "PROPERTY", of: ({ property }) => property },
        { title: "VALUE", of: ({ value }) => value },
        { title: "REASON", of: ({ message }) => message },
        { title: "DOCUMENT", of: ({ documents: sources }) => sources.join(", ") },
      ],
      "validation held back nothing",
    )
  }).pipe(Effect.provide(observing(input)))

/** What validation held back, with the documents that state it. */
const quarantineOf = (id: BatchId, manifestUri: StorageUri) =>
  Effect.gen(function* () {
    const report = yield* operations.validationReport(id)
    const sources = yield* sourcesOf(manifestUri)
    return (report?.statements ?? []).map(({ sources: said, ...statement }) => {
      const documents = new Set(said.map(({ document }) => documentOfIri(document)))
      return { ...statement, documents: [...documents].map((one) => sources.get(one) ?? one), quotes: said.map(({ quote }) => quote) }
    })
  })

const sourcesOf = (manifestUri: StorageUri) =>
  Effect.gen(function* () {
    const manifest = yield* loadManifest(yield* Storage, manifestUri)
    return new Map<string, string>(manifest.documents.map(({ documentId, sourceUri }) => [documentId, sourceUri]))
  })

export const watch: Handler<"batch watch"> = (input) =>
  Effect.flatMap(batchIdOf(input.batch), (id) => watched(input, id)).pipe(Effect.provide(observing(input)))

export const cancel: Handler<"batch cancel"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const id = yield* batchIdOf(input.batch)
    const server = yield* runningServerWith(input, "knowledge")
    return yield* Effect.gen(function* () {
      yield* operations.state(id)
      yield* agreed(`Cancel ${id}? What it has extracted is kept.`)
      yield* server === undefined ? operations.cancel(id) : server.post(`/api/v1/batch/${id}/cancel`)
      const state = yield* operations.state(id)
      yield* output.value(batchView(state), () => batchText(state, output.style))
      yield* output.note(output.noteStyle.dim(`Go on with it: detent batch resume ${id}${placeText(input)}`))
    }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
  })

const Withdrawn = Schema.Struct({ batchId: Schema.String, namespace: Schema.String, version: Schema.optionalKey(Schema.String) })

export const withdraw: Handler<"batch withdraw"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const id = yield* batchIdOf(input.batch)
    const server = yield* runningServerWith(input, "knowledge")
    return yield* Effect.gen(function* () {
      const { targetNamespace } = yield* operations.state(id)
      yield* agreed(`Take the facts of ${id} out of the graph ${targetNamespace}?`)
      const withdrawn =
        server === undefined
          ? yield* operations.withdraw(id)
          : yield* Effect.flatMap(server.post(`/api/v1/batch/${id}/withdraw`), Schema.decodeUnknownEffect(Withdrawn))
      const { namespace, version } = withdrawn
      yield* output.value(withdrawn, () =>
        version === undefined ? `${id} had added nothing to ${namespace}\n` : `${namespace} is at version ${version}, without ${id}\n`,
      )
    }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
  })

export const retry: Handler<"batch retry"> = (input) => setGoing(input, "retry")

export const resume: Handler<"batch resume"> = (input) => setGoing(input, "resume")

/** By the server, if one runs; otherwise here. */
const setGoing = (input: Place & ModelInput & { readonly batch: string; readonly detach: boolean }, operation: "retry" | "resume") =>
  Effect.gen(function* () {
    const id = yield* batchIdOf(input.batch)
    const { budget, baseUrl } = yield* selectionOf(input)
    const changes = { ...(budget === undefined ? {} : { budget }), ...(baseUrl === undefined ? {} : { baseUrl }) }
    const server = input.detach ? yield* neededServer(input, "knowledge") : yield* runningServerWith(input, "knowledge")
    if (server !== undefined) {
      yield* noBaseUrl(input)
      const isResting = yield* Effect.provide(needsAsking(id, operation), observing(input))
      if (isResting && budget !== undefined) yield* server.post(`/api/v1/batch/${id}/budget`, { json: { budget } })
      else if (isResting) yield* server.post(`/api/v1/batch/${id}/${operation}`)
      return yield* given(input, id)
    }
    return yield* Effect.gen(function* () {
      if (yield* needsAsking(id, operation)) yield* operation === "retry" ? operations.retry(id, changes) : operations.resume(id, changes)
      return yield* workedOn(input, id)
    }).pipe(Effect.provide(working(input)))
  })

/** A batch that was only stopped is resumed by the next process that works on it: no event is sent. */
const needsAsking = (id: BatchId, operation: "retry" | "resume") =>
  Effect.map(
    operations.state(id),
    ({ _tag }) => operation === "retry" || _tag === "Failed" || _tag === "Cancelled" || _tag === "PartiallyCompleted",
  )
