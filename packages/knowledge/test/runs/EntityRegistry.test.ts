import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Equal from "effect/Equal"
import * as Schema from "effect/Schema"
import { EntityRef, EntityRegistryJson, emptyRegistry, register } from "../../src/runs/ExtractStep.ts"

const iri = Schema.Literals(["urn:a", "urn:b", "urn:c"])
const entities = Arbitrary.array(Arbitrary.schema(Schema.Struct({ ...EntityRef.fields, iri })), { maxLength: 8 })

describe("the registry of entities", () => {
  it("knows an entity by its IRI and keeps the first label, every type and the highest confidence", () => {
    const first = { iri: "urn:a", label: "Ada", types: ["urn:Person"], foundInChunk: 0, confidence: 0.6 }
    const again = { iri: "urn:a", label: "Ada L.", types: ["urn:Author", "urn:Person"], foundInChunk: 3, confidence: 0.9 }
    assert.deepStrictEqual(register(register(emptyRegistry, [first]), [again]).entities, [
      { iri: "urn:a", label: "Ada", types: ["urn:Author", "urn:Person"], foundInChunk: 0, confidence: 0.9 },
    ])
  })

  it.prop("is the same in whatever order and however often entities are met", [entities, entities], ([some, others]) => {
    const one = register(register(emptyRegistry, some), others)
    assert.isTrue(Equal.equals(register(register(emptyRegistry, others), some), one))
    assert.isTrue(Equal.equals(register(one, [...others, ...some]), one))
  })

  it.prop("continues from a saved snapshot as if it had never stopped", [entities, entities], ([some, others]) => {
    const saved = Schema.encodeSync(EntityRegistryJson)(register(emptyRegistry, some))
    const restored = Schema.decodeSync(EntityRegistryJson)(saved)
    assert.isTrue(Equal.equals(register(restored, others), register(emptyRegistry, [...some, ...others])))
  })
})
