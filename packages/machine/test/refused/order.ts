// Does not compile: Messages.test.ts reads what the compiler says of each line.
import { Event, Machine, Slot, State, spawn, stay } from "@detent/machine"
import * as Schema from "effect/Schema"

const S = State({ Pending: { id: Schema.String }, Paid: { id: Schema.String, tx: Schema.String }, Gone: {} })
const E = Event({ Pay: { tx: Schema.String }, Drop: {}, Ask: Event.reply({}, Schema.Number) })
const base = Machine.make({ name: "order", state: S, event: E, initial: S.Pending({ id: "1" }) })

export const twice = base.on(S.Pending, E.Drop, S.Gone).on(S.Pending, E.Drop, S.Gone)
export const nothing = base.on(S.Pending, E.Drop, S.Gone, () => S.Gone(), { override: true })
export const missing = base.on(S.Pending, E.Drop, S.Paid)
export const undeclared = base.on(S.Pending, E.Pay, S.Paid, () => S.Gone())
export const unanswered = base.on(S.Pending, E.Ask, stay)
export const partial = base.on(S.Pending, E.Drop, S.Gone).total()
export const ended = base.final(S.Gone).on(S.Gone, E.Drop, S.Gone)
export const unbuilt = spawn(Machine.make({ name: "slots", state: S, event: E, guards: Slot.Guards({ inStock: {} }), initial: S.Gone() }))
