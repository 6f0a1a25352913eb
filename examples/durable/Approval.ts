/**
 * An expense that waits for approval for days, with a reminder every two days and an escalation after a week. While it waits it
 * takes no memory, only rows in the database.
 */
import { Event, Machine, Slot, State, stay } from "@detent/machine"
import * as Schema from "effect/Schema"

const expense = { employee: Schema.String, amount: Schema.Finite }

export const S = State({
  Submitted: expense,
  Waiting: State.group({
    WithManager: { ...expense, reminders: Schema.Int },
    WithDirector: expense,
  }),
  Approved: { ...expense, by: Schema.String },
  Rejected: { ...expense, reason: Schema.String },
})
export const E = Event({ Review: {}, Approve: { by: Schema.String }, Reject: { reason: Schema.String } })
const effects = Slot.Effects({ remind: { employee: Schema.String, whom: Schema.Literals(["manager", "director"]) } })

export const Approval = Machine.make({ name: "approval", state: S, event: E, effects, initial: S.Submitted })
  .on(S.Submitted, E.Review, S.WithManager, ({ state }) => S.WithManager.derive(state, { reminders: 0 }))
  .on(S.Waiting, E.Approve, S.Approved)
  .on(S.Waiting, E.Reject, S.Rejected)
  // The reminder repeats by itself: an idle timeout restarts with every event, its own included.
  .timeout(
    S.WithManager,
    "2 days",
    S.WithManager,
    ({ state, effects }) => {
      effects.remind({ employee: state.employee, whom: "manager" })
      return S.WithManager.derive(state, { reminders: state.reminders + 1 })
    },
    { name: "reminder", idle: true, requests: ["remind"] },
  )
  .timeout(S.WithManager, "7 days", S.WithDirector, { name: "escalation" })
  .timeout(
    S.WithDirector,
    "7 days",
    stay,
    ({ state, effects }) => {
      effects.remind({ employee: state.employee, whom: "director" })
      return stay
    },
    { name: "reminder", idle: true, requests: ["remind"] },
  )
  .final(S.Approved, S.Rejected)
