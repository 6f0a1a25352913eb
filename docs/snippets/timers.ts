import { Event, Machine, Slot, State } from "@detent/machine"
import { advance, simulate } from "@detent/machine/testing"
import * as Schema from "effect/Schema"

const S = State({
  Waiting: { amount: Schema.Finite, approver: Schema.String },
  Approved: { amount: Schema.Finite },
  Expired: { amount: Schema.Finite },
})
const E = Event({ Approve: {}, Delegate: { approver: Schema.String }, Remind: {}, Mute: {} })
const effects = Slot.Effects({ remind: { approver: Schema.String } })

export const Approval = Machine.make({ name: "approval", state: S, event: E, effects, initial: S.Waiting })
  .enter(S.Waiting, ({ after }) => after("reminder", "20 hours", E.Remind()))
  .on(S.Waiting, E.Remind, S.Waiting, ({ state, effects, after }) => {
    effects.remind({ approver: state.approver })
    after("reminder", "20 hours", E.Remind()) // the same name again replaces the earlier one
    return state
  })
  .on(S.Waiting, E.Mute, S.Waiting, ({ state, cancel }) => {
    cancel("reminder") // removes the delayed event of this name
    return state
  })
  .on(S.Waiting, E.Delegate, S.Waiting) // new data in the same state: the deadline stays
  .on(S.Waiting, E.Approve, S.Approved)
  .timeout(S.Waiting, ({ amount }) => (amount > 10_000 ? "7 days" : "3 days"), S.Expired)
  .final(S.Approved, S.Expired)

const { path, requests } = simulate(Approval, { amount: 500, approver: "Ada" }, [
  advance("36 hours"),
  E.Delegate({ approver: "Grace" }),
  advance("12 hours"),
  E.Mute(),
  advance("24 hours"),
])
console.log(path.join(" -> "))
console.log(requests.map(({ parameters }) => JSON.stringify(parameters)).join(" "))
