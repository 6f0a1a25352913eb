/** `detent upload`: files of items. */
import { createReadStream, openAsBlob, statSync } from "node:fs"
import { basename } from "node:path"
import { isBucketLocation } from "@detent/blobs/BucketLocation"
import type { EntryState, Uploads } from "@detent/uploads"
import { UploadComplete } from "@detent/workspace/errors"
import * as operations from "@detent/workspace/operations/uploads"
import { optional } from "@detent/workspace/optional"
import * as NodeStream from "@effect/platform-node/NodeStream"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { messageOf, NothingFound, WrongUsage } from "../Failure.ts"
import { fieldsOf } from "../instance/Fields.ts"
import { command } from "../line/Command.ts"
import { agreed } from "../output/Asking.ts"
import { momentText } from "../output/Moment.ts"
import { Output } from "../output/Output.ts"
import { followElsewhere, followHere } from "../upload/UploadFollowing.ts"
import { itemProblem, stateLooks, uploadText } from "../upload/UploadView.ts"
import { changed, changedHere, checkKey, headersOf } from "../workspace/Changing.ts"
import { notACursor } from "../workspace/Cursor.ts"
import { uploads as opening, type Place, placeText } from "../workspace/Opening.ts"
import { neededServer, type RunningServer, runningServerWith } from "../workspace/Server.ts"
import { keyOption, paging, upTo } from "./shared.ts"

const { acting, observed, observing, working } = opening

const upload = { name: "upload", summary: "the upload's id, as `detent upload list` shows it" } as const

