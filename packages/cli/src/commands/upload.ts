/** `detent upload`: files of items. */
import { openAsBlob, statSync } from "node:fs"
import { basename } from "node:path"
import { type EntryState, Uploads } from "@detent/uploads"
import { UploadComplete } from "@detent/workspace/errors"
import * as operations from "@detent/workspace/operations/uploads"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { NothingFound, WrongUsage } from "../Failure.ts"
import type { Handler } from "../Handler.ts"
import { fieldsOf } from "../instance/Fields.ts"
import { agreed } from "../output/Asking.ts"
import { momentText } from "../output/Moment.ts"
import { Output } from "../output/Output.ts"
import { followElsewhere, followHere } from "../upload/UploadFollowing.ts"
import { stateLooks, uploadText } from "../upload/UploadView.ts"
import { uploads as opening, type Place, placeText } from "../workspace/Opening.ts"
import { neededServer, type RunningServer, runningServerWith } from "../workspace/Server.ts"

const { acting, observed, observing, working } = opening

export const run: Handler<"upload run"> = (input) =>
  Effect.gen(function* () {
    yield* isFile(input.file)
    const server = input.detach ? yield* neededServer(input, "uploads") : yield* runningServerWith(input, "uploads")
    if (server !== undefined) return yield* given(input, yield* sent(server, input))
    return yield* Effect.gen(function* () {
      const { batchId } = yield* Effect.flatMap(Uploads, (uploads) =>
        uploads.start(input.file, { force: input.force, ...optional({ kind: input.kind }) }),
      )
      return yield* workedOn(input, batchId)
    }).pipe(Effect.provide(working(input)))
  })

const isFile = (file: string): Effect.Effect<void, NothingFound> =>
  Effect.suspend(() => {
    const found = statSync(file, { throwIfNoEntry: false })
    if (found !== undefined && !found.isDirectory()) return Effect.void
    const nextStep = found === undefined ? "name a file of items" : "it is a folder: name a file of items"
    return Effect.fail(new NothingFound({ what: `file ${file}`, nextStep }))
  })

const Accepted = Schema.Struct({ batchId: Schema.String })

interface Sent {
  readonly file: string
  readonly force: boolean
  readonly kind?: string | undefined
}

const sent = (server: RunningServer, { file, force, kind }: Sent) =>
  Effect.gen(function* () {
    const blob = yield* Effect.tryPromise({
      try: () => openAsBlob(file),
      catch: () => new NothingFound({ what: `file ${file}`, nextStep: "name a file of items" }),
    })
    const form = new FormData()
    form.append("file", blob, basename(file))
    const query = new URLSearchParams({ ...(force ? { force: "true" } : {}), ...optional({ kind }) }).toString()
    const answer = yield* server.post(`/api/v1/uploads${query === "" ? "" : `?${query}`}`, { form })
    return (yield* Schema.decodeUnknownEffect(Accepted)(answer)).batchId
  })

/** A server works on it now; unless the command detaches, it follows. */
const given = (input: Place & { readonly detach: boolean }, id: string) =>
  input.detach
    ? Effect.gen(function* () {
        const output = yield* Output
        const status = yield* findUpload(id)
        yield* output.value(operations.statusOf(status), () => uploadText(status, output.style))
      }).pipe(Effect.provide(observing(input)))
    : Effect.onInterrupt(Effect.provide(followElsewhere(id, input), observing(input)), () =>
        Effect.flatMap(Output, ({ note }) =>
          note(`No longer watching; the server continues. Look: detent upload show ${id}${placeText(input)}`),
        ),
      )

const workedOn = (place: Place, id: string) =>
  Effect.gen(function* () {
    const { note, noteStyle } = yield* Output
    const again = `detent upload retry ${id}${placeText(place)}`
    yield* note(noteStyle.dim(`${id}; stopped, it goes on with: ${again}`))
    return yield* Effect.onInterrupt(followHere(id, place), () => note(`Stopped; what is done is stored. Go on with: ${again}`))
  })

export const list: Handler<"upload list"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const after = yield* numberOf(input.after)
    const uploads = yield* Uploads
    const page = yield* uploads.batches({ limit: input.limit, ...after })
    const rows = yield* Effect.forEach(
      page.batches,
      (batch) =>
        Effect.map(uploads.status(batch.batchId), ({ state, items, isResting }) => ({ ...batch, state, total: items.total, isResting })),
      { concurrency: 4 },
    )
    yield* output.rows(
      rows,
      [
        { title: "UPLOAD", of: ({ batchId }) => batchId },
        { title: "FILE", of: ({ fileName }) => fileName },
        { title: "STATE", of: ({ state }) => state, looks: (text, { state }, style) => stateLooks(text, state, style) },
        { title: "IN ALL", of: ({ total }) => total },
        { title: "STORED", of: ({ stored }) => stored },
        { title: "REFUSED", of: ({ failed }) => failed },
        { title: "STARTED", of: ({ createdAt }) => momentText(createdAt) },
      ],
      "no uploads here; start one with `detent upload run FILE`",
    )
    yield* toldHowToGoOn(input, rows)
    if (page.next !== undefined) yield* output.note(`more with --after ${page.next}`)
  }).pipe(Effect.provide(observing(input)))

