/** The machine of the large tables: events of 100 bytes, a state that waits for a timer, and an end. */
import { Event, Machine, State } from "@detent/machine"
import * as Schema from "effect/Schema"

export const payload = "x".repeat(98)

export const S = State({
  Open: { turns: Schema.Number },
  Waiting: { turns: Schema.Number, millis: Schema.Number },
  Resting: { turns: Schema.Number, millis: Schema.Number },
  Closed: { turns: Schema.Number },
})
export const E = Event({ Turn: { payload: Schema.String }, Wait: { millis: Schema.Number }, Close: {} })

export const Parcel = Machine.make({ name: "parcel", state: S, event: E, initial: S.Open({ turns: 0 }) })
  .on(S.Open, E.Turn, S.Open, ({ state }) => S.Open({ turns: state.turns + 1 }))
  .on(S.Open, E.Wait, S.Waiting, ({ state, event }) => S.Waiting({ turns: state.turns, millis: event.millis }))
  // Another state, so that each of these transitions sets the timer anew.
  .on(S.Waiting, E.Turn, S.Resting, ({ state }) => S.Resting({ turns: state.turns + 1, millis: state.millis }))
  .on(S.Resting, E.Turn, S.Waiting, ({ state }) => S.Waiting({ turns: state.turns + 1, millis: state.millis }))
  .on(S.Open, E.Close, S.Closed, ({ state }) => S.Closed({ turns: state.turns }))
  .timeout(
    [S.Waiting, S.Resting],
    ({ millis }) => millis,
    S.Closed,
    ({ state }) => S.Closed({ turns: state.turns }),
  )
  .final(S.Closed)

export const eventsEach = 10

/** What the instances of the large tables are copied from. Of twenty, ten have ended, five wait for a timer, and five are open. */
export const templates: ReadonlyArray<"Open" | "Waiting" | "Closed"> = Array.from({ length: 20 }, (_, index) =>
  index % 4 === 0 ? "Open" : index % 4 === 1 ? "Waiting" : "Closed",
)

/** The template of the instance with this number; numbers begin with 1. */
export const templateOf = (number: number): "Open" | "Waiting" | "Closed" => templates[(number - 1) % templates.length] ?? "Open"

export const templateId = (number: number): string => `template-${number}`

/** Timers of the large tables are due later than any measurement lasts. */
export const waitMillis = 30 * 24 * 60 * 60 * 1000
