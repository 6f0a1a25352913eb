/** Schemas of zod, valibot and arktype do what those of Effect do. */
import { DefinitionError, Event, type FieldSchema, Machine, Slot, State, schemaOf } from "@detent/machine"
import { type } from "arktype"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as v from "valibot"
import { describe, expect, it } from "vitest"
import * as z from "zod"
import { spawn } from "../../src/index.ts"
import { libraries, Mixed, MixedE, MixedS } from "./libraries.ts"

const lines = [{ sku: "a", count: 1 }]

describe.each(Object.entries(libraries))("%s", (_, { name, amount, note, lines: schema }) => {
  const S = State({ Open: { name, lines: schema, note }, Paid: { name, amount } })
  const E = Event({ Pay: { amount } })
  const Order = Machine.make({ name: "order", state: S, event: E, initial: S.Open({ name: "Ada", lines }) }).on(S.Open, E.Pay, S.Paid)
  const open = S.Open({ name: "Ada", lines })
  const codec = Schema.toCodecJson(schemaOf(S))

  it("decides on events that fit, and names the field of one that does not", () => {
    expect(Machine.decide(Order, open, E.Pay({ amount: 3 }))).toMatchObject({
      _tag: "Goto",
      state: { _tag: "Paid", name: "Ada", amount: 3 },
    })
    expect(Machine.checkEvent(Order, E.Pay({ amount: 3 }))).toBeUndefined()
    expect(Machine.checkEvent(Order, E.Pay({ amount: -3 }))?.problem).toMatch(/^amount: /)
    expect(Machine.checkEvent(Order, { _tag: "Pay" })?.problem).toBe("amount is missing")
  })

  it("an actor refuses an event that does not fit", async () => {
    const sent = await Effect.runPromise(
      Effect.scoped(Effect.flatMap(spawn(Order), (actor) => Effect.exit(actor.send(E.Pay({ amount: 0 }))))),
    )
    expect(Exit.isFailure(sent)).toBe(true)
  })

  it("a value goes through JSON and back equal", () => {
    for (const state of [open, S.Open({ name: "Ada", lines, note: "soon" }), S.Paid({ name: "Bo", amount: 2.5 })]) {
      const json: unknown = JSON.parse(JSON.stringify(Schema.encodeUnknownSync(codec)(state)))
      expect(Schema.decodeUnknownSync(codec)(json)).toEqual(state)
    }
  })

  it("JSON that does not fit is refused with its path", () => {
    const decode = Schema.decodeUnknownResult(codec)
    const result = decode({ _tag: "Open", name: "Ada", lines: [{ sku: "a", count: 1.5 }] })
    expect(result._tag === "Failure" && result.failure.message).toMatch(/\["lines"\]\[0\]\["count"\]/)
  })

  it("a state that does not fit cannot be the first", () => {
    expect(() => Machine.make({ name: "order", state: S, event: E, initial: S.Paid({ name: "Ada", amount: 0 } as never) })).toThrow(
      /amount: /,
    )
  })
})

describe("all of them in one machine", () => {
  const open = MixedS.Open({ name: "Ada", lines: [] })

  it("decides, answers, and requests an effect", () => {
    const added = Machine.decide(Mixed, open, MixedE.Add({ line: { sku: "a", count: 2 } }))
    expect(added).toMatchObject({ state: { lines: [{ sku: "a", count: 2 }] } })
    expect(Machine.decide(Mixed, open, MixedE.Count())).toMatchObject({ _tag: "Stay", answer: 0 })
    expect(Machine.decide(Mixed, open, MixedE.Pay({ amount: 5 }))).toMatchObject({
      state: { _tag: "Paid", name: "Ada", amount: 5 },
      requests: [{ slot: "ship", parameters: { name: "Ada" } }],
    })
  })

  it("JSON Schema comes from the library, and is open where the library has none", () => {
    const { schema } = Schema.toJsonSchemaDocument(schemaOf(MixedS.Open))
    expect(schema).toMatchObject({
      properties: { name: { type: "string" }, note: { type: "string" } },
      required: ["_tag", "name", "lines"],
    })
    expect(schema).not.toHaveProperty("properties.lines.type")
    const paid = Schema.toJsonSchemaDocument(schemaOf(MixedS.Paid)).schema
    expect(paid).toMatchObject({ properties: { name: { type: "string" }, amount: { type: "number" } } })
  })
})

