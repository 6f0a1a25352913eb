import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { defineUpload, Items } from "@detent/uploads"
import { writeItemFile } from "@detent/uploads/generate"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { request, served, temporaryFolder } from "../support/served.ts"

const items = (count: number, bad: Record<string, number> = {}) =>
  Effect.gen(function* () {
    const file = join(yield* temporaryFolder, "items.json")
    yield* Effect.promise(() => writeItemFile(file, { items: count, bad }))
    return yield* Effect.promise(() => readFile(file))
  })

const form = (bytes: Uint8Array<ArrayBuffer> | string, name = "items.json") => {
  const body = new FormData()
  body.append("note", "before the file")
  body.append("file", new Blob([bytes], { type: "application/json" }), name)
  return body
}

/** The files of uploads, those included that are only read once. */
const filesIn = async (data: string) => {
  const entries = await readdir(join(data, "uploads"), { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
}

const send = (url: string, body: FormData, headers: Record<string, string> = {}) =>
  request(`${url}/api/v1/uploads`, { method: "POST", body, headers })

describe("uploads over HTTP", () => {
  it.live("under one Idempotency-Key are of one kind", () =>
    Effect.gen(function* () {
      const Things = defineUpload({ name: "Things", schema: Schema.Struct({ id: Schema.Int }), id: "id" })
      const { url } = yield* served({ uploads: { uploads: [Items, Things] } })
      const bytes = yield* items(3)
      const sendAs = (kind: string) =>
        request(`${url}/api/v1/uploads?kind=${kind}`, { method: "POST", body: form(bytes), headers: { "idempotency-key": "k" } })
      assert.strictEqual((yield* sendAs("Items")).status, 202)
      assert.strictEqual((yield* sendAs("Items")).status, 202)
      assert.strictEqual((yield* sendAs("Things")).status, 422)
    }),
  )

  it.live("take a file, store its items, and retry what failed once it is corrected", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      const answer = yield* send(url, form(yield* items(200, { missing_id: 0.05 })))
      assert.strictEqual(answer.status, 202)
      const { batchId } = JSON.parse(answer.text)
      const resting = Effect.repeat(client.uploads.get({ params: { batchId } }), {
        until: ({ isResting, state }) => isResting && state !== "uploaded",
        schedule: Schedule.spaced("50 millis"),
      })
      const status = yield* resting
      assert.strictEqual(status.state, "partially_completed")
      assert.strictEqual(status.items.stored + status.items.failed, 200)
      assert.strictEqual(status.errors[0]?.reason, "missing_id")
      const { items: failed } = yield* client.uploads.items({ params: { batchId }, query: { state: "failed", limit: 1000 } })
      assert.strictEqual(failed.length, status.items.failed)
      for (const { index } of failed) {
        yield* client.uploads.correct({
          params: { batchId, index },
          payload: { id: 1_000_000 + index, type: "comment", by: "editor", text: "repaired" },
        })
      }
      const { items: corrected } = yield* client.uploads.items({ params: { batchId }, query: { state: "failed", limit: 1000 } })
      assert.isTrue(corrected.length > 0 && corrected.every(({ correctedAt }) => correctedAt !== undefined))
      yield* client.uploads.retry({ params: { batchId } })
      assert.strictEqual((yield* resting).items.stored, 200)
      const retried = yield* Effect.flip(client.uploads.retry({ params: { batchId } }))
      assert.include(retried.message, `upload ${batchId} is complete: all 200 items are stored`)
      const { items: found } = yield* client.uploads.searchKind({ params: { kind: "Items" }, query: { text: "repaired", limit: 1000 } })
      assert.strictEqual(found.length, failed.length)
      const { uploads } = yield* client.uploads.list({ query: {} })
      assert.deepStrictEqual(
        uploads.map((one) => one.fileName),
        ["items.json"],
      )
    }),
  )

  it.live("111 the same Idempotency-Key is the same upload, and the same file without one is refused", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      const bytes = yield* items(20)
      const headers = { "idempotency-key": "upload-1" }
      const first = yield* send(url, form(bytes), headers)
      const second = yield* send(url, form(bytes), headers)
      assert.deepStrictEqual([first.status, second.status], [202, 202])
      assert.strictEqual(JSON.parse(first.text).batchId, JSON.parse(second.text).batchId)
      const third = yield* send(url, form(bytes))
      assert.strictEqual(third.status, 409)
      assert.include(JSON.parse(third.text).detail, "was uploaded before")
      assert.strictEqual((yield* client.uploads.list({ query: {} })).uploads.length, 1)
    }),
  )

  it.live("under one Idempotency-Key are one file: another one is refused, also when both come at once", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      const bytes = yield* items(20)
      const other = yield* items(21)
      const headers = { "idempotency-key": "upload-1" }
      assert.strictEqual((yield* send(url, form(bytes), headers)).status, 202)
      const refused = yield* send(url, form(other), headers)
      assert.deepStrictEqual([refused.status, JSON.parse(refused.text).type], [422, "urn:detent:problem:RequestKeyTaken"])
      assert.strictEqual((yield* client.uploads.list({ query: {} })).uploads.length, 1)
      const third = yield* items(22)
      const fourth = yield* items(23)
      const both = yield* Effect.all(
        [third, fourth].map((one) => send(url, form(one), { "idempotency-key": "upload-2" })),
        { concurrency: 2 },
      )
      assert.deepStrictEqual(both.map(({ status }) => status).sort(), [202, 422])
    }),
  )

  it.live.each([
    ["a form without a file", () => new FormData(), 422, "FileMissing"],
    ["a file that is not JSON", () => form("%PDF-1.7", "items.pdf"), 415, "UnsupportedContentType"],
  ] as const)("refuse %s", ([, body, status, kind]) =>
    Effect.gen(function* () {
      const { url } = yield* served()
      const form = body()
      if (kind === "FileMissing") form.append("note", "nothing else")
      const answer = yield* send(url, form)
      const problem = JSON.parse(answer.text)
      assert.deepStrictEqual([answer.status, answer.type], [status, "application/problem+json"])
      assert.strictEqual(problem.type, `urn:detent:problem:${kind}`)
    }),
  )

  it.live("keep nothing of a file that is too large, and name no file after what a client calls it", () =>
    Effect.gen(function* () {
      const { url, data } = yield* served({ uploads: { maxFileBytes: 10_000 } })
      const answer = yield* send(url, form(yield* items(500)))
      assert.deepStrictEqual([answer.status, answer.type], [413, "application/problem+json"])
      const good = yield* send(url, form(yield* items(5), "../../../escaped.json"))
      assert.strictEqual(good.status, 202)
      const kept = yield* Effect.promise(() => filesIn(data))
      assert.strictEqual(kept.length, 1)
      assert.isTrue(kept[0]?.startsWith(JSON.parse(good.text).batchId))
    }),
  )

  it.live("refuse a file by the content type of its part, and take one by it", () =>
    Effect.gen(function* () {
      const { url } = yield* served()
      const bytes = yield* items(3)
      const typed = (type: string) => {
        const body = new FormData()
        body.append("file", new Blob([bytes], { type }), "items.json")
        return body
      }
      const refused = yield* send(url, typed("text/html"))
      assert.deepStrictEqual([refused.status, JSON.parse(refused.text).type], [415, "urn:detent:problem:UnsupportedContentType"])
      assert.include(JSON.parse(refused.text).detail, "items.json is text/html; upload CSV")
      assert.strictEqual((yield* send(url, typed("application/octet-stream"))).status, 202)
    }),
  )

  it.live("refuse a file that was damaged on its way", () =>
    Effect.gen(function* () {
      const { url } = yield* served()
      const answer = yield* request(`${url}/api/v1/uploads?md5=${"0".repeat(32)}`, { method: "POST", body: form(yield* items(3)) })
      assert.deepStrictEqual([answer.status, JSON.parse(answer.text).type], [422, "urn:detent:problem:FileDamaged"])
    }),
  )

  it.live("are streamed live until they rest, and a client that reconnects gets 204", () =>
    Effect.gen(function* () {
      const { url } = yield* served()
      const { batchId } = JSON.parse((yield* send(url, form(yield* items(6000)))).text)
      const stream = yield* request(`${url}/api/v1/uploads/${batchId}/events`)
      assert.deepStrictEqual([stream.status, stream.type], [200, "text/event-stream"])
      const statuses = [...stream.text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? ""))
      assert.deepInclude(statuses.at(-1), { batchId, state: "completed", isResting: true })
      assert.isTrue(statuses.slice(0, -1).every(({ isResting }) => isResting === false))
      const again = yield* request(`${url}/api/v1/uploads/${batchId}/events`, { headers: { "last-event-id": "1" } })
      assert.strictEqual(again.status, 204)
      const later = yield* request(`${url}/api/v1/uploads/${batchId}/events`)
      assert.include(later.text, "event: status")
    }),
  )

  it.live("tell the history of an item, refuse a correction that does not help, and show why one was cancelled", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      const { batchId } = JSON.parse((yield* send(url, form(JSON.stringify([{ id: 1, type: "story" }, { type: "job" }])))).text)
      yield* Effect.repeat(client.uploads.get({ params: { batchId } }), {
        until: ({ isResting, state }) => isResting && state !== "uploaded",
        schedule: Schedule.spaced("20 millis"),
      })
      const item = yield* client.uploads.history({ params: { batchId, index: 0 } })
      assert.deepStrictEqual(
        item.history.map(({ state }) => state),
        ["ingested", "validated", "stored"],
      )
      const refused = yield* Effect.flip(client.uploads.correct({ params: { batchId, index: 1 }, payload: { type: "story" } }))
      assert.include(refused.message, "would fail again (missing_id): it has no id")
      const cancelled = yield* client.uploads.cancel({ params: { batchId }, query: { reason: "wrong file" } })
      assert.deepInclude(cancelled, { state: "failed", canRetry: true, problem: "it was cancelled: wrong file" })
      assert.strictEqual(cancelled.failure?.cancelled, true)
    }),
  )

  it.live.each([
    ["small", 2],
    ["large", 40_000],
  ] as const)("refuse a part after a %s file, and store nothing of it", ([, rows]) =>
    Effect.gen(function* () {
      const Products = defineUpload({ name: "Products", schema: Schema.Struct({ sku: Schema.String }), id: "sku" })
      const { client, url, data } = yield* served({ uploads: { uploads: [Products] } })
      const csv = `Nr,Code\n${Array.from({ length: rows }, (_, row) => `number ${row},code ${row}\n`).join("")}`
      const mapping = (column: string) => ({ fields: [{ field: "sku", column }] })
      yield* client.uploads.keepMapping({ params: { kind: "Products" }, payload: mapping("Nr") })
      const sent = (path: string, name: string) => {
        const body = new FormData()
        body.append("file", new Blob([csv], { type: "text/csv" }), "products.csv")
        body.append(name, JSON.stringify(mapping("Code")))
        return request(`${url}/api/v1/${path}?kind=Products`, { method: "POST", body })
      }
      for (const path of ["uploads", "uploads/preview", "upload-plans"])
        for (const name of ["mapping", "note"]) {
          const refused = yield* sent(path, name)
          assert.deepStrictEqual([path, refused.status, JSON.parse(refused.text).type], [path, 422, "urn:detent:problem:PartAfterFile"])
          assert.include(JSON.parse(refused.text).detail, `the part "${name}" of the form comes after its file`)
          assert.include(JSON.parse(refused.text).detail, "send it before the file")
        }
      assert.deepStrictEqual((yield* client.uploads.list({ query: {} })).uploads, [])
      assert.deepStrictEqual(yield* Effect.promise(() => filesIn(data)), [])
    }),
  )

  it.live("are previewed by a mapping, which is kept for the kind, and mapped by it", () =>
    Effect.gen(function* () {
      const Products = defineUpload({
        name: "Products",
        schema: Schema.Struct({ sku: Schema.String, price: Schema.Finite }),
        id: "sku",
      })
      const { client, url, data } = yield* served({ uploads: { uploads: [Products] } })
      const params = { kind: "Products" }
      const csv = 'Nr;Preis\n1;"12,50 EUR"\n2;viel\n'
      const mapped = (mapping: string | undefined) => {
        const body = new FormData()
        if (mapping !== undefined) body.append("mapping", mapping)
        body.append("file", new Blob([csv], { type: "text/csv" }), "products.csv")
        return body
      }
      const preview = (mapping?: string, query = "") =>
        request(`${url}/api/v1/uploads/preview${query}`, { method: "POST", body: mapped(mapping) })
      const proposed = JSON.parse((yield* preview()).text)
      assert.deepInclude(proposed, { source: "proposed", failing: 1, columns: ["Nr", "Preis"], missing: [], unused: [] })
      assert.deepStrictEqual(proposed.rows[0].item, { sku: "1", price: 12.5 })
      assert.deepStrictEqual(JSON.parse((yield* preview("none", "?rows=1")).text).rows.length, 1)
      const wrong = { fields: [{ field: "prise", column: "Preis" }] }
      const problem = "there is no such field: prise is not known; did you mean price?"
      assert.deepStrictEqual(JSON.parse((yield* preview(JSON.stringify(wrong))).text).problems, [problem])
      for (const mapping of ["{", '{"fields":[{"feld":"x"}]}']) {
        const refused = yield* preview(mapping)
        assert.deepStrictEqual([refused.status, refused.text.includes("its mapping does not fit")], [400, true])
      }
      const refused = yield* send(url, mapped(JSON.stringify(wrong)))
      assert.deepStrictEqual([refused.status, refused.text.includes(problem)], [422, true])
      assert.include(String(yield* Effect.flip(client.uploads.keepMapping({ params, payload: wrong }))), problem)
      assert.deepStrictEqual((yield* client.uploads.list({ query: {} })).uploads, [])
      assert.deepStrictEqual(yield* Effect.promise(() => filesIn(data)), [])
      assert.deepStrictEqual(yield* client.uploads.mapping({ params }), { kind: "Products" })
      yield* client.uploads.keepMapping({ params, payload: proposed.mapping })
      assert.deepInclude(yield* client.uploads.mapping({ params }), { mapping: proposed.mapping })
      assert.strictEqual(JSON.parse((yield* preview()).text).source, "kept")
      const { batchId } = JSON.parse((yield* send(url, mapped(undefined))).text)
      const status = yield* Effect.repeat(client.uploads.get({ params: { batchId } }), {
        until: ({ isResting, state }) => isResting && state !== "uploaded",
        schedule: Schedule.spaced("20 millis"),
      })
      assert.deepInclude(status, { mappingSource: "kept", mapping: proposed.mapping })
      assert.deepInclude(status.items, { stored: 1, failed: 1 })
      yield* client.uploads.forgetMapping({ params })
      assert.deepStrictEqual(yield* client.uploads.mapping({ params }), { kind: "Products" })
    }),
  )

  it.live("take items of a kind of your own, and find them by words and fields", () =>
    Effect.gen(function* () {
      const Products = defineUpload({
        name: "Products",
        schema: Schema.Struct({ sku: Schema.String, title: Schema.String, brand: Schema.String }),
        id: "sku",
        index: { text: ["title"], fields: ["brand"] },
      })
      const { client, url } = yield* served({ uploads: { uploads: [Products] } })
      const { kinds } = yield* client.uploads.kinds()
      assert.deepStrictEqual(
        kinds.map(({ name }) => name),
        ["Products"],
      )
      const body = form(JSON.stringify(["a", "b"].map((sku) => ({ sku, title: `Lathe ${sku}`, brand: "Acme" }))))
      const answer = yield* request(`${url}/api/v1/uploads?kind=Products`, { method: "POST", body })
      const { batchId } = JSON.parse(answer.text)
      yield* Effect.repeat(client.uploads.get({ params: { batchId } }), {
        until: ({ isResting, state }) => isResting && state !== "uploaded",
        schedule: Schedule.spaced("20 millis"),
      })
      const params = { kind: "Products" }
      const found = yield* client.uploads.searchKind({ params, query: { text: "lathe", where: { brand: "Acme" }, limit: 1 } })
      assert.deepStrictEqual(
        found.items.map(({ id }) => id),
        ["b"],
      )
      const rest = yield* client.uploads.searchKind({
        params,
        query: { text: "lathe", limit: 1, ...(found.next === undefined ? {} : { after: found.next }) },
      })
      assert.deepStrictEqual(
        rest.items.map(({ item }) => item["sku"]),
        ["a"],
      )
      assert.deepInclude(yield* client.uploads.itemOfKind({ params: { kind: "Products", id: "a" } }), { id: "a", batchId, index: 0 })
      const missing = yield* Effect.flip(client.uploads.itemOfKind({ params: { kind: "Products", id: "z" } }))
      assert.include(missing.message, "no stored item of Products has the id z")
      const unknown = yield* request(`${url}/api/v1/uploads?kind=Nothing`, { method: "POST", body: form("[]") })
      assert.deepStrictEqual([unknown.status, JSON.parse(unknown.text).type], [404, "urn:detent:problem:UploadUnknown"])
    }),
  )
})
