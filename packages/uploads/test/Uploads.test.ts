/** Uploads as their users see them, on SQLite and on PostgreSQL. */

import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { basename } from "node:path"
import { gunzipSync, gzipSync } from "node:zlib"
import { Engine } from "@detent/durable"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { writeItemFile } from "../src/generate/index.ts"
import { Posts } from "../src/generate/Post.ts"
import { loadItemWorkflow, type Notice, readDefinition, type SharedFiles, Uploads } from "../src/index.ts"
import { databases } from "./support/Databases.ts"
import { makeDesk, story } from "./support/Desk.ts"

const bad = {
  not_json: 0.01,
  not_an_object: 0.01,
  missing_id: 0.01,
  missing_field: 0.02,
  invalid_field: 0.01,
  duplicate: 0.02,
}

/** A shared storage in memory. */
const sharedIn = (blobs: Map<string, Buffer>): SharedFiles => {
  const bytesOf = (address: string): Buffer => {
    const bytes = blobs.get(address)
    if (bytes === undefined) throw Object.assign(new Error(`there is nothing at ${address}`), { code: "ENOENT" })
    return bytes
  }
  const stamp = async (address: string) => ({ fileSize: bytesOf(address).length, modifiedAt: 1 })
  return {
    stamp,
    open: async (address) => {
      const bytes = bytesOf(address)
      return {
        read: async function* (start) {
          yield bytes.subarray(start)
        },
        stamp: () => stamp(address),
        close: async () => {},
      }
    },
    remove: async (address) => void blobs.delete(address),
    addressOf: (name) => `memory://received/${name}`,
    store: (address, _, bytes) =>
      Effect.map(Stream.runCollect(bytes), (chunks) => {
        blobs.set(address, Buffer.concat(chunks))
      }),
  }
}