describe("what cannot be stored and read back equal", () => {
  const refused = (schema: FieldSchema) => {
    try {
      State({ Paid: { detail: schema } })
    } catch (error) {
      return error instanceof DefinitionError ? error.message : String(error)
    }
    return undefined
  }

  it.each([
    ["a date in zod", z.object({ lines: z.array(z.object({ at: z.date() })) }), "lines.[].at in the field detail of Paid is a date"],
    ["a bigint in zod", z.bigint().optional(), "the field detail of Paid is a bigint"],
    ["a transformation in zod", z.object({ n: z.string().transform(Number) }), "n in the field detail of Paid is a transformation"],
    ["a codec of zod", z.stringbool(), "the field detail of Paid is a transformation"],
    ["a map in zod", z.record(z.string(), z.map(z.string(), z.string())), "* in the field detail of Paid is a map"],
    ["a date in valibot", v.object({ at: v.date() }), "at in the field detail of Paid is a date"],
    ["a transformation in valibot", v.pipe(v.string(), v.transform(Number)), "the field detail of Paid is a transformation"],
    ["a class in valibot", v.instance(URL), "the field detail of Paid is an instance of a class"],
    ["a date in arktype", type({ a: { at: "Date" } }), "a.at in the field detail of Paid is a date"],
    ["a date in a list of arktype", type({ "days?": "Date[]" }), "days.[] in the field detail of Paid is a date"],
    ["a morph of arktype", type("string.numeric.parse"), "the field detail of Paid is a transformation"],
  ])("%s is refused when the machine is made", (_, schema, problem) => {
    expect(refused(schema)).toContain(problem)
    expect(refused(schema)).toMatch(/; (keep|transform) /)
  })

  it("trimming, defaults and coercion are not refused: what they return they return again", () => {
    const S = State({ A: { name: z.string().trim().default("x"), n: z.coerce.number(), tag: v.pipe(v.string(), v.trim()) } })
    const codec = Schema.toCodecJson(schemaOf(S))
    expect(Schema.decodeUnknownSync(codec)({ _tag: "A", n: "3", tag: " t " })).toEqual({ _tag: "A", name: "x", n: 3, tag: "t" })
    expect(S.A.is({ _tag: "A", name: " x", n: 3, tag: "t" })).toBe(false)
    expect(S.A.is({ _tag: "A", name: "x", n: 3, tag: "t" })).toBe(true)
  })

  it("also in the parameters and outcomes of slots, and in answers", () => {
    expect(() => Slot.Effects({ ship: { at: z.date() } })).toThrow("the parameter at of the slot ship is a date")
    expect(() => Slot.Guards({ late: { at: v.date() } })).toThrow("the parameter at of the slot late is a date")
    expect(() => Slot.Effects({ ship: Slot.effect({}, { success: z.date() }) })).toThrow("the result of the slot ship is a date")
    expect(() => Event({ When: Event.reply({}, type("Date")) })).toThrow("the answer to When is a date")
  })

  it("a schema of another library is checked on every value", () => {
    const dates = { "~standard": { version: 1 as const, vendor: "other", validate: (value: unknown) => ({ value }) } }
    const S = State({ A: { any: dates } })
    const codec = Schema.toCodecJson(schemaOf(S))
    expect(Schema.encodeUnknownSync(codec)(S.A({ any: { deep: [1, "a"] } }))).toEqual({ _tag: "A", any: { deep: [1, "a"] } })
    expect(() => Schema.encodeUnknownSync(codec)(S.A({ any: new Date() }))).toThrow()
  })

  it("an asynchronous schema is refused when it is used", () => {
    const S = State({ A: { name: z.string().refine(async () => true) } })
    expect(() => S.A.is({ _tag: "A", name: "x" })).toThrow(/asynchronously/)
  })
})

describe("a sensitive field", () => {
  it("is hidden, and its problem does not quote the value", () => {
    const S = State({
      A: { card: State.sensitive(z.string().refine((value) => value.length > 3, { error: ({ input }) => `no ${String(input)}` })) },
    })
    const E = Event({ Go: { card: Event.sensitive(v.string()) } })
    const M = Machine.make({ name: "m", state: S, event: E, initial: S.A({ card: "1234" }) }).on(S.A, E.Go, S.A)
    expect(M.blueprint.states[0]?.fields).toEqual([{ name: "card", sensitive: true }])
    expect(M.blueprint.events[0]?.fields).toEqual([{ name: "card", sensitive: true }])
    expect(() => Machine.make({ name: "m", state: S, event: E, initial: S.A({ card: "12" }) })).toThrow(/card: Expected a valid value/)
  })
})
