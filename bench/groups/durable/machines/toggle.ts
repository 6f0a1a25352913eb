/** The workload of most tables: a machine that alternates between two states, on events that carry 200 bytes. */
import { Event, Machine, State } from "@detent/machine"
import * as Schema from "effect/Schema"

/** Two hundred bytes of JSON, which every contestant stores per write. */
export const payload = "x".repeat(198)

export const S = State({ Even: { turns: Schema.Number }, Odd: { turns: Schema.Number } })
export const E = Event({ Turn: { payload: Schema.String } })

export const Toggle = Machine.make({ name: "toggle", state: S, event: E, initial: S.Even({ turns: 0 }) })
  .on(S.Even, E.Turn, S.Odd, ({ state }) => S.Odd({ turns: state.turns + 1 }))
  .on(S.Odd, E.Turn, S.Even, ({ state }) => S.Even({ turns: state.turns + 1 }))
  .persist({ snapshot: { _tag: "Manual" } })