const run = command(
  {
    name: "upload run",
    summary: "upload a file of items (JSON, JSON lines, also gzip)",
    detail:
      "Valid items are stored, invalid items are refused with their reason. After a stop or kill, `detent upload retry` resumes it.\n" +
      "The kind of its items is an upload that detent.config.ts defines: `detent upload kinds` lists them. Without a configuration, it is\n" +
      "Items: objects with an id.",
    arguments: [{ name: "file", summary: "a local file", complete: "file" }],
    options: [
      { name: "kind", kind: "text", value: "NAME", summary: "the kind of its items. Default: the first upload of the configuration" },
      { name: "force", kind: "flag", summary: "upload even if the same file was uploaded before" },
      { name: "md5", kind: "text", value: "HEX", summary: "the MD5 that the file must have; a damaged file is refused" },
      keyOption,
      { name: "detach", kind: "flag", summary: "start the upload on the running server of this workspace, and do not follow it" },
    ],
    examples: [
      { line: "detent upload run items.json", says: "exits with 5 if some items were refused" },
      { line: "detent upload run items.jsonl.gz --force --json", says: "uploads the file again, with progress as JSON lines" },
      { line: "detent upload run products.json --kind Products", says: "items of an upload that detent.config.ts defines" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      yield* checkKey(input.key)
      yield* checkMd5(input.md5)
      yield* isFile(input.file)
      const server = input.detach ? yield* neededServer(input, "uploads") : yield* runningServerWith(input, "uploads")
      if (server !== undefined) return yield* given(input, yield* sent(server, input))
      return yield* Effect.gen(function* () {
        const { batchId } = yield* started(input)
        return yield* workedOn(input, batchId)
      }).pipe(Effect.provide(working(input)))
    }),
)

const checkMd5 = (md5: string | undefined): Effect.Effect<void, WrongUsage> =>
  md5 === undefined || /^[0-9a-fA-F]{32}$/.test(md5)
    ? Effect.void
    : Effect.fail(
        new WrongUsage({ problem: `--md5 ${md5} is not an MD5`, nextStep: "it has 32 hexadecimal digits, as md5sum prints them" }),
      )

const isFile = (file: string): Effect.Effect<void, NothingFound | WrongUsage> =>
  Effect.suspend((): Effect.Effect<void, NothingFound | WrongUsage> => {
    if (isBucketLocation(file)) {
      const nextStep = "copy it to this machine first, and name the copy"
      return Effect.fail(new WrongUsage({ problem: `only local files can be uploaded, and ${file} is not one`, nextStep }))
    }
    const found = statSync(file, { throwIfNoEntry: false })
    if (found !== undefined && !found.isDirectory()) return Effect.void
    const nextStep = found === undefined ? "name a file of items" : "it is a folder: name a file of items"
    return Effect.fail(new NothingFound({ what: `file ${file}`, nextStep }))
  })

interface SentFile {
  readonly file: string
  readonly force: boolean
  readonly kind: string | undefined
  readonly md5: string | undefined
  readonly key: string | undefined
}

/** With a key, the upload keeps a copy of the file, as a server does: another file with the same key is then refused. */
const started = ({ file, force, kind, md5, key }: SentFile) => {
  if (key === undefined) return operations.start(file, { force, kind, md5 })
  const content = NodeStream.fromReadable<Uint8Array, WrongUsage>({
    evaluate: () => createReadStream(file),
    onError: (cause) => new WrongUsage({ problem: `${file} cannot be read: ${String(cause)}`, nextStep: "correct it and start again" }),
  })
  return operations.receive({ fileName: basename(file), content }, { key, force, kind, md5 })
}

const Accepted = Schema.Struct({ batchId: Schema.String })

const sent = (server: RunningServer, { file, force, kind, md5, key }: SentFile) =>
  Effect.gen(function* () {
    const blob = yield* Effect.tryPromise({
      try: () => openAsBlob(file),
      catch: () => new NothingFound({ what: `file ${file}`, nextStep: "name a file of items" }),
    })
    const form = new FormData()
    form.append("file", blob, basename(file))
    const query = new URLSearchParams({ ...(force ? { force: "true" } : {}), ...optional({ kind, md5 }) }).toString()
    const answer = yield* server.post(`/api/v1/uploads${query === "" ? "" : `?${query}`}`, { form }, headersOf(key))
    return (yield* Schema.decodeUnknownEffect(Accepted)(answer)).batchId
  })

/** Shows an upload that a server works on. Without --detach, follows it. */
const given = (input: Place & { readonly detach: boolean }, id: string) =>
  input.detach
    ? Effect.gen(function* () {
        const output = yield* Output
        const status = yield* findUpload(id)
        yield* output.value(status, () => uploadText(status, output.style))
      }).pipe(Effect.provide(observing(input)))
    : Effect.onInterrupt(Effect.provide(followElsewhere(id, input), observing(input)), () =>
        Effect.flatMap(Output, ({ note }) =>
          note(`No longer watching; the server continues. Show it with: detent upload show ${id}${placeText(input)}`),
        ),
      )

const workedOn = (place: Place, id: string) =>
  Effect.gen(function* () {
    const { note, noteStyle } = yield* Output
    const again = `detent upload retry ${id}${placeText(place)}`
    yield* note(noteStyle.dim(`${id}; if it is stopped, resume with: ${again}`))
    return yield* Effect.onInterrupt(followHere(id, place), () => note(`Stopped; finished work is stored. Resume with: ${again}`))
  })

const list = command(
  {
    name: "upload list",
    summary: "uploads, newest first",
    arguments: [],
    options: [...paging],
    examples: [{ line: "detent upload list --limit 5 --json", says: "the five newest uploads, one JSON line each" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const after = yield* numberOf(input.after)
      const page = yield* operations.list({ limit: input.limit, ...after })
      const rows = yield* Effect.forEach(
        page.uploads,
        (batch): Effect.Effect<UploadRow, never, Uploads> =>
          Effect.match(operations.status(batch.batchId), {
            onSuccess: ({ state, items, isResting }) => ({ ...batch, state, total: items.total, isResting }),
            onFailure: (error) => ({ ...batch, problem: messageOf(error) }),
          }),
        { concurrency: 4 },
      )
      yield* output.rows(
        rows,
        [
          { title: "UPLOAD", of: ({ batchId }) => batchId },
          { title: "FILE", of: ({ fileName }) => fileName },
          {
            title: "STATE",
            of: ({ state }) => state ?? "unreadable",
            looks: (text, { state }, style) => (state === undefined ? style.red(text) : stateLooks(text, state, style)),
          },
          { title: "IN ALL", of: ({ total }) => total ?? "" },
          { title: "STORED", of: ({ stored }) => stored },
          { title: "REFUSED", of: ({ failed }) => failed },
          { title: "STARTED", of: ({ createdAt }) => momentText(createdAt) },
        ],
        "no uploads here; start one with `detent upload run FILE`",
      )
      for (const { batchId, problem } of rows) if (problem !== undefined) yield* output.note(`upload ${batchId} cannot be read: ${problem}`)
      yield* noteUnfinished(input, rows)
      if (page.next !== undefined) yield* output.note(`more with --after ${page.next}`)
    }).pipe(Effect.provide(observing(input))),
)

type Listed = Effect.Success<ReturnType<typeof operations.list>>["uploads"][number]

/** An upload of the list: with its state, or with the reason why that cannot be read. */
type UploadRow = Listed & { readonly state?: string; readonly total?: number; readonly isResting?: boolean; readonly problem?: string }

const show = command(
  {
    name: "upload show",
    summary: "one upload: state, counts, reasons of refused items",
    arguments: [upload],
    options: [
      {
        name: "items",
        kind: "text",
        value: "WHICH",
        choices: ["stored", "failed", "processing"],
        summary: "also list its items in this state",
      },
      { name: "reason", kind: "text", value: "KIND", summary: "with --items failed: only items that failed for this reason" },
      { name: "item", kind: "text", value: "N", summary: "instead show the content of this item, as its file or a correction has it" },
      ...paging,
    ],
    examples: [
      { line: "detent upload show batch-09ab41cc02 --items failed", says: "each refused item, with its line and reason" },
      { line: "detent upload show batch-09ab41cc02 --item 17 > item.json", says: "the refused item, to edit it and correct it" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      if (input.item !== undefined) return yield* showItem(input, yield* itemNumber(input.item))
      const output = yield* Output
      const status = yield* findUpload(input.upload)
      const items = input.items === undefined ? undefined : yield* itemsOf(input, input.items)
      yield* output.value({ ...status, ...(items === undefined ? {} : { listed: items.items, ...optional({ next: items.next }) }) }, () =>
        uploadText(status, output.style),
      )
      yield* noteUnfinished(input, [status])
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
          { title: "PROBLEM", of: itemProblem },
        ],
        input.reason === undefined ? `no item is ${input.items}` : `no item failed for ${input.reason}`,
      )
      if (items.next !== undefined) yield* output.note(`more with --after ${items.next}`)
    }).pipe(Effect.provide(observing(input))),
)

/** Writes the content to stdout, exactly as it is stored, and what became of the item to stderr. */
const showItem = ({ upload: id, ...place }: Place & { readonly upload: string }, index: number) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { history: _, ...found } = yield* operations.history(id, index)
    const { source, line, state } = found
    if (source === undefined && !output.isJson)
      return yield* new NothingFound({
        what: `content of item ${index} of ${id}`,
        nextStep: "it is too large or not text, and was not kept; see its line in the file",
      })
    const problem = itemProblem(found)
    const outcome = [...(found.correctedAt === undefined ? [state] : []), ...(problem === "" ? [] : [problem])].join("; ")
    yield* output.value(found, () => `${source}\n`)
    yield* output.note(output.noteStyle.dim(`item ${index}, line ${line}: ${outcome}`))
    if (state !== "failed") return
    yield* output.note(output.noteStyle.dim(`Correct it: detent upload correct ${id} ${index} --with '{…}'${placeText(place)}`))
  })

