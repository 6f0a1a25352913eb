import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { encodingOf } from "../../src/serve/Compression.ts"
import { request, served } from "../support/served.ts"

describe("a large answer", () => {
  it.live("is compressed as the client takes it; a small one and a live stream are not", () =>
    Effect.gen(function* () {
      const { url, client } = yield* served()
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
      const plain = yield* request(`${url}/openapi.json`, { headers: { "accept-encoding": "identity" } })
      assert.isNull(plain.headers.get("content-encoding"))
      assert.strictEqual(plain.headers.get("vary"), "accept-encoding")
      for (const encoding of ["br", "gzip"]) {
        const answer = yield* request(`${url}/openapi.json`, { headers: { "accept-encoding": encoding } })
        assert.strictEqual(answer.headers.get("content-encoding"), encoding)
        assert.isBelow(Number(answer.headers.get("content-length")), plain.text.length / 5)
        assert.strictEqual(answer.text, plain.text)
        assert.strictEqual(answer.type, plain.type)
      }
      const small = yield* request(`${url}/api/v1/instances/tally/one`, { headers: { "accept-encoding": "br" } })
      assert.isNull(small.headers.get("content-encoding"))
      const stream = yield* Effect.promise(async () => {
        const abort = new AbortController()
        const response = await fetch(`${url}/api/v1/instances/tally/one/events`, { signal: abort.signal })
        abort.abort()
        return response.headers
      })
      assert.isNull(stream.get("content-encoding"))
    }),
  )

  it("takes the best encoding that the client has not refused", () => {
    assert.strictEqual(encodingOf("gzip, deflate, br"), "br")
    assert.strictEqual(encodingOf("br;q=0, gzip;q=0.5"), "gzip")
    assert.strictEqual(encodingOf("GZIP"), "gzip")
    assert.isUndefined(encodingOf("deflate, identity"))
    assert.isUndefined(encodingOf(undefined))
  })
})