export const show: Handler<"upload show"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const status = yield* findUpload(input.upload)
    const items = input.items === undefined ? undefined : yield* itemsOf(input, input.items)
    yield* output.value({ ...operations.statusOf(status), ...(items === undefined ? {} : { listed: items.items }) }, () =>
      uploadText(status, output.style),
    )
    yield* toldHowToGoOn(input, [status])
    if (output.isJson || items === undefined) return
    yield* output.write("\n")
    yield* output.rows(
      items.items,
      [
        { title: "ITEM", of: ({ index }) => index },
        { title: "LINE", of: ({ line }) => line },
        { title: "STATE", of: ({ state }) => state },
        { title: "ID", of: ({ id }) => id ?? "" },
        { title: "TRIES", of: ({ attempts }) => attempts },
        { title: "PROBLEM", of: ({ problem }) => problem?.message ?? "" },
      ],
      `no item is ${input.items}`,
    )
    if (items.next !== undefined) yield* output.note(`more with --after ${items.next}`)
  }).pipe(Effect.provide(observing(input)))

/** Only looks: another process works on the upload. */
export const watch: Handler<"upload watch"> = (input) =>
  Effect.andThen(findUpload(input.upload), followElsewhere(input.upload, input)).pipe(
    Effect.onInterrupt(() =>
      Effect.flatMap(Output, ({ note }) => note(`No longer watching. Look again: detent upload watch ${input.upload}${placeText(input)}`)),
    ),
    Effect.provide(observing(input)),
  )

export const history: Handler<"upload history"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const index = yield* itemNumber(input.item)
    const { history, ...item } = yield* operations.history(input.upload, index)
    if (output.isJson) return yield* output.value({ ...item, history }, () => "")
    yield* output.rows(
      history,
      [
        { title: "TRY", of: ({ attempt }) => attempt },
        { title: "STATE", of: ({ state }) => state },
        { title: "AT", of: ({ at }) => momentText(at) },
        { title: "PROBLEM", of: ({ problem }) => problem?.message ?? "" },
      ],
      "",
    )
  }).pipe(Effect.provide(observing(input)))

export const kinds: Handler<"upload kinds"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { kinds } = yield* operations.kinds
    yield* output.rows(
      kinds,
      [
        { title: "KIND", of: ({ name }) => name },
        { title: "DEFAULT", of: ({ isDefault }) => (isDefault ? "yes" : "") },
        { title: "FIELDS", of: ({ fields }) => fields.join(", ") },
      ],
      "",
    )
  }).pipe(Effect.provide(observed(input)))

/** A killed process leaves no note that it no longer works. Without a server the user may have to resume the upload. */
const toldHowToGoOn = (place: Place, uploads: ReadonlyArray<{ readonly batchId: string; readonly isResting: boolean }>) =>
  Effect.gen(function* () {
    const [first, ...others] = uploads.filter(({ isResting }) => !isResting)
    if (first === undefined || (yield* runningServerWith(place, "uploads")) !== undefined) return
    const { note, noteStyle } = yield* Output
    const which = others.length === 0 ? `${first.batchId} has` : `${others.length + 1} uploads have`
    const retry = `detent upload retry ${others.length === 0 ? first.batchId : "UPLOAD"}${placeText(place)}`
    yield* note(noteStyle.dim(`${which} not ended, and no server runs here; unless another process works on it, go on with: ${retry}`))
  })

const itemsOf = (input: Parameters<typeof show>[0], state: EntryState) =>
  Effect.gen(function* () {
    const after = yield* numberOf(input.after)
    return yield* Effect.flatMap(Uploads, (uploads) => uploads.items(input.upload, { state, limit: input.limit, ...after }))
  })

export const retry: Handler<"upload retry"> = (input) =>
  Effect.gen(function* () {
    const server = input.detach ? yield* neededServer(input, "uploads") : yield* runningServerWith(input, "uploads")
    if (server !== undefined) {
      const { state } = yield* Effect.provide(findUnfinished(input.upload), observing(input))
      if (needsAsking(state)) yield* server.post(`/api/v1/uploads/${encodeURIComponent(input.upload)}/retry`)
      return yield* given(input, input.upload)
    }
    return yield* Effect.gen(function* () {
      const { state } = yield* findUnfinished(input.upload)
      if (needsAsking(state)) yield* operations.retry(input.upload)
      return yield* workedOn(input, input.upload)
    }).pipe(Effect.provide(working(input)))
  })

/** An upload that was only stopped is resumed by the next process that works on it. */
const needsAsking = (state: string): boolean => state === "failed" || state === "partially_completed"

const numberOf = (text: string | undefined): Effect.Effect<{ readonly after?: number }, WrongUsage> => {
  if (text === undefined) return Effect.succeed({})
  return /^\d{1,15}$/.test(text)
    ? Effect.succeed({ after: Number(text) })
    : Effect.fail(new WrongUsage({ problem: `--after ${text} is no cursor`, nextStep: "copy it from the end of the page before" }))
}