/** Only reads: another process works on the upload. */
const watch = command(
  {
    name: "upload watch",
    summary: "follow an upload until it ends; does no work itself",
    detail: "For an upload that a server, a worker or another terminal works on. Ctrl-C stops following; the upload continues.",
    arguments: [upload],
    options: [],
    examples: [{ line: "detent upload watch batch-09ab41cc02 --json", says: "a line of JSON for each change" }],
  },
  (input) =>
    Effect.andThen(findUpload(input.upload), followElsewhere(input.upload, input)).pipe(
      Effect.onInterrupt(() =>
        Effect.flatMap(Output, ({ note }) =>
          note(`No longer watching. Watch again with: detent upload watch ${input.upload}${placeText(input)}`),
        ),
      ),
      Effect.provide(observing(input)),
    ),
)

const itemArgument = { name: "item", summary: "the item's number, as `detent upload show --items failed` shows it" } as const

const history = command(
  {
    name: "upload history",
    summary: "one item of an upload: when it was ingested, validated, stored or refused",
    arguments: [upload, itemArgument],
    options: [],
    examples: [{ line: "detent upload history batch-09ab41cc02 17", says: "every attempt, with times and reasons" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const index = yield* itemNumber(input.item)
      const { history: steps, ...item } = yield* operations.history(input.upload, index)
      if (output.isJson) return yield* output.value({ ...item, history: steps }, () => "")
      yield* output.rows(
        steps,
        [
          { title: "TRY", of: ({ attempt }) => attempt },
          { title: "STATE", of: ({ state }) => state },
          { title: "AT", of: ({ at }) => momentText(at) },
          { title: "PROBLEM", of: ({ problem }) => problem?.message ?? "" },
        ],
        "",
      )
    }).pipe(Effect.provide(observing(input))),
)

const kinds = command(
  {
    name: "upload kinds",
    summary: "the kinds of uploads, and the fields that a search can use",
    arguments: [],
    options: [],
    examples: [{ line: "detent upload kinds --json", says: "the uploads of detent.config.ts; without a configuration, Items" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const known = yield* operations.kinds
      yield* output.rows(
        known.kinds,
        [
          { title: "KIND", of: ({ name }) => name },
          { title: "DEFAULT", of: ({ isDefault }) => (isDefault ? "yes" : "") },
          { title: "FIELDS", of: ({ fields }) => fields.join(", ") },
        ],
        "",
      )
    }).pipe(Effect.provide(observed(input))),
)

/** Notes how to resume unfinished uploads where no server runs: a killed process leaves no record that it ended. */
const noteUnfinished = (place: Place, uploads: ReadonlyArray<{ readonly batchId: string; readonly isResting?: boolean }>) =>
  Effect.gen(function* () {
    const [first, ...others] = uploads.filter(({ isResting }) => isResting === false)
    if (first === undefined || (yield* runningServerWith(place, "uploads")) !== undefined) return
    const { note, noteStyle } = yield* Output
    const which = others.length === 0 ? `${first.batchId} has` : `${others.length + 1} uploads have`
    const retry = `detent upload retry ${others.length === 0 ? first.batchId : "UPLOAD"}${placeText(place)}`
    yield* note(noteStyle.dim(`${which} not ended, and no server runs here; unless another process works on it, resume with: ${retry}`))
  })

interface ItemsAsked {
  readonly upload: string
  readonly limit: number
  readonly after: string | undefined
  readonly reason: string | undefined
}

const itemsOf = ({ upload: id, limit, after, reason }: ItemsAsked, state: EntryState) =>
  Effect.gen(function* () {
    return yield* upTo(limit, (yield* numberOf(after)).after, (most, from) =>
      operations.items(id, { state, reason, limit: most, ...optional({ after: from }) }),
    )
  })

const retry = command(
  {
    name: "upload retry",
    summary: "retry refused items or a failed upload; resume a stopped upload",
    arguments: [upload],
    options: [
      { name: "detach", kind: "flag", summary: "leave the work to the running server of this workspace, and do not follow it" },
      keyOption,
    ],
    examples: [{ line: "detent upload retry batch-09ab41cc02", says: "retries only items that are not stored yet" }],
  },
  (input) =>
    Effect.gen(function* () {
      const server = input.detach ? yield* neededServer(input, "uploads") : yield* runningServerWith(input, "uploads")
      const retried = changed(server, changeOf("retry", input.upload, input.key), operations.retry(input.upload))
      if (server !== undefined) {
        const { state } = yield* Effect.provide(findUnfinished(input), observing(input))
        if (needsEvent(state)) yield* Effect.provide(retried, observing(input))
        return yield* given(input, input.upload)
      }
      return yield* Effect.gen(function* () {
        const { state } = yield* findUnfinished(input)
        if (needsEvent(state)) yield* retried
        return yield* workedOn(input, input.upload)
      }).pipe(Effect.provide(working(input)))
    }),
)

/** Whether the upload needs an event to run again. An upload whose process was stopped needs none: the next process resumes it. */
const needsEvent = (state: string): boolean => state === "failed" || state === "partially_completed" || state === "completed"

const numberOf = (text: string | undefined): Effect.Effect<{ readonly after?: number }, WrongUsage> => {
  if (text === undefined) return Effect.succeed({})
  return /^\d{1,15}$/.test(text) ? Effect.succeed({ after: Number(text) }) : Effect.fail(notACursor(text))
}

/** The position of an item in its file. */
const itemNumber = (text: string): Effect.Effect<number, WrongUsage> =>
  /^\d{1,15}$/.test(text)
    ? Effect.succeed(Number(text))
    : Effect.fail(
        new WrongUsage({ problem: `${text} is not a number of an item`, nextStep: "see `detent upload show UPLOAD --items failed`" }),
      )

const findUpload = (id: string) =>
  Effect.catchTag(operations.status(id), "BatchNotFound", () =>
    Effect.fail(new NothingFound({ what: `upload ${id}`, nextStep: "see `detent upload list`" })),
  )

const changeOf = (operation: "retry" | "cancel", batchId: string, key: string | undefined) => ({
  operation: `uploads.${operation}`,
  params: { batchId },
  path: `/api/v1/uploads/${encodeURIComponent(batchId)}/${operation}`,
  key,
})

/** Refuses a completed upload, except with a key: then the request may be a repeated one, which returns its first answer. */
const findUnfinished = ({ upload: id, key }: { readonly upload: string; readonly key: string | undefined }) =>
  Effect.flatMap(findUpload(id), (status) =>
    status.state === "completed" && key === undefined
      ? Effect.fail(new UploadComplete({ batchId: id, stored: status.items.stored }))
      : Effect.succeed(status),
  )

const cancel = command(
  {
    name: "upload cancel",
    summary: "stop the work of an upload; stored items stay",
    arguments: [upload],
    options: [{ name: "reason", kind: "text", value: "TEXT", summary: "the reason, which `detent upload show` shows" }, keyOption],
    examples: [{ line: "detent upload cancel batch-3f9c2a71b0d4e5f6", says: "asks first; --yes confirms" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const server = yield* runningServerWith(input, "uploads")
      return yield* Effect.gen(function* () {
        yield* findUpload(input.upload)
        yield* agreed(`Stop ${input.upload}? Stored items stay.`)
        const change = changeOf("cancel", input.upload, input.key)
        const path = `${change.path}${reasonQuery(input.reason)}`
        const content = optional({ reason: input.reason })
        yield* changed(server, { ...change, path, content }, operations.cancel(input.upload, input.reason))
        const status = yield* findUpload(input.upload)
        yield* output.value(status, () => uploadText(status, output.style))
      }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
    }),
)

const reasonQuery = (reason: string | undefined): string => (reason === undefined ? "" : `?${new URLSearchParams({ reason })}`)

/** Changes the database directly, without a server: a retry reads the content of the item from the database. */
const correct = command(
  {
    name: "upload correct",
    summary: "replace the content of a refused item for the next retry; invalid content is refused again",
    arguments: [upload, itemArgument],
    options: [{ name: "with", kind: "text", value: "JSON", summary: "the complete item" }, keyOption],
    examples: [
      {
        line: `detent upload correct batch-3f9c2a71b0d4e5f6 17 --with '{"id":"lathe-7","brand":"Acme","price":12.5}'`,
        says: "then: detent upload retry",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      if (input.with === undefined)
        return yield* new WrongUsage({
          problem: "the item is missing",
          nextStep: `give the complete item with --with; see it with: detent upload show ${input.upload} --item ${input.item}`,
        })
      const item = yield* fieldsOf(input.with)
      const index = yield* itemNumber(input.item)
      const change = { operation: "uploads.correct", params: { batchId: input.upload, index }, json: item, key: input.key }
      yield* changedHere(change, operations.correct(input.upload, index, item))
      yield* output.value({ batchId: input.upload, item: index }, () => `item ${index} of ${input.upload} has new content\n`)
      yield* output.note(output.noteStyle.dim(`Retry it: detent upload retry ${input.upload}${placeText(input)}`))
    }).pipe(Effect.provide(observing(input))),
)

const search = command(
  {
    name: "upload search",
    summary: "search stored items by words and fields",
    arguments: [{ name: "text", summary: "words that the item contains", optional: true }],
    options: [
      { name: "kind", kind: "text", value: "NAME", summary: "the kind of the items. Default: the first upload of the configuration" },
      { name: "where", kind: "text", value: "FIELD=VALUE", summary: "only items with this value; separate several with commas" },
      { name: "upload", kind: "text", value: "ID", summary: "only items of this upload" },
      {
        name: "from",
        kind: "text",
        value: "N",
        summary: "only items from this time on, in the unit of the items",
      },
      { name: "until", kind: "text", value: "N", summary: "only items before this time" },
      ...paging,
    ],
    examples: [
      { line: "detent upload search database --limit 5", says: "the newest items first" },
      { line: 'detent upload search "lathe -saw"', says: "items with the one word and without the other" },
      {
        line: "detent upload search lathe --kind Products --where brand=Acme",
        says: "items of an upload that detent.config.ts defines",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      return yield* searchKind(input.kind ?? (yield* defaultKind), input)
    }).pipe(Effect.provide(observing(input))),
)

/** The kind of a file that `upload run` gets without `--kind`. */
const defaultKind = Effect.map(operations.kinds, ({ kinds: known }) => known.find(({ isDefault }) => isDefault)?.name ?? "Items")

interface Search {
  readonly text: string | undefined
  readonly where: string | undefined
  readonly upload: string | undefined
  readonly from: string | undefined
  readonly until: string | undefined
  readonly limit: number
  readonly after: string | undefined
}

const period = (input: Search) => Effect.all({ from: timeOf("from", input.from), until: timeOf("until", input.until) })

const timeOf = (option: string, text: string | undefined): Effect.Effect<number | undefined, WrongUsage> => {
  if (text === undefined) return Effect.undefined
  return /^-?\d{1,15}(\.\d{1,6})?$/.test(text)
    ? Effect.succeed(Number(text))
    : Effect.fail(
        new WrongUsage({
          problem: `--${option} ${text} is not a number`,
          nextStep: "write the time in the unit of the items, such as 1175714200",
        }),
      )
}

/** Searches items of any kind, by words and fields. */
const searchKind = (kind: string, input: Search) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { text, upload: batchId, after, limit } = input
    const where = yield* fieldsAsked(input.where)
    const page = yield* operations.searchKind(kind, { ...optional({ text, batchId, after, ...(yield* period(input)) }), where, limit })
    yield* output.rows(
      page.items,
      [
        { title: "ID", of: ({ id }) => id },
        { title: "ITEM", of: ({ item }) => JSON.stringify(item) },
      ],
      `no stored item of ${kind} fits`,
    )
    if (page.next !== undefined) yield* output.note(`more with --after ${page.next}`)
  })

const fieldsAsked = (text: string | undefined): Effect.Effect<Readonly<Record<string, string>>, WrongUsage> => {
  // A comma ends a value only before another field, so that a value may contain commas.
  const pairs = (text === undefined ? [] : text.split(/,(?=[^=,]*=)/)).map((pair) => /^([^=]+)=(.*)$/s.exec(pair))
  return pairs.includes(null)
    ? Effect.fail(new WrongUsage({ problem: `--where ${text} is not a field with a value`, nextStep: "write it as FIELD=VALUE" }))
    : Effect.succeed(Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? "", pair?.[2] ?? ""])))
}

const item = command(
  {
    name: "upload item",
    summary: "one stored item, by its kind and id",
    arguments: [
      { name: "kind", summary: "the item's kind, as `detent upload kinds` shows it" },
      { name: "id", summary: "the item's id" },
    ],
    options: [],
    examples: [{ line: "detent upload item Products lathe-7", says: "the stored item; --json also shows its upload" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const found = yield* operations.itemOfKind(input.kind, input.id)
      yield* output.value(found, () => `${JSON.stringify(found.item, undefined, 2)}\n`)
    }).pipe(Effect.provide(observing(input))),
)

export const noun = {
  name: "upload",
  summary: "files of items, of the kinds of detent.config.ts",
  system: "uploads",
} as const

export const commands = [run, kinds, list, show, watch, history, retry, cancel, correct, search, item]
