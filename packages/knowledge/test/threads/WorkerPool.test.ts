import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as BuiltIn from "../../src/extract/builtin/BuiltIn.ts"
import * as PooledBuiltIn from "../../src/extract/builtin/PooledBuiltIn.ts"
import { Extractor, type ExtractorService } from "../../src/extract/Extractor.ts"
import { loadOnWorker } from "../../src/ontology/OntologyLoading.ts"
import { WorkerPool } from "../../src/threads/WorkerPool.ts"
import { examples, ontology } from "../extract/builtin/observatory.ts"
import { turtle } from "../ontology/library.ts"

describe("ontologies on workers", () => {
  const index = (text: string) => Effect.provide(loadOnWorker({ name: "library.ttl", text }), WorkerPool.layer({ size: 1 }))

  it.live("are read as without", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* index(turtle)).classes.size, 7)
      const error = yield* Effect.flip(index("oops"))
      assert.strictEqual(error._tag, "OntologySyntaxError")
      assert.match(error.message, /library\.ttl, line 1: no valid Turtle/)
    }),
  )
})

describe("the built-in extractor on workers", () => {
  const texts = [
    "Comet Tavi was discovered by Joan Ek on 7 July 1988.",
    "Sor Observatory is located in Lisbon. It is directed by Vera Moor, who was born in Portugal.",
    "The Owl Telescope was built by Holm Works.",
    "telescope: Wren\nmirror diameter: 0.9\n",
  ]

  const extracted = (extractor: ExtractorService) =>
    Effect.gen(function* () {
      const index = yield* ontology
      return yield* Effect.forEach(
        [...texts, ...texts].map((text, at) => ({ index: at, text, offset: at * 100 })),
        (chunk) =>
          Effect.gen(function* () {
            const { mentions } = yield* extractor.entities(chunk, index)
            return { mentions, facts: (yield* extractor.facts(chunk, mentions, index)).facts }
          }),
        { concurrency: 4 },
      )
    })

  it.live("finds the same as without, whatever the number of workers", () =>
    Effect.gen(function* () {
      const alone = yield* extracted(BuiltIn.make({ examples }))
      assert.isAbove(alone.flatMap(({ facts }) => facts).length, 10)
      for (const size of [1, 3]) {
        const layer = PooledBuiltIn.layer({ examples }).pipe(Layer.provide(WorkerPool.layer({ size })))
        const pooled = yield* Effect.flatMap(Extractor, extracted).pipe(Effect.provide(layer))
        assert.deepStrictEqual(pooled, alone)
      }
    }),
  )
})