/** The place of an item in its file. */
const itemNumber = (text: string): Effect.Effect<number, WrongUsage> =>
  /^\d{1,15}$/.test(text)
    ? Effect.succeed(Number(text))
    : Effect.fail(
        new WrongUsage({ problem: `${text} is no number of an item`, nextStep: "see `detent upload show UPLOAD --items failed`" }),
      )

const findUpload = (id: string) =>
  Effect.flatMap(Uploads, (uploads) =>
    Effect.catchTag(uploads.status(id), "BatchNotFound", () =>
      Effect.fail(new NothingFound({ what: `upload ${id}`, nextStep: "see `detent upload list`" })),
    ),
  )

/** An upload that still has something to do. */
const findUnfinished = (id: string) =>
  Effect.flatMap(findUpload(id), (status) =>
    status.state === "completed" ? Effect.fail(new UploadComplete({ batchId: id, stored: status.items.stored })) : Effect.succeed(status),
  )

export const cancel: Handler<"upload cancel"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const server = yield* runningServerWith(input, "uploads")
    return yield* Effect.gen(function* () {
      yield* findUpload(input.upload)
      yield* agreed(`Stop ${input.upload}? Stored items stay.`)
      yield* server === undefined
        ? operations.cancel(input.upload, input.reason)
        : server.post(`/api/v1/uploads/${encodeURIComponent(input.upload)}/cancel${reasonQuery(input.reason)}`)
      const status = yield* findUpload(input.upload)
      yield* output.value(operations.statusOf(status), () => uploadText(status, output.style))
    }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
  })

const reasonQuery = (reason: string | undefined): string => (reason === undefined ? "" : `?${new URLSearchParams({ reason })}`)

/** The content of an item is read from the database when it is tried again, so no server has to be asked. */
export const correct: Handler<"upload correct"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    if (input.with === undefined)
      return yield* new WrongUsage({ problem: "the item is missing", nextStep: `give it whole, like --with '{"id":8863,"type":"story"}'` })
    const item = yield* fieldsOf(input.with)
    const index = yield* itemNumber(input.item)
    yield* operations.correct(input.upload, index, item)
    yield* output.value({ batchId: input.upload, item: index }, () => `item ${index} of ${input.upload} has other content\n`)
    yield* output.note(output.noteStyle.dim(`Try it: detent upload retry ${input.upload}${placeText(input)}`))
  }).pipe(Effect.provide(observing(input)))

export const search: Handler<"upload search"> = (input) =>
  Effect.provide(input.kind === undefined && input.where === undefined ? searchHackerNews(input) : searchKind(input), observing(input))

type Search = Parameters<typeof search>[0]

/** Items of any kind, by words and fields. */
const searchKind = (input: Search) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { text, upload: batchId, after, limit, kind = "HackerNews" } = input
    const where = { ...optional({ type: input.type, by: input.by }), ...(yield* fieldsAsked(input.where)) }
    const page = yield* operations.searchKind(kind, { ...optional({ text, batchId, after }), where, limit })
    yield* output.rows(
      page.items,
      [
        { title: "ID", of: ({ id }) => id },
        { title: "ITEM", of: ({ item }) => JSON.stringify(item) },
      ],
      "no stored item fits",
    )
    if (page.next !== undefined) yield* output.note(`more with --after ${page.next}`)
  })

const fieldsAsked = (text: string | undefined): Effect.Effect<Readonly<Record<string, string>>, WrongUsage> => {
  const pairs = (text === undefined ? [] : text.split(",")).map((pair) => /^([^=]+)=(.*)$/s.exec(pair))
  return pairs.includes(null)
    ? Effect.fail(new WrongUsage({ problem: `--where ${text} is no field with a value`, nextStep: "write it as FIELD=VALUE" }))
    : Effect.succeed(Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? "", pair?.[2] ?? ""])))
}

const searchHackerNews = (input: Search) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { text, type, by, upload: batchId, limit } = input
    const after = yield* placeOf(input.after)
    const page = yield* operations.search({ ...optional({ text, type, by, batchId, after }), limit })
    yield* output.rows(
      page.items,
      [
        { title: "HN ID", of: ({ item }) => String(item.hnId) },
        { title: "TYPE", of: ({ item }) => item.type },
        { title: "BY", of: ({ item }) => item.by ?? "" },
        { title: "TITLE", of: ({ item }) => item.title ?? item.text ?? "" },
      ],
      "no stored item fits",
    )
    if (page.next !== undefined) yield* output.note(`more with --after ${page.next.time}-${page.next.hnId}`)
  })

/** Where a page of items ended. */
const placeOf = (text: string | undefined): Effect.Effect<{ readonly time: number; readonly hnId: number } | undefined, WrongUsage> => {
  if (text === undefined) return Effect.succeed(undefined)
  const [, time, hnId] = /^(\d{1,15})-(\d{1,15})$/.exec(text) ?? []
  return time === undefined || hnId === undefined
    ? Effect.fail(new WrongUsage({ problem: `--after ${text} is no cursor`, nextStep: "copy it from the end of the page before" }))
    : Effect.succeed({ time: Number(time), hnId: Number(hnId) })
}
