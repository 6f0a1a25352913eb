/** The body of a request to start a batch, where it names many documents. */

import { StartManifest } from "@detent/api/BatchApi"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { decodingManifest } from "../../src/batches/StartBody.ts"

const decode = decodingManifest(Schema.toCodecJson(StartManifest))

const bodyOf = (documents: ReadonlyArray<object>) => ({ manifest: { targetNamespace: "coast", ontology: "coast.ttl", documents } })

const sources = Array.from({ length: 20_000 }, (_, number) => ({ source: `documents/letter-${number}.txt` }))

describe("a body that names 20,000 documents", () => {
  it.live("is decoded with turns for other requests, as it was sent", () =>
    Effect.gen(function* () {
      let turns = 0
      let isOver = false
      const turn = () => {
        turns++
        if (!isOver) setImmediate(turn)
      }
      setImmediate(turn)
      const decoded = yield* decode(bodyOf(sources))
      isOver = true
      assert.deepStrictEqual<object>(decoded, bodyOf(sources))
      assert.isAbove(turns, 10)
    }),
  )

  it.live("is refused where one has a key that is not known, with its place", () =>
    Effect.gen(function* () {
      const wrong = sources.map((document, number) => (number === 12_003 ? { ...document, contentTyp: "text/plain" } : document))
      const problem = yield* Effect.flip(decode(bodyOf(wrong)))
      assert.match(problem, /^in the documents from index 12000 on: .*3.*contentTyp/)
    }),
  )
})
