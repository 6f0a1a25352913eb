/** A machine to try things with: it counts, it can be closed, and it knows a secret. */
import { Event, Machine, refuse, reply, State, stay } from "@detent/machine"
import * as Schema from "effect/Schema"

export const S = State({
  Open: { count: Schema.Int, pin: State.sensitive(Schema.String) },
  Paused: { count: Schema.Int, pin: State.sensitive(Schema.String) },
  Closed: { count: Schema.Int },
})

export const E = Event({
  Add: { by: Schema.Int },
  Pause: {},
  Resume: {},
  Close: {},
  Count: Event.reply({}, Schema.Int),
})

export const Tally = Machine.make({ name: "tally", state: S, event: E, initial: S.Open({ count: 0, pin: "pin-4711" }) })
  .on(S.Open, E.Add, S.Open, ({ state, event }) =>
    event.by === 0 ? refuse("adding nothing is not an addition") : S.Open({ ...state, count: state.count + event.by }),
  )
  .on(S.Open, E.Count, stay, ({ state }) => reply(state.count))
  .on(S.Open, E.Pause, S.Paused)
  .on(S.Paused, E.Resume, S.Open)
  .timeout(S.Paused, "1 hour", S.Open, { name: "paused too long" })
  .on([S.Open, S.Paused], E.Close, S.Closed)
  .final(S.Closed)
