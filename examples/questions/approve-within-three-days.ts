/**
 * How do I wait three days for an approval, with a reminder every day? The deadline and the reminder are timers of the state. They are stored with
 * the transition and fire at their time, or as soon as a process runs again. `simulate` runs the machine without waiting.
 *
 * Run it: `npx node examples/questions/approve-within-three-days.ts`
 */
import { Event, Machine, Slot, State } from "@detent/machine"
import { advance, simulate } from "@detent/machine/testing"
import * as Schema from "effect/Schema"

const S = State({ Waiting: { approver: Schema.String }, Approved: { approver: Schema.String }, Expired: {} })
const E = Event({ Approve: {}, Remind: {} })
const effects = Slot.Effects({ remind: { approver: Schema.String } })

export const Approval = Machine.make({ name: "approval", state: S, event: E, effects, initial: S.Waiting })
  .enter(S.Waiting, ({ after }) => after("reminder", "1 day", E.Remind()))
  .on(S.Waiting, E.Remind, S.Waiting, ({ state, effects, after }) => {
    effects.remind({ approver: state.approver })
    after("reminder", "1 day", E.Remind())
    return state
  })
  .on(S.Waiting, E.Approve, S.Approved)
  .timeout(S.Waiting, "3 days", S.Expired, () => S.Expired())
  .final(S.Approved, S.Expired)

const approved = simulate(Approval, { approver: "Ada" }, [advance("30 hours"), E.Approve()])
console.log(`approved in time: ${approved.path.join(" -> ")}, ${approved.requests.length} reminder`)
const expired = simulate(Approval, { approver: "Ada" }, [advance("3 days")])
console.log(`no answer:        ${expired.path.join(" -> ")}, ${expired.requests.length} reminders`)
