import { Event, Machine, State } from "@detent/machine"
import { compiledOf, fromDeclarations } from "@detent/machine/internal"
import { describe, expect, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { Codec } from "../../src/machine/Codec.ts"
import { Undecodable } from "../../src/machine/Upcasters.ts"

const S = State({ Open: { content: Schema.Unknown.check(Schema.makeFilter((value) => (value === "bad" ? "it is bad" : undefined))) } })
const Box = Machine.make({ name: "box", version: 1, state: S, event: Event({ Close: {} }), initial: S.Open({ content: 1 }) })

describe("a machine whose states are JSON as they are", () => {
  const codec = new Codec(compiledOf(fromDeclarations({ ...compiledOf(Box).declarations, statesAreJson: true })), {})

  it("has them encoded without their schemas, and decoded by them", () => {
    const bad = codec.encodeState({ _tag: "Open", content: "bad" } as never)
    expect(bad).toBe('{"_tag":"Open","content":"bad"}')
    expect(() => codec.decodeState(bad, 1)).toThrow(Undecodable)
    expect(() => new Codec(compiledOf(Box), {}).encodeState({ _tag: "Open", content: "bad" } as never)).toThrow("it is bad")
  })

  it("has what JSON would lose refused", () => {
    expect(() => codec.encodeState({ _tag: "Open", content: { at: new Date(0) } } as never)).toThrow(
      "its field content holds an instance of Date",
    )
  })
})
