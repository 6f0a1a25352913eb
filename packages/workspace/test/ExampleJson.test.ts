import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { exampleFields, exampleOf } from "../src/machine/ExampleJson.ts"

const described = (schema: Schema.Top) => {
  const { schema: own, definitions } = Schema.toJsonSchemaDocument(schema)
  return { ...own, $defs: definitions } as Schema.Json
}

const Address = Schema.Struct({ street: Schema.String, since: Schema.Date }).annotate({ identifier: "Address" })

const Order = Schema.Struct({
  _tag: Schema.tag("Placed"),
  item: Schema.String,
  total: Schema.Number,
  pieces: Schema.Int.check(Schema.isGreaterThan(0)),
  kind: Schema.Literals(["new", "used"]),
  gift: Schema.Boolean,
  to: Address,
  lines: Schema.Array(Schema.String),
  first: Schema.NonEmptyArray(Schema.Int),
  note: Schema.NullOr(Schema.String),
  remark: Schema.optionalKey(Schema.String),
})

describe("an example of what a schema describes", () => {
  it("has what is needed, under its name, and nothing that may be left out", () => {
    const to = { street: "…", since: "…" }
    assert.deepStrictEqual(exampleFields(described(Order)), {
      item: "…",
      total: 0,
      pieces: 1,
      kind: "new",
      gift: false,
      to,
      lines: [],
      first: [0],
      note: "…",
    })
  })

  it("is of the kind that is described", () => {
    const { to, ...plain } = Order.fields
    assert.isTrue(Schema.is(Schema.Struct(plain))(exampleOf(described(Schema.Struct(plain)))))
  })

  it("ends where a description refers to itself, and is nothing where nothing is described", () => {
    const itself = {
      $ref: "#/$defs/Node",
      $defs: { Node: { type: "object", properties: { next: { $ref: "#/$defs/Node" } }, required: ["next"] } },
    }
    assert.isAtMost(JSON.stringify(exampleOf(itself)).length, 100)
    assert.isNull(exampleOf({}))
    assert.deepStrictEqual(exampleFields({}), {})
  })
})
