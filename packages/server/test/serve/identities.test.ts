import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { corpusFolder, smallManifest } from "../support/manifest.ts"
import { batchEnded, request, served } from "../support/served.ts"

const operate = Redacted.make("operate-0123456789abcdef0123456789abcdef")
const read = Redacted.make("read-0123456789abcdef0123456789abcdef")

describe("decisions on entities over HTTP", () => {
  it.live("are made once for a key, listed, undone, and refused to the role read", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served({ serve: { token: operate, readToken: read } })
      const documents = [{ source: "documents/books.json" }]
      const { batchId } = yield* client.batches.start({
        headers: {},
        payload: { folder: corpusFolder, manifest: { ...smallManifest, documents } as never },
      })
      yield* batchEnded(client, batchId)
      const params = { namespace: smallManifest.targetNamespace as never }
      const { entities } = yield* client.knowledge.entities({ params, query: { limit: 2 } })
      const iris = entities.map(({ iri }) => iri)
      const path = `${url}/api/v1/knowledge/${smallManifest.targetNamespace}/identities`
      const post = (address: string, body: object, token = operate, key?: string) =>
        request(address, {
          method: "POST",
          headers: {
            authorization: `Bearer ${Redacted.value(token)}`,
            "content-type": "application/json",
            ...(key === undefined ? {} : { "idempotency-key": key }),
          },
          body: JSON.stringify(body),
        })
      const different = { kind: "different", entities: iris, reason: "two of one name" }
      assert.strictEqual((yield* post(path, different, read)).status, 403)
      assert.strictEqual((yield* post(path, { ...different, reasons: "x" })).status, 400)
      const first = yield* post(path, different, operate, "one")
      assert.strictEqual(first.status, 200)
      const decision = JSON.parse(first.text)
      assert.deepInclude(decision, { kind: "different", entities: iris, state: "applied", by: "operator", reason: "two of one name" })
      assert.deepStrictEqual(JSON.parse((yield* post(path, different, operate, "one")).text), decision)
      const unknown = yield* post(path, { kind: "split", entities: ["urn:detent:graph:coast:none"] })
      assert.strictEqual(unknown.status, 404)
      assert.include(unknown.text, "has no entity urn:detent:graph:coast:none")
      const { decisions } = yield* client.knowledge.identities({ params, query: {} })
      assert.deepStrictEqual(
        decisions.map(({ id }) => id),
        [decision.id],
      )
      const undone = yield* post(`${path}/${decision.id}/undo`, { by: "ada" })
      assert.deepInclude(JSON.parse(undone.text), { state: "undone", undoneBy: "ada" })
      const missing = yield* post(`${path}/99/undo`, {})
      assert.strictEqual(missing.status, 404)
      assert.include(missing.text, "has no decision 99")
    }),
  )
})
