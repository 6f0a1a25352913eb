/** A machine that requests an effect, raises an event, waits for a timer and refuses by a guard, in two versions. */
import { CommandResult, Event, Machine, Slot, State } from "@detent/machine"
import * as Schema from "effect/Schema"

const S = State({
  Placed: { total: Schema.Int, card: State.sensitive(Schema.String) },
  Paid: { total: Schema.Int },
  Shipped: {},
  Lost: {},
})

const E = Event({
  Pay: { amount: Schema.Int, card: State.sensitive(Schema.String) },
  Ship: {},
  Lose: {},
  Note: { text: Schema.String },
})

const effects = Slot.Effects({
  charge: Slot.effect({ amount: Schema.Int, card: State.sensitive(Schema.String) }, { failure: Schema.String }),
})

/** `strict`: the version that knows no notes, and holds instances that have some. */
const define = (strict: boolean) => {
  const base = Machine.make({ name: "order", state: S, event: E, effects, initial: S.Placed({ total: 10, card: "pin-4711" }) })
    .on(
      S.Placed,
      E.Pay,
      S.Paid,
      ({ state, event, effects: request }) => {
        request.charge({ amount: event.amount, card: event.card })
        return S.Paid({ total: state.total })
      },
      { guard: ({ state, event }) => event.amount >= state.total, guardName: "covered", requests: ["charge"] },
    )
    .on(S.Paid, E.Ship, S.Shipped)
    .on(S.Placed, E.Lose, S.Lost)
    .timeout(S.Placed, "1 hour", S.Lost, { name: "overdue" })
    .final(S.Shipped)
    .final(S.Lost, { outcome: "failure" })
  const known = strict ? base : base.on(S.Placed, E.Note, S.Placed, ({ state }) => state)
  return known.build({ charge: () => CommandResult.failForGood("card 12 was declined by bank 7") })
}

export const Order = define(false)
export const StrictOrder = define(true)
