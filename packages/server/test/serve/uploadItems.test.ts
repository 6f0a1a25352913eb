import { defineUpload, Items } from "@detent/uploads"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { request, type Served, useServed } from "../support/served.ts"

const Things = defineUpload({
  name: "Things",
  schema: Schema.Struct({ sku: Schema.String, title: Schema.String, more: Schema.optionalKey(Schema.Json) }),
  id: "sku",
  index: { text: ["title"] },
})

const Loose = defineUpload({ name: "Loose", schema: Schema.Struct({ sku: Schema.String, more: Schema.Unknown }), id: "sku" })

const nested = (depth: number): string => `${"[".repeat(depth)}1${"]".repeat(depth)}`

const upload = ({ url, client }: Served, text: string, kind = "Things") =>
  Effect.gen(function* () {
    const body = new FormData()
    body.append("file", new Blob([text], { type: "application/x-ndjson" }), "items.jsonl")
    const answer = yield* request(`${url}/api/v1/uploads?kind=${kind}&force=true`, { method: "POST", body })
    assert.strictEqual(answer.status, 202, answer.text)
    const { batchId } = JSON.parse(answer.text)
    yield* Effect.repeat(client.uploads.get({ params: { batchId } }), {
      until: ({ isResting, state }) => isResting && state !== "uploaded",
      schedule: Schedule.spaced("50 millis"),
    })
    return batchId as string
  })

const get = (url: string) => Effect.map(request(url), ({ status, text }) => ({ status, body: JSON.parse(text) }))

