import { Event, Machine, State } from "@detent/machine"
import { compiledOf, type Tagged } from "@detent/machine/internal"
import { describe, expect, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { Codec } from "../../src/machine/Codec.ts"
import { decodePrevious, previousText, type StoredPrevious } from "../../src/machine/PreviousState.ts"

const data = Schema.Record(Schema.String, Schema.Json)

const Parcel = Machine.make({
  name: "Parcel",
  state: State({ Packed: { data, note: Schema.optionalKey(Schema.Json) }, Sent: { data, note: Schema.optionalKey(Schema.Json) } }),
  event: Event({ Send: {} }),
  initial: (input: typeof data.Type) => ({ _tag: "Packed" as const, data: input }),
})

const codec = new Codec(compiledOf(Parcel), {})

const stored = (state: Tagged, previous: Tagged): StoredPrevious & { readonly s: unknown } =>
  JSON.parse(`{"s":${codec.encodeState(state)}${previousText(codec, codec.stateValue(state), previous)}}`)

const readBack = (state: Tagged, previous: Tagged) => {
  const { s, ...rest } = stored(state, previous)
  return decodePrevious(codec, s, rest, 1)
}

const parcel = (_tag: string, content: object, rest: object = {}): Tagged => ({ _tag, data: content, ...rest }) as Tagged

describe("the state before the current one", () => {
  it("is named with what was added to it, where nothing else changed", () => {
    const packed = parcel("Packed", { to: "Ada", weight: 2 })
    const sent = parcel("Sent", { to: "Ada", weight: 2, at: 7 }, { note: "by train" })
    expect(stored(sent, packed)).toMatchObject({ b: ["Packed", ["data", "at"], ["note"]] })
    expect(readBack(sent, packed)).toEqual(packed)
  })

  it("is stored as a whole where a field changed or is gone", () => {
    const packed = parcel("Packed", { to: "Ada", weight: 2 }, { note: null })
    for (const sent of [parcel("Sent", { to: "Bo", weight: 2 }, { note: null }), parcel("Sent", { to: "Ada", weight: 2 })]) {
      expect(stored(sent, packed)).toHaveProperty("p")
      expect(readBack(sent, packed)).toEqual(packed)
    }
  })

  const content = Schema.Literals(["", "x", 0, 1])
  const value = Schema.Union([content, Schema.Struct({ a: content, b: Schema.optionalKey(content) }), Schema.Array(content)])
  const entries = Schema.Array(Schema.Tuple([Schema.Literals(["a", "b", "__proto__"]), value]))

  it.prop(
    "is read as it was, whatever changed",
    { sent: entries, packed: entries, note: Schema.optionalKey(value), before: Schema.optionalKey(value) },
    ({ sent, packed, note, before }) => {
      const later = parcel("Sent", Object.fromEntries(sent), note === undefined ? {} : { note })
      const earlier = parcel("Packed", Object.fromEntries(packed), before === undefined ? {} : { note: before })
      expect(readBack(later, earlier)).toEqual(codec.decodeState(codec.encodeState(earlier), 1))
    },
  )

  it("is not shown where the machine no longer has it, or what is stored of it is damaged", () => {
    const sent = JSON.parse(codec.encodeState(parcel("Sent", {})))
    expect(decodePrevious(codec, sent, { b: ["Lost"] }, 1)).toBeUndefined()
    expect(decodePrevious(codec, sent, { b: 1 } as never, 1)).toBeUndefined()
    expect(decodePrevious(codec, sent, { p: { _tag: "Lost" } }, 1)).toBeUndefined()
  })
})
