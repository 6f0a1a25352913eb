import { contentHashOf } from "@detent/blobs/ContentHash"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import * as Identity from "../../src/storage/Identity.ts"

const batchId = Identity.BatchId.make("batch-0123456789ab")
const documentId = Identity.documentIdOf("file:///a.txt")

const accepts = (schema: Schema.Decoder<string>, accepted: ReadonlyArray<string>, refused: ReadonlyArray<string>) => {
  const is = Schema.is(schema)
  for (const text of accepted) assert.isTrue(is(text), `${text} is accepted`)
  for (const text of refused) assert.isFalse(is(text), `${JSON.stringify(text)} is refused`)
}

describe("ids have one exact form", () => {
  it("of a batch", () =>
    accepts(
      Identity.BatchId,
      ["batch-0123456789ab"],
      ["batch-0123456789a", "batch-0123456789AB", "batch-0123456789ab\n", "0123456789ab", "batch-../../etcab"],
    ))

  it("of a document", () => accepts(Identity.DocumentId, ["doc-0123456789ab"], ["doc-0123456789abc", "document-0123456789ab", ""]))

  it("of an ontology version", () =>
    accepts(
      Identity.OntologyVersion,
      ["football/ontology@a1b2c3d4e5f6a7b8"],
      ["football/ontology", "football@a1b2c3d4e5f6a7b8", "Football/ontology@a1b2c3d4e5f6a7b8", "football/ontology@a1b2"],
    ))

  it("of a namespace", () => accepts(Identity.Namespace, ["harbours", "medical-devices-2"], ["Harbours", "2nd", "a/b", "..", ""]))

  it("of an artifact", () =>
    accepts(
      Identity.ArtifactKey,
      ["batch_0.ttl", "entity_snapshot_12.json", "a"],
      ["..", "a..b", ".hidden", "a/b", "a\\b", "a.", "", "x".repeat(129)],
    ))
})

describe("ids that follow from something", () => {
  it("the hash is the beginning of SHA-256, of text and bytes alike", () => {
    assert.strictEqual(contentHashOf(""), "e3b0c44298fc1c14")
    assert.strictEqual(contentHashOf("Ålesund"), contentHashOf(new TextEncoder().encode("Ålesund")))
  })

  it("one source is one document", () => {
    assert.strictEqual(Identity.documentIdOf("file:///a.txt"), documentId)
    assert.notStrictEqual(Identity.documentIdOf("file:///b.txt"), documentId)
  })

  it("one attempt is one run", () => {
    const run = (attempt: number) => Identity.runIdOf({ batchId, documentId, attempt })
    assert.strictEqual(run(1), run(1))
    assert.notStrictEqual(run(1), run(2))
    accepts(Identity.RunId, [run(1), run(2), crypto.randomUUID()], ["run-1", "../../../x"])
  })

  it("an ontology version is put together", () => {
    const version = Identity.ontologyVersionOf(
      Identity.Namespace.make("football"),
      Identity.OntologyName.make("ontology"),
      contentHashOf(""),
    )
    assert.strictEqual(version, "football/ontology@e3b0c44298fc1c14")
  })

  it.effect("new batches have ids of their own", () =>
    Effect.gen(function* () {
      const ids = yield* Effect.replicateEffect(Identity.newBatchId, 200)
      assert.strictEqual(new Set(ids).size, 200)
      const [one, same] = yield* Effect.all([
        Identity.newBatchId.pipe(Random.withSeed("a")),
        Identity.newBatchId.pipe(Random.withSeed("a")),
      ])
      assert.strictEqual(one, same)
    }),
  )
})
