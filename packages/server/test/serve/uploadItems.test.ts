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
