/** The machine of the large tables: events of 100 bytes, an indexed field, a state that waits for a timer, and an end. */
import { Event, Machine, State } from "@detent/machine"
import * as Schema from "effect/Schema"

export const payload = "x".repeat(98)

const common = { customer: Schema.String, turns: Schema.Number }

export const S = State({
  Open: common,
  Waiting: { ...common, millis: Schema.Number },
  Resting: { ...common, millis: Schema.Number },
  Closed: common,
})
export const E = Event({ Turn: { payload: Schema.String }, Wait: { millis: Schema.Number }, Close: {} })

export const Parcel = Machine.make({ name: "parcel", state: S, event: E, initial: S.Open })
  .index({ customer: (state) => state.customer })
  .on(S.Open, E.Turn, S.Open, ({ state }) => S.Open({ ...state, turns: state.turns + 1 }))
  .on(S.Open, E.Wait, S.Waiting, ({ state, event }) => S.Waiting({ ...state, millis: event.millis }))
  // Another state, so that each of these transitions sets the timer anew.
  .on(S.Waiting, E.Turn, S.Resting, ({ state }) => S.Resting({ ...state, turns: state.turns + 1 }))
  .on(S.Resting, E.Turn, S.Waiting, ({ state }) => S.Waiting({ ...state, turns: state.turns + 1 }))
  .on(S.Open, E.Close, S.Closed, ({ state }) => S.Closed({ customer: state.customer, turns: state.turns }))
  .timeout(
    [S.Waiting, S.Resting],
    ({ millis }) => millis,
    S.Closed,
    ({ state }) => S.Closed({ customer: state.customer, turns: state.turns }),
  )
  .final(S.Closed)

export const eventsEach = 10

/** What the instances of the large tables are copied from. Of twenty, ten have ended, five wait for a timer, and five are open. */
export const templates: ReadonlyArray<"Open" | "Waiting" | "Closed"> = Array.from({ length: 20 }, (_, index) =>
  index % 4 === 0 ? "Open" : index % 4 === 1 ? "Waiting" : "Closed",
)

/** The template of the instance with this number; numbers begin with 1. */
export const templateOf = (number: number): "Open" | "Waiting" | "Closed" => templates[(number - 1) % templates.length] ?? "Open"

/** The customer of the templates, which their copies replace by their own. */
export const templateCustomer = "customer-of-a-template"

/** Ten instances have the same customer. */
export const customerOf = (number: number): string =>
  number <= templates.length ? templateCustomer : `customer-${Math.floor(number / 10)}`

export const templateId = (number: number): string => `template-${number}`

/** Timers of the large tables are due later than any measurement lasts. */
export const waitMillis = 30 * 24 * 60 * 60 * 1000
