import { Event, Machine, Slot, State } from "@detent/machine"
import * as Schema from "effect/Schema"

export const S = State({
  Trial: { email: Schema.String },
  Active: { email: Schema.String, plan: Schema.String },
  PastDue: { email: Schema.String, plan: Schema.String, attempts: Schema.Int },
  Ended: { email: Schema.String, reason: Schema.String },
})
export const E = Event({ Subscribe: { plan: Schema.String }, PaymentFailed: {}, PaymentReceived: {}, Cancel: { reason: Schema.String } })
const effects = Slot.Effects({ sendEmail: { to: Schema.String, text: Schema.String } })
const guards = Slot.Guards({ mayTryAgain: { attempts: Schema.Int } })

export const Subscription = Machine.make({ name: "subscription", state: S, event: E, guards, effects, initial: S.Trial })
  .on(S.Trial, E.Subscribe, S.Active)
  .on(S.Active, E.PaymentFailed, S.PastDue, ({ state }) => S.PastDue.derive(state, { attempts: 1 }))
  .on(S.PastDue, E.PaymentReceived, S.Active)
  .on(
    S.PastDue,
    E.PaymentFailed,
    [S.PastDue, S.Ended],
    ({ state, guards }) => {
      const attempts = state.attempts + 1
      return guards.mayTryAgain({ attempts }) ? S.PastDue.derive(state, { attempts }) : S.Ended.derive(state, { reason: "not paid" })
    },
    { guards: ["mayTryAgain"] },
  )
  .on([S.Trial, S.Active, S.PastDue], E.Cancel, S.Ended)
  .timeout(S.Trial, "14 days", S.Ended, ({ state }) => S.Ended.derive(state, { reason: "trial over" }))
  .enter(S.Ended, ({ state, effects }) => effects.sendEmail({ to: state.email, text: state.reason }), { requests: ["sendEmail"] })
  .final(S.Ended)
