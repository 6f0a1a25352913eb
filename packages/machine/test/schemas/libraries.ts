/** The same schemas in each library, and a machine of all libraries. */
import { Event, Machine, reply, Slot, State, stay } from "@detent/machine"
import { type } from "arktype"
import * as Schema from "effect/Schema"
import * as v from "valibot"
import * as z from "zod"

export const libraries = {
  Effect: {
    name: Schema.String,
    amount: Schema.Finite.check(Schema.isGreaterThan(0)),
    note: Schema.optional(Schema.String),
    lines: Schema.Array(Schema.Struct({ sku: Schema.String, count: Schema.Int })),
  },
  zod: {
    name: z.string(),
    amount: z.number().positive(),
    note: z.string().optional(),
    lines: z.array(z.object({ sku: z.string(), count: z.int() })),
  },
  valibot: {
    name: v.string(),
    amount: v.pipe(v.number(), v.gtValue(0)),
    note: v.optional(v.string()),
    lines: v.array(v.object({ sku: v.string(), count: v.pipe(v.number(), v.integer()) })),
  },
  arktype: {
    name: type("string"),
    amount: type("number > 0"),
    note: type("string | undefined"),
    lines: type({ sku: "string", count: "number.integer" }).array(),
  },
} as const

/** A machine with schemas of all libraries. */
export const MixedS = State({
  Open: { name: z.string(), lines: libraries.valibot.lines, note: z.string().optional() },
  Paid: { name: type("string"), amount: Schema.Finite },
})
export const MixedE = Event({
  Add: { line: libraries.zod.lines.element },
  Pay: { amount: libraries.arktype.amount },
  Count: Event.reply({}, v.number()),
})
export const mixedEffects = Slot.Effects({ ship: Slot.effect({ name: z.string() }, { success: type("string"), failure: v.string() }) })
export const Mixed = Machine.make({ name: "mixed", state: MixedS, event: MixedE, effects: mixedEffects, initial: MixedS.Open })
  .on(MixedS.Open, MixedE.Add, MixedS.Open, ({ state, event }) => MixedS.Open.derive(state, { lines: [...state.lines, event.line] }))
  .on(MixedS.Open, MixedE.Count, stay, ({ state }) => reply(state.lines.length))
  .on(MixedS.Open, MixedE.Pay, MixedS.Paid, ({ state, event, effects }) => {
    effects.ship({ name: state.name })
    return MixedS.Paid.derive(state, { amount: event.amount })
  })
  .final(MixedS.Paid)
