import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { corpusFolder, smallManifest } from "../support/manifest.ts"
import { batchEnded, request, served } from "../support/served.ts"

const operate = Redacted.make("operate-0123456789abcdef0123456789abcdef")
const read = Redacted.make("read-0123456789abcdef0123456789abcdef")

describe("questions over HTTP", () => {
  it.live("are answered with facts and their words, and a model is asked only by the role operate", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served({ serve: { token: operate, readToken: read } })
      const documents = [{ source: "documents/books.json" }]
      const { batchId } = yield* client.batches.start({
        headers: {},
        payload: { folder: corpusFolder, manifest: { ...smallManifest, documents } as never },
      })
      yield* batchEnded(client, batchId)
      const params = { namespace: smallManifest.targetNamespace as never }
      const { relations } = yield* client.knowledge.relations({ params, query: { limit: 1 } })
      const name = relations[0]?.subjectLabel ?? ""
      const question = `What is known of ${name}?`
      const found = yield* client.knowledge.bearing({ params, query: { question, limit: 3 } })
      assert.isAbove(found.facts.length, 0)
      assert.isUndefined(found.said)
      for (const fact of found.facts) {
        const { text, from } = yield* client.knowledge.documentText({
          params: { ...params, documentId: fact.documentId as never },
          query: { start: fact.start, end: fact.end },
        })
        assert.strictEqual(text.slice(fact.start - from, fact.end - from), fact.quote)
      }
      const post = (token: typeof read, body: object) =>
        request(`${url}/api/v1/knowledge/${smallManifest.targetNamespace}/answers`, {
          method: "POST",
          headers: { authorization: `Bearer ${Redacted.value(token)}`, "content-type": "application/json" },
          body: JSON.stringify(body),
        })
      assert.strictEqual((yield* post(read, { question })).status, 403)
      assert.strictEqual((yield* post(operate, { question, model: "mine" })).status, 400)
      // The server's extractor is the built-in one, which says nothing of its own.
      const answer = yield* post(operate, { question, limit: 3 })
      assert.deepStrictEqual(JSON.parse(answer.text), JSON.parse(JSON.stringify(found)))
    }),
  )
})
