/** Several who do the same at once, and work that was cut off between two of its steps. */

import { existsSync, readdirSync, readFileSync } from "node:fs"
import { basename } from "node:path"
import { Engine } from "@detent/durable"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { SqlClient } from "effect/sql/SqlClient"
import { writeItemFile } from "../src/generate/index.ts"
import { Posts } from "../src/generate/Post.ts"
import { loadItemWorkflow, readDefinition, Uploads } from "../src/index.ts"
import { itemInstanceId } from "../src/item/ItemEntity.ts"
import { databases } from "./support/Databases.ts"
import { makeDesk, story } from "./support/Desk.ts"

const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** The bytes of some items, in pieces that others get in between of. */
const sent = (items: ReadonlyArray<object>) => {
  const text = Buffer.from(JSON.stringify(items))
  const pieces = Array.from({ length: Math.ceil(text.length / 50) }, (_, piece) => text.subarray(piece * 50, piece * 50 + 50))
  return Stream.mapEffect(Stream.fromIterable(pieces), (piece) => Effect.as(turn, piece))
}

describe.each(databases)("$name", (database) => {
  it.effect("two who send different files as the same batch at once: one gets an error, the file of the other is whole", () =>
    Effect.gen(function* () {
      const { folder, run } = yield* makeDesk(database)
      const inbox = `${folder}/inbox`
      const files = [10, 20].map((from) => Array.from({ length: 9 }, (_, index) => story(from + index)))
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const outcomes = yield* Effect.all(
            files.map((items) => Effect.result(uploads.receive(sent(items), { fileName: "sent.json", batchId: "same" }))),
            { concurrency: "unbounded" },
          )
          expect(outcomes.map((one) => (one._tag === "Success" ? "begun" : one.failure._tag)).toSorted()).toEqual(["BatchExists", "begun"])
          const { batch, state, items } = yield* uploads.finished("same")
          expect([state, items.stored]).toEqual(["completed", 9])
          expect(readdirSync(inbox)).toEqual([basename(batch.filePath)])
          expect(files.map((one) => JSON.stringify(one))).toContain(readFileSync(batch.filePath, "utf8"))
        }),
        { folder: inbox },
      )
    }),
  )

  it.effect("several requests that send the same file at once: one begins its batch, the others get the same error", () =>
    Effect.gen(function* () {
      const { folder, run } = yield* makeDesk(database)
      const inbox = `${folder}/inbox`
      const items = [story(1), story(2)]
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const outcomes = yield* Effect.all(
            Array.from({ length: 6 }, () => Effect.result(uploads.receive(sent(items), { fileName: "sent.json" }))),
            { concurrency: "unbounded" },
          )
          const begun = outcomes.flatMap((one) => (one._tag === "Success" ? [one.success.batchId] : []))
          expect(begun).toHaveLength(1)
          const refused = outcomes.flatMap((one) => (one._tag === "Success" ? [] : [one.failure]))
          for (const one of refused) expect(one).toMatchObject({ _tag: "AlreadyUploaded", batchId: begun[0], file: "sent.json" })
          const { batch, state } = yield* uploads.finished(begun[0] ?? "")
          expect(state).toBe("completed")
          expect(readdirSync(inbox)).toEqual([basename(batch.filePath)])
        }),
        { folder: inbox },
      )
    }),
  )

  it.effect("a client that disconnects when its batch has begun leaves a batch with its file", () =>
    Effect.gen(function* () {
      const { folder, run } = yield* makeDesk(database)
      const hasBegun = (batchId: string) =>
        Effect.flatMap(Uploads, (uploads) => Effect.match(uploads.status(batchId), { onSuccess: () => true, onFailure: () => false }))
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          for (let index = 0; index < 5; index++) {
            const batchId = `gone-${index}`
            const items = [story(10 * index + 1), story(10 * index + 2)]
            const sending = yield* Effect.forkChild(uploads.receive(sent(items), { fileName: "sent.json", batchId }))
            while (!(yield* hasBegun(batchId))) yield* turn
            yield* Fiber.interrupt(sending)
            const { state, batch } = yield* uploads.finished(batchId)
            expect([state, existsSync(batch.filePath)]).toEqual(["completed", true])
          }
        }),
        { folder: `${folder}/inbox` },
      )
    }),
  )

  it.effect("an id that would lead out of the folder names a file in it", () =>
    Effect.gen(function* () {
      const { folder, run } = yield* makeDesk(database)
      const inbox = `${folder}/inbox`
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          for (const [index, batchId] of ["..", ".", "../../up", "a/b", "x".repeat(400)].entries()) {
            yield* uploads.receive(sent([story(index + 1)]), { fileName: "sent.json", batchId })
            expect((yield* uploads.finished(batchId)).state).toBe("completed")
          }
          expect(readdirSync(inbox)).toHaveLength(5)
          expect(readdirSync(folder)).toEqual(["inbox"])
        }),
        { folder: inbox },
      )
    }),
  )

  it.effect("bytes that cannot be stored fail the request, and leave no batch", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      const notFolder = file("taken", "a file where the folder should be")
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const refused = yield* Effect.flip(uploads.receive(sent([story(1)]), { fileName: "sent.json", batchId: "a" }))
          expect(refused).toMatchObject({ _tag: "FileUnreadable", while: "receiving" })
          expect(refused.message).toContain("sent.json cannot be stored")
          expect((yield* uploads.batches()).batches).toEqual([])
        }),
        { folder: notFolder },
      )
    }),
  )

  it.effect("a batch that was entered and not begun is begun by the next request that sends its file", () =>
    Effect.gen(function* () {
      const { folder, run } = yield* makeDesk(database)
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const first = yield* uploads.receive(sent([story(1)]), { fileName: "a.json", batchId: "a" })
          yield* uploads.finished("a")
          const sql = yield* SqlClient
          const table = sql.literal(database.name === "SQLite" ? "detent_upload_batches" : "detent.upload_batches")
          const flag = database.name === "SQLite" ? 0 : false
          const md5 = first.batch.fileMd5Hash
          yield* sql`insert into ${table} (batch_id, kind, file_name, md5, original, created_at, updated_at) values ('b', 'Posts', 'x', ${md5}, ${flag}, 0, 0)`
          yield* uploads.receive(sent([story(1)]), { fileName: "a.json", batchId: "b" })
          expect((yield* uploads.finished("b")).items).toMatchObject({ stored: 1 })
          expect(yield* Effect.flip(uploads.receive(sent([story(1)]), { fileName: "a.json", batchId: "b" }))).toMatchObject({
            _tag: "BatchExists",
          })
        }),
        { folder: `${folder}/inbox` },
      )
    }),
  )

  it.effect("the same file twice at once on purpose: two whole batches, every item there once", () =>
    Effect.gen(function* () {
      const { folder, run } = yield* makeDesk(database)
      const path = `${folder}/items.json`
      yield* Effect.promise(() => writeItemFile(path, { items: 5000, bad: { duplicate: 0.01 }, seed: 3 }))
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const finishing = Effect.flatMap(uploads.start(path, { force: true }), ({ batchId }) => uploads.finished(batchId))
          const both = yield* Effect.all([finishing, finishing, finishing], { concurrency: "unbounded" })
          expect(new Set(both.map(({ batchId }) => batchId)).size).toBe(3)
          for (const { items } of both) expect(items).toEqual(both[0]?.items)
          const table = database.name === "SQLite" ? "detent_upload_items" : "detent.upload_items"
          const sql = yield* SqlClient
          const [count] = yield* sql.unsafe<{ readonly count: number | bigint }>(`select count(*) as count from ${table}`)
          expect(Number(count?.count)).toBe(both[0]?.items.stored)
        }),
      )
    }),
  )

  /** The instance of an item decides as in a retry that was cut off before it was entered. */
  const decideOnly = (batchId: string, index: number, reading: { readonly itemId: string }) =>
    Effect.gen(function* () {
      const { machine, trigger } = yield* loadItemWorkflow(readDefinition("upload-item.json"))
      const engine = yield* Engine
      const instance = Option.getOrThrow(yield* engine.get(machine, itemInstanceId(batchId, index)))
      yield* instance.send(trigger("retry_item", { argument: reading }))
      expect((yield* instance.state)._tag).toBe("stored")
    })

  it.effect("an item that was decided and not entered is stored, though its check has changed its mind since", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      let checked = 0
      const check = ({ id }: { readonly id: number }) => (id === 2 ? `refused for the ${++checked}th time` : undefined)
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const posts = uploads.of(Posts)
          const { batchId } = yield* uploads.start(file("a.json", [story(1), story(2)]))
          expect(yield* uploads.finished(batchId)).toMatchObject({ items: { stored: 1, failed: 1 } })
          yield* decideOnly(batchId, 1, { itemId: "2" })
          yield* uploads.retryFailed(batchId)
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "completed", items: { stored: 2, failed: 0 } })
          expect(Option.getOrThrow(yield* posts.item(2)).item.title).toBe("Story 2")
        }),
        { uploads: [Posts.with({ check })] },
      )
    }),
  )

  it.effect("an item that was decided and not entered gives way to one that has been stored under its id since", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const posts = uploads.of(Posts)
          const { batchId } = yield* uploads.start(file("a.json", [story(1), {}, {}]))
          yield* uploads.finished(batchId)
          for (const index of [1, 2]) yield* uploads.correct(batchId, index, story(7, { title: `seven ${index}` }))
          yield* decideOnly(batchId, 2, { itemId: "7" })
          yield* uploads.retryFailed(batchId)
          const second = yield* uploads.finished(batchId)
          expect(second).toMatchObject({ state: "partially_completed", items: { stored: 2, failed: 1 } })
          expect(second.batch.errorSummary?.groups).toMatchObject([{ reason: "duplicate", examples: [{ index: 2 }] }])
          expect(Option.getOrThrow(yield* posts.item(7)).item.title).toBe("seven 1")
          yield* uploads.correct(batchId, 2, story(8))
          yield* uploads.retryFailed(batchId)
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "completed", items: { stored: 3, failed: 0 } })
        }),
      )
    }),
  )

  it.effect("what is being tried again cannot be corrected, so that no correction is lost", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(file("a.json", [story(1), { id: 2 }]))
          yield* uploads.finished(batchId)
          const sql = yield* SqlClient
          const table = sql.literal(database.name === "SQLite" ? "detent_upload_entries" : "detent.upload_entries")
          yield* sql`update ${table} set state = 'processing' where item_index = 1`
          const refused = yield* Effect.flip(uploads.correct(batchId, 1, story(2)))
          expect(refused).toMatchObject({ _tag: "ItemNotFailed" })
          expect(refused.message).toContain("is being retried")
        }),
      )
    }),
  )
})
