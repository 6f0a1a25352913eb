// @effect-diagnostics floatingEffect:off
// Nothing here runs: the lines are there for the type checker to accept or refuse.
/** What the compiler knows of schemas of zod, valibot and arktype. */
import { Event, Machine, Slot, State } from "@detent/machine"
import { type } from "arktype"
import * as Schema from "effect/Schema"
import * as v from "valibot"
import * as z from "zod"
import type { StateOf } from "../../src/Machine.ts"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const holds = <_T extends true>() => undefined

const S = State({
  Zod: { name: z.string(), note: z.string().optional() },
  Valibot: { name: v.string(), note: v.optional(v.string()) },
  Ark: { name: type("string"), count: type("number") },
  Mixed: { name: z.string(), count: Schema.Number, when: Schema.optionalKey(Schema.String) },
})
const E = Event({ Go: { count: type("number") }, Ask: Event.reply({}, z.object({ n: z.number() })) })
const effects = Slot.Effects({ work: Slot.effect({ name: v.string() }, { success: z.number(), failure: type("string") }) })
const M = Machine.make({ name: "m", state: S, event: E, effects, initial: S.Zod({ name: "a" }) })

S.Zod({ name: "a" })
S.Zod({ name: "a", note: "b" })
S.Valibot({ name: "a" })
S.Mixed({ name: "a", count: 1 })
// @ts-expect-error a field is missing
S.Zod({ note: "b" })
// @ts-expect-error a field has the wrong type
S.Ark({ name: "a", count: "1" })
// @ts-expect-error a field has the wrong type
S.Mixed({ name: 1, count: 1 })
// @ts-expect-error not a schema
State({ Wrong: { name: "string" } })

holds<Equal<(typeof S.Zod)["Type"]["name"], string>>()
holds<Equal<(typeof S.Zod)["Type"]["note"], string | undefined>>()
holds<Equal<(typeof S.Ark)["Type"]["count"], number>>()
holds<Equal<(typeof S.Mixed)["Type"]["when"], string | undefined>>()
holds<Equal<Extract<EventOfM, { readonly _tag: "Go" }>["count"], number>>()
holds<Equal<StateOf<typeof M>["_tag"], "Zod" | "Valibot" | "Ark" | "Mixed">>()

type EventOfM = Machine.EventOf<typeof M>

// Fields are carried between libraries where their types fit.
M.on(S.Zod, E.Go, S.Ark)
// @ts-expect-error count is neither carried nor given
M.on(S.Zod, E.Ask, S.Ark)

M.build({
  work: async ({ name }) => {
    holds<Equal<typeof name, string>>()
    return 3
  },
})
// @ts-expect-error the result is a number
M.build({ work: async () => "three" })
