import { Event, Machine, State } from "@detent/machine"
import { advance, simulate } from "@detent/machine/testing"
import * as Schema from "effect/Schema"

const day = 24 * 60 * 60 * 1000

// #region machine
const S = State({
  Active: { renewsAt: Schema.Finite, periods: Schema.Finite },
  Ended: { periods: Schema.Finite },
})
const E = Event({ Extend: { days: Schema.Finite }, Cancel: {} })

export const Subscription = Machine.make({ name: "subscription", state: S, event: E, initial: S.Active })
  .timeout(S.Active, { until: (state) => state.renewsAt }, S.Active, ({ state }) =>
    S.Active({ renewsAt: state.renewsAt + 30 * day, periods: state.periods + 1 }),
  )
  .on(S.Active, E.Extend, S.Active, ({ state, event }) => S.Active.derive(state, { renewsAt: state.renewsAt + event.days * day }))
  .on(S.Active, E.Cancel, S.Ended)
  .final(S.Ended)
// #endregion machine

const { state } = simulate(Subscription, { renewsAt: 14 * day, periods: 0 }, [
  advance("10 days"),
  E.Extend({ days: 7 }),
  advance("90 days"),
])
console.log(state._tag, state.periods)
