/** Indexed fields: what is known of them at definition, and what is refused there. */
import { Event, Machine, State } from "@detent/machine"
import { type } from "arktype"
import * as Schema from "effect/Schema"
import * as v from "valibot"
import { describe, expect, it } from "vitest"
import * as z from "zod"

const E = Event({ Go: {} })

class Address extends Schema.Class<Address>("Address")({ city: Schema.String, since: Schema.Date }) {}

const S = State({
  Open: {
    customer: Schema.String.pipe(Schema.brand("Customer")),
    total: Schema.Finite,
    dueAt: Schema.DateTimeUtc,
    paid: Schema.Boolean,
    channel: Schema.Literals(["web", "phone"]),
    note: Schema.optional(Schema.NullOr(Schema.String)),
    address: Schema.NullOr(Address),
    lines: Schema.Array(Schema.String),
    card: State.sensitive(Schema.String),
    either: Schema.Union([Schema.String, Schema.Number]),
    at: Schema.DateFromString,
  },
  Closed: { customer: Schema.String, total: Schema.Int, code: Schema.String },
  Odd: { code: Schema.Number },
})
const machine = Machine.make({ name: "order", state: S, event: E, initial: S.Odd({ code: 1 }) })

const kindsOf = (indexes: ReadonlyArray<{ readonly name: string; readonly kind: string }> | undefined) =>
  Object.fromEntries((indexes ?? []).map(({ name, kind }) => [name, kind]))

describe("indexed fields", () => {
  it("have the kind and the path of their schemas", () => {
    const indexed = machine.index({
      customer: (state) => state.customer,
      total: (state) => state.total,
      dueAt: (state) => state.dueAt,
      paid: (state) => state.paid,
      channel: (state) => state.channel,
      note: (state) => state.note,
      city: (state) => state.address?.city,
      since: (state) => state.address?.since,
      at: (state) => state.at,
    })
    expect(kindsOf(indexed.blueprint.indexes)).toEqual({
      customer: "text",
      total: "number",
      dueAt: "instant",
      paid: "boolean",
      channel: "text",
      note: "text",
      city: "text",
      since: "instant",
      at: "instant",
    })
    expect(indexed.blueprint.indexes?.find(({ name }) => name === "city")?.path).toEqual(["address", "city"])
    expect(machine.blueprint.indexes).toBeUndefined()
  })

  it("of zod, valibot and arktype have them too", () => {
    const states = {
      zod: State({
        A: { text: z.string(), n: z.int(), at: z.iso.datetime(), is: z.boolean(), in: z.object({ x: z.string().nullable() }) },
      }),
      valibot: State({
        A: { text: v.picklist(["a", "b"]), n: v.number(), at: v.string(), is: v.boolean(), in: v.object({ x: v.nullable(v.string()) }) },
      }),
      arktype: State({
        A: { text: type("string"), n: type("number"), at: type("string"), is: type("boolean"), in: type({ x: "string | null" }) },
      }),
    }
    for (const [library, state] of Object.entries(states)) {
      const made = Machine.make({ name: library, state: state as typeof states.zod, event: E, initial: () => undefined as never }).index({
        text: (s) => s.text,
        n: (s) => s.n,
        at: (s) => s.at,
        is: (s) => s.is,
        x: (s) => s.in.x,
      })
      expect(kindsOf(made.blueprint.indexes), library).toEqual({
        text: "text",
        n: "number",
        at: library === "zod" ? "instant" : "text",
        is: "boolean",
        x: "text",
      })
    }
  })

  it.each([
    [
      { lines: (state: typeof S.Type) => (state as never as { lines: string }).lines },
      /index lines is on lines of Open, which is no text, number, instant or boolean; index a field inside/,
    ],
    [
      { first: (state: typeof S.Type) => (state as never as { lines: Array<string> }).lines[0] },
      /index first is on lines\.0 of Open, which its schema does not have/,
    ],
    [
      { city: (state: typeof S.Type) => (state as never as { address: { town: string } }).address.town },
      /index city is on address\.town of Open, which its schema does not have/,
    ],
    [
      { address: (state: typeof S.Type) => (state as never as { address: string }).address },
      /index address is on address of Open, which is no text/,
    ],
    [{ nothing: (state: typeof S.Type) => (state as never as { nothing: string }).nothing }, /no state has a field nothing/],
    [
      { card: (state: typeof S.Type) => (state as never as { card: string }).card },
      /card of Open, which is sensitive; lists show indexed values: index a digest/,
    ],
    [
      { either: (state: typeof S.Type) => (state as never as { either: string }).either },
      /index either is on either, which is text or number/,
    ],
    [
      { code: (state: typeof S.Type) => (state as never as { code: string }).code },
      /index code is on code, which is text or number; give it one kind in all states/,
    ],
    [
      { upper: (state: typeof S.Type) => (state as never as { customer: string }).customer.toUpperCase() },
      /index upper computes a value; read one field/,
    ],
    [{ constant: () => "x" }, /index constant computes a value/],
    [{ tag: (state: typeof S.Type) => state._tag }, /index tag is on _tag; instances are found by their state without an index/],
    [{ "a-b": (state: typeof S.Type) => (state as never as { customer: string }).customer }, /"a-b" cannot name an index/],
  ])("are refused with their path: %o", (fields, message) => {
    expect(() => machine.index(fields as never)).toThrow(message)
  })

  it("are refused twice, and in a number that commits would suffer from", () => {
    const indexed = machine.index({ customer: (state) => state.customer })
    expect(() => indexed.index({ customer: (state) => state.customer })).toThrow(/index customer is declared twice/)
    const many = Object.fromEntries(
      Array.from({ length: 21 }, (_, index) => [`i${index}`, (state: { readonly total?: number }) => state.total]),
    )
    expect(() => machine.index(many as never)).toThrow(/it has 21 indexes, the limit is 20/)
  })
})
