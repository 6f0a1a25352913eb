import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { corpusFolder, smallManifest } from "../support/manifest.ts"
import { batchEnded, request, served } from "../support/served.ts"

describe("the export of a graph over HTTP", () => {
  it.live("has named graphs as N-Quads, and facts without their sources where asked", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      const manifest = { ...smallManifest, documents: [{ source: "documents/books.json" }] } as never
      const { batchId } = yield* client.batches.start({ headers: {}, payload: { folder: corpusFolder, manifest } })
      yield* batchEnded(client, batchId)
      const exported = (query: string) => request(`${url}/api/v1/knowledge/${smallManifest.targetNamespace}/export?${query}`)
      const quads = yield* exported("format=nquads&factsOnly=true")
      assert.strictEqual(quads.headers.get("content-type"), "application/n-quads; charset=utf-8")
      const lines = quads.text.trim().split("\n")
      assert.isTrue(lines.some((line) => / <urn:detent:document:doc-[0-9a-f]{12}> \.$/.test(line)))
      assert.isFalse(quads.text.includes("urn:detent:statement:"))
      const facts = yield* exported("format=ntriples&factsOnly=true")
      const all = yield* exported("format=ntriples")
      assert.notInclude(facts.text, "urn:detent:statement:")
      assert.notInclude(facts.text, "urn:detent:document:")
      assert.isTrue(
        facts.text
          .trim()
          .split("\n")
          .every((line) => all.text.includes(line)),
      )
    }),
  )
})