describe("items of uploads over HTTP", () => {
  const running = useServed({ uploads: { uploads: [Things, Loose, Items] } })

  it.live("have no source where a later upload has replaced the stored item", () =>
    Effect.gen(function* () {
      const server = yield* running
      const first = yield* upload(server, '{"sku":"R","title":"first version"}')
      const sourceOf = (batchId: string, index: number) =>
        Effect.map(get(`${server.url}/api/v1/uploads/${batchId}/items/${index}`), ({ body }) => body.source)
      assert.deepStrictEqual(JSON.parse(yield* sourceOf(first, 0)), { sku: "R", title: "first version" })
      const second = yield* upload(server, '{"sku":"Q","title":"another"}\n{"sku":"R","title":"second version"}')
      assert.strictEqual(yield* sourceOf(first, 0), undefined)
      assert.deepStrictEqual(JSON.parse(yield* sourceOf(second, 1)), { sku: "R", title: "second version" })
    }),
  )

  it.live("that are nested too deeply fail with that problem, and others can be read again", () =>
    Effect.gen(function* () {
      const server = yield* running
      for (const kind of ["Things", "Loose"]) {
        const depths = [400, 600, 2_000, 5_000, 100_000]
        const items = depths.map((depth) => `{"sku":"${kind}-${depth}","title":"x","more":${nested(depth)}}`)
        const batchId = yield* upload(server, items.join("\n"), kind)
        const { items: failed } = (yield* get(`${server.url}/api/v1/uploads/${batchId}/items?state=failed`)).body
        assert.strictEqual(failed.length, 4)
        for (const { problem } of failed) assert.include(problem.message, "nested too deeply")
        for (const index of depths.keys())
          assert.strictEqual((yield* get(`${server.url}/api/v1/uploads/${batchId}/items/${index}`)).status, 200)
        assert.strictEqual((yield* get(`${server.url}/api/v1/upload-kinds/${kind}/items/${kind}-400`)).status, 200)
        assert.strictEqual((yield* get(`${server.url}/api/v1/upload-kinds/${kind}/items`)).status, 200)
      }
    }),
  )

  it.live("are not corrected with content that is nested too deeply", () =>
    Effect.gen(function* () {
      const server = yield* running
      const batchId = yield* upload(server, '{"sku":"a","title":"x"}\n{"sku":"b","title":1}')
      const correct = (depth: number, headers: Record<string, string> = {}) =>
        request(`${server.url}/api/v1/uploads/${batchId}/items/1`, {
          method: "PUT",
          headers: { "content-type": "application/json", ...headers },
          body: `{"sku":"b","title":"y","more":${nested(depth)}}`,
        })
      for (const depth of [600, 5_000, 20_000, 200_000]) {
        for (const headers of [{}, { "idempotency-key": `deep-${depth}` }]) {
          const answer = yield* correct(depth, headers)
          assert.include([400, 422], answer.status, `${depth} ${answer.text.slice(0, 300)}`)
          assert.include(JSON.parse(answer.text).detail, "nested too deeply")
        }
      }
      assert.strictEqual((yield* correct(400)).status, 204)
    }),
  )

  it.live("are counted by a dry run, and kept or updated by an upload", () =>
    Effect.gen(function* () {
      const { url, client } = yield* running
      const server = { url, client } as Served
      yield* upload(server, '{"sku":"p1","title":"one"}\n{"sku":"p2","title":"two"}')
      const second = '{"sku":"p1","title":"one"}\n{"sku":"p2","title":"changed"}\n{"sku":"p3","title":"three"}\n{"sku":"p4"}'
      const send = (path: string) => {
        const body = new FormData()
        body.append("file", new Blob([second]), "second.jsonl")
        return request(`${url}/api/v1/${path}`, { method: "POST", body })
      }
      const plan = yield* send("upload-plans?kind=Things")
      assert.strictEqual(plan.status, 200, plan.text)
      assert.deepInclude(JSON.parse(plan.text), { items: 4, insert: 1, update: 1, skip: 1, fail: 1, format: "json-lines, utf-8" })
      assert.deepInclude(JSON.parse((yield* send("upload-plans?kind=Things&existing=skip")).text), { insert: 1, update: 0, skip: 2 })
      assert.strictEqual((yield* send("upload-plans?kind=Nothing")).status, 404)
      const kept = JSON.parse((yield* send("uploads?kind=Things&existing=skip")).text)
      yield* Effect.repeat(client.uploads.get({ params: { batchId: kept.batchId } }), {
        until: ({ isResting, state }) => isResting && state !== "uploaded",
        schedule: Schedule.spaced("50 millis"),
      })
      assert.deepInclude((yield* get(`${url}/api/v1/upload-kinds/Things/items/p2`)).body.item, { title: "two" })
      assert.strictEqual((yield* get(`${url}/api/v1/upload-kinds/Things/items/p3`)).body.batchId, kept.batchId)
    }),
  )

  it.live("that failed are a file, and the corrected file corrects them", () =>
    Effect.gen(function* () {
      const { url, client } = yield* running
      const batchId = yield* upload({ url, client } as Served, '{"sku":"f1","title":1}\n{"sku":"f2","title":"x"}\n{"sku":"f3"}')
      const file = yield* Effect.promise(() => fetch(`${url}/api/v1/uploads/${batchId}/failures`))
      assert.deepStrictEqual(
        ["content-type", "content-disposition"].map((name) => file.headers.get(name)),
        ["text/csv; charset=utf-8; header=present", "attachment; filename*=UTF-8''items.failures.csv"],
      )
      const text = yield* Effect.promise(() => file.text())
      assert.match(text, /^detent:item,detent:line,detent:id,detent:reason,detent:problem,sku,title\n0,1,f1,invalid_field,/)
      const page = yield* request(`${url}/api/v1/uploads/${batchId}/failures?format=jsonl&after=0&limit=1`)
      assert.deepInclude(JSON.parse(page.text), { item: 2, line: 3, reason: "missing_field", content: { sku: "f3" } })
      const correct = (content: string, id = batchId) => {
        const body = new FormData()
        body.append("file", new Blob([content]), "fixed.csv")
        return request(`${url}/api/v1/uploads/${id}/corrections`, { method: "POST", body })
      }
      const wrong = yield* correct("sku,title\nf1,one\n")
      assert.strictEqual(wrong.status, 422)
      assert.include(JSON.parse(wrong.text).detail, "it has no column detent:item, which says the item of each row")
      assert.strictEqual((yield* correct("detent:item\n1\n", "batch-none")).status, 404)
      const { status, text: report } = yield* correct("detent:item,title\n0,one\n1,two\n2,three\n")
      assert.strictEqual(status, 200)
      assert.deepInclude(JSON.parse(report), { rows: 3, corrected: 2, unchanged: 0, refused: 1 })
      assert.deepInclude(JSON.parse(report).refusals[0], { line: 3, item: 1, refusal: "stored" })
      yield* client.uploads.retry({ params: { batchId } })
      yield* Effect.repeat(client.uploads.get({ params: { batchId } }), {
        until: ({ state }) => state === "completed",
        schedule: Schedule.spaced("50 millis"),
      })
      const late = yield* correct("detent:item,title\n0,one\n")
      assert.strictEqual(late.status, 409)
      assert.include(JSON.parse(late.text).detail, "there is nothing to correct")
    }),
  )

  it.live("are not searched with a text that is no cursor", () =>
    Effect.gen(function* () {
      const { url } = yield* running
      for (const after of ["x", "zzzz", "!!!"]) {
        const { status, body } = yield* get(`${url}/api/v1/upload-kinds/Things/items?after=${after}`)
        assert.strictEqual(status, 422)
        assert.strictEqual(
          body.detail,
          "the search is refused: its after is not the cursor of a page; pass the next of the previous page, unchanged",
        )
      }
    }),
  )
})
