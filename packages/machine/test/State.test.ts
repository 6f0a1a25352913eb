import { DefinitionError, Event, State } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { schemaOf } from "../src/index.ts"
import { isSensitive, redact } from "../src/schema/Sensitive.ts"

const S = State({
  Draft: { title: Schema.String },
  InReview: State.group({
    Peer: { title: Schema.String, reviewer: Schema.String },
    Legal: State.group({ Contract: { title: Schema.String }, Privacy: { title: Schema.String, note: Schema.optionalKey(Schema.String) } }),
  }),
  Published: { title: Schema.String, at: Schema.Date, key: State.sensitive(Schema.String) },
  Gone: {},
})

describe("State", () => {
  it("makes plain values that carry their tag", () => {
    expect(S.Draft({ title: "a" })).toEqual({ _tag: "Draft", title: "a" })
    expect(S.Gone()).toEqual({ _tag: "Gone" })
    expect(S.Peer({ title: "a", reviewer: "b" })).toEqual(S.InReview.Peer({ title: "a", reviewer: "b" }))
    expect(S.InReview.Legal.Contract({ title: "a" })).toEqual({ _tag: "Contract", title: "a" })
  })

  it("derives one state from another: shared fields, then overrides, nothing else", () => {
    const peer = S.Peer({ title: "a", reviewer: "b" })
    expect(S.Draft.derive(peer)).toEqual({ _tag: "Draft", title: "a" })
    expect(S.Peer.derive(S.Draft({ title: "a" }), { reviewer: "c" })).toEqual({ _tag: "Peer", title: "a", reviewer: "c" })
    expect(S.Privacy.derive(peer)).toEqual({ _tag: "Privacy", title: "a" })
    expect(Object.keys(S.Privacy.derive(peer))).not.toContain("note")
  })

  it("matches by tag, with the value first or last", () => {
    const cases = {
      Draft: (state: { readonly title: string }) => state.title,
      Peer: () => "peer",
      Contract: () => "contract",
      Privacy: () => "privacy",
      Published: () => "published",
      Gone: () => "gone",
    }
    expect(S.$match(cases)(S.Draft({ title: "a" }))).toBe("a")
    expect(S.$match(S.Gone(), cases)).toBe("gone")
  })

  it("distinguishes variants and groups from everything else", () => {
    expect(S.$is("Draft")(S.Draft({ title: "a" }))).toBe(true)
    expect(S.$is("InReview")(S.Contract({ title: "a" }))).toBe(true)
    expect(S.$is("Legal")(S.Peer({ title: "a", reviewer: "b" }))).toBe(false)
    for (const hostile of [undefined, null, 1, "Draft", {}, [], { _tag: 1 }, { _tag: "__proto__" }])
      expect(S.$is("InReview")(hostile)).toBe(false)
    expect(S.Draft.is({ _tag: "Draft", title: 1 })).toBe(false)
    expect(S.Draft.is({ _tag: "Draft", title: "a" })).toBe(true)
  })

  it("refuses names that would break lookups, and names used twice", () => {
    for (const name of ["", "$match", "@timeout", "Type", "constructor", "prototype"]) {
      expect(() => State({ [name]: {} }), name).toThrow(DefinitionError)
    }
    expect(() => State(JSON.parse('{"__proto__":{}}'))).toThrow(DefinitionError)
    expect(() => State({ A: {}, G: State.group({ A: {} }) })).toThrow(/A is declared twice/)
    expect(() => State({ A: { _tag: Schema.String } })).toThrow(/_tag/)
  })

  it("knows its sensitive fields", () => {
    expect(isSensitive(S.Published.fields.key)).toBe(true)
    expect(isSensitive(S.Published.fields.title)).toBe(false)
    expect(redact(S.Published.fields, { _tag: "Published", title: "a", key: "secret" })).toEqual({ title: "a", key: "•••" })
  })

  it.prop("keeps every value through JSON and back", [schemaOf(S)], ([state]) => {
    const codec = Schema.toCodecJson(schemaOf(S))
    const text = JSON.stringify(Schema.encodeSync(codec)(state))
    expect(Schema.decodeUnknownSync(codec)(JSON.parse(text))).toEqual(state)
  })
})

describe("Event", () => {
  it("groups events like states, and marks questions", () => {
    const E = Event({ Input: Event.group({ Click: { x: Schema.Number }, Tap: {} }), GetTitle: Event.reply({}, Schema.String) })
    expect(E.Click({ x: 1 })).toEqual({ _tag: "Click", x: 1 })
    expect(E.$is("Input")(E.Tap())).toBe(true)
    expect(E.GetTitle()).toEqual({ _tag: "GetTitle" })
  })
})