describe.each(databases)("$name", (database) => {
  it.effect("a file of good items is completed, each an instance and a row, with its counts and its hash", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      const path = file("items.json", [story(1), story(2, { type: "comment", text: "yes" }), { id: 3, type: "job" }])
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const posts = uploads.of(Posts)
          const started = yield* uploads.start(path)
          expect(started).toMatchObject({ isResting: false, batch: { fileName: "items.json", filePath: path } })
          const status = yield* uploads.finished(started.batchId)
          expect(status).toMatchObject({
            state: "completed",
            isResting: true,
            items: { total: 3, waiting: 0, stored: 3, failed: 0 },
            problem: undefined,
            batch: {
              fileMd5Hash: createHash("md5").update(readFileSync(path)).digest("hex"),
              fileSize: readFileSync(path).length,
              contentType: "application/json",
              table: { format: "json", compression: "none", encoding: "utf-8" },
              totalItemsInFile: 3,
              invalidItemsInFile: 0,
              itemsProcessed: 3,
              itemsErrored: 0,
              retryCount: 0,
              resultSummary: { items: 3, stored: 3, failed: 0 },
            },
          })
          const engine = yield* Engine
          const { machine } = yield* loadItemWorkflow(readDefinition("upload-item.json"))
          expect(yield* engine.count(machine)).toEqual(new Map([["stored", 3]]))
          const { items } = yield* uploads.items(started.batchId)
          const instance = Option.getOrThrow(yield* engine.get(machine, items[2]?.instanceId ?? ""))
          expect(yield* instance.state).toMatchObject({
            _tag: "stored",
            entity: { itemId: "3", batchId: started.batchId, itemIndex: 2, sourceType: "BULK_UPLOAD", attempts: 1 },
          })
          expect(Option.getOrThrow(yield* posts.item(2))).toEqual({
            id: "2",
            item: { id: 2, type: "comment", by: "ada", time: 1_700_000_002, title: "Story 2", text: "yes" },
            batchId: started.batchId,
            index: 1,
          })
          expect(yield* posts.item(99)).toEqual(Option.none())
        }),
      )
    }),
  )

  it.effect.each([
    ["an array", "array", false],
    ["lines", "lines", false],
    ["a packed array", "array", true],
    ["packed lines", "lines", true],
  ] as const)("%s with bad items of every kind: the good ones are kept, the others told by reason and place", ([, layout, gzip]) =>
    Effect.gen(function* () {
      const { folder, run } = yield* makeDesk(database)
      const path = `${folder}/items`
      const written = yield* Effect.promise(() => writeItemFile(path, { items: 3000, layout, gzip, bad, seed: 7 }))
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(path)
          const { state, items, batch } = yield* uploads.finished(batchId)
          expect(state).toBe("partially_completed")
          expect(items).toEqual({ total: 3000, waiting: 0, stored: written.good, failed: 3000 - written.good })
          const summary = new Map(batch.errorSummary?.groups.map(({ reason, count }) => [reason, count]))
          expect(summary).toEqual(written.bad)
          // A duplicate is only found when it is stored.
          expect(batch.invalidItemsInFile).toBe(3000 - written.good - (written.bad.get("duplicate") ?? 0))
          const failed = yield* all((after) =>
            uploads.items(batchId, { state: "failed", limit: 50, ...(after === undefined ? {} : { after }) }),
          )
          expect(failed.map(({ index, problem }) => [index, problem?.reason])).toEqual([...written.badIndices])
          const text = (gzip ? gunzipSync(readFileSync(path)) : readFileSync(path)).toString()
          for (const { index, line, offset } of failed.slice(0, 20)) {
            expect(line).toBe(layout === "array" ? index + 2 : index + 1)
            expect(Buffer.from(text).subarray(0, offset).toString().split("\n").length).toBe(line)
          }
          const stored = yield* all((after) =>
            uploads.items(batchId, { state: "stored", limit: 999, ...(after === undefined ? {} : { after }) }),
          )
          expect(stored).toHaveLength(written.good)
          expect((yield* uploads.items(batchId, { state: "processing" })).items).toEqual([])
        }),
      )
    }),
  )

  it.effect("watching tells of the way to the end, and ends there", () =>
    Effect.gen(function* () {
      const { folder, run } = yield* makeDesk(database)
      const path = `${folder}/items.json`
      yield* Effect.promise(() => writeItemFile(path, { items: 6000 }))
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(path)
          const seen = yield* Stream.runCollect(uploads.watch(batchId))
          expect(seen.at(-1)).toMatchObject({ state: "completed", isResting: true, items: { stored: 6000, waiting: 0 } })
          expect(seen.slice(0, -1).every((status) => !status.isResting)).toBe(true)
          const counts = seen.map((status) => status.items.stored)
          expect(counts).toEqual(counts.toSorted((left, right) => left - right))
          expect(yield* Stream.runCollect(uploads.watch(batchId))).toHaveLength(1)
        }),
      )
    }),
  )

  it.effect("a listener gets every outcome, and cannot delay it", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      const notices: Array<Notice> = []
      const notify = (notice: Notice) => Effect.sync(() => notices.push(notice)).pipe(Effect.asVoid)
      const good = file("good.json", [story(1)])
      const mixed = file("mixed.json", [story(2), {}])
      const poor = file("poor.json", [{}, {}])
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          for (const path of [good, mixed, poor]) yield* uploads.finished((yield* uploads.start(path)).batchId)
          expect(notices.map(({ outcome, batch }) => [outcome, batch.itemsProcessed])).toEqual([
            ["completed", 1],
            ["partially_completed", 1],
            ["failed", 2],
          ])
          expect(new Set(notices.map(({ key }) => key)).size).toBe(3)
        }),
        { notify },
      )
    }),
  )

  it.effect("bytes that are sent are kept as a file and uploaded; what becomes no batch leaves no file", () =>
    Effect.gen(function* () {
      const { folder, run } = yield* makeDesk(database)
      const bytes = (text: string) => Stream.fromIterable([Buffer.from(text.slice(0, 9)), Buffer.from(text.slice(9))])
      const inbox = `${folder}/inbox`
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const text = JSON.stringify([story(1), story(2)])
          const { batchId, batch } = yield* uploads.receive(bytes(text), {
            fileName: "sent.json",
            contentType: "application/json; charset=utf-8",
          })
          expect(yield* uploads.finished(batchId)).toMatchObject({
            state: "completed",
            items: { stored: 2 },
            batch: { fileName: "sent.json" },
          })
          expect(existsSync(batch.filePath)).toBe(true)
          expect(yield* Effect.flip(uploads.receive(bytes(text), { fileName: "again.json" }))).toMatchObject({
            _tag: "AlreadyUploaded",
            batchId,
          })
          expect(yield* Effect.flip(uploads.receive(bytes("x".repeat(600)), { fileName: "large.json" }))).toMatchObject({
            _tag: "FileTooLarge",
            limit: 500,
          })
          expect(yield* Effect.flip(uploads.receive(bytes("<p>1</p>"), { fileName: "a.html", contentType: "text/html" }))).toMatchObject({
            _tag: "UnsupportedContentType",
          })
          expect(readdirSync(inbox)).toEqual([basename(batch.filePath)])
        }),
        { folder: inbox, maxFileBytes: 500 },
      )
    }),
  )

  it.effect("a file of the shared storage is uploaded by its address, without a copy", () =>
    Effect.gen(function* () {
      const { run } = yield* makeDesk(database)
      const address = "memory://shelf/items.json"
      const blobs = new Map([[address, Buffer.from(JSON.stringify([story(1), story(2)]))]])
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(address)
          expect(yield* uploads.finished(batchId)).toMatchObject({
            state: "completed",
            items: { stored: 2 },
            batch: { fileName: "items.json", filePath: address },
          })
          expect([...blobs.keys()]).toEqual([address])
          const missing = yield* Effect.flip(uploads.start("memory://shelf/other.json"))
          expect(missing).toMatchObject({ _tag: "FileUnreadable", message: expect.stringContaining("there is no such file") })
        }),
        { sharedFiles: sharedIn(blobs) },
      )
    }),
  )

  it.effect("a packed file tells its kind by itself", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      const path = file("items.data", gzipSync(JSON.stringify([story(1)])))
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(path, { contentType: "application/gzip" })
          expect(yield* uploads.finished(batchId)).toMatchObject({
            state: "completed",
            batch: { contentType: "application/json", table: { compression: "gzip" } },
          })
        }),
      )
    }),
  )
})

/** All pages of a list. */
const all = <A, E>(
  page: (after: number | undefined) => Effect.Effect<{ readonly items: ReadonlyArray<A>; readonly next: number | undefined }, E>,
) =>
  Effect.gen(function* () {
    const found: Array<A> = []
    let after: number | undefined
    do {
      const { items, next } = yield* page(after)
      found.push(...items)
      after = next
    } while (after !== undefined)
    return found
  })
