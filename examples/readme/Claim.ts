import { Event, history, Machine, State } from "@detent/machine"
import * as Schema from "effect/Schema"

const claim = { policy: Schema.String, amount: Schema.Finite }

export const S = State({
  Reported: claim,
  // A group is entered at its initial member, and left when the claim leaves all of its states.
  Assessing: State.group(
    {
      Documents: claim,
      Inspection: State.group({ Booked: claim, Inspected: { ...claim, estimate: Schema.Finite } }, { initial: "Booked" }),
      Assessed: { ...claim, estimate: Schema.Finite },
    },
    { initial: "Documents" },
  ),
  OnHold: claim,
  Decided: { ...claim, estimate: Schema.Finite },
  Expired: claim,
})

export const E = Event({
  Assess: {},
  Complete: {},
  Inspect: { estimate: Schema.Finite },
  Accept: {},
  Hold: {},
  Resume: {},
  AssessmentDone: { estimate: Schema.Finite },
})

export const Claim = Machine.make({ name: "claim", state: S, event: E, initial: S.Reported })
  .on(S.Reported, E.Assess, S.Assessing)
  .on(S.Documents, E.Complete, S.Inspection)
  .on(S.Booked, E.Inspect, S.Inspected)
  .on(S.Inspected, E.Accept, S.Assessed)
  // One deadline for the whole assessment: moves between its states do not restart it.
  .timeout(S.Assessing, "30 days", S.Expired)
  // Two weeks for the inspection, however long the documents took.
  .timeout(S.Inspection, "14 days", S.OnHold, { name: "inspection" })
  .on(S.Assessing, E.Hold, S.OnHold)
  // Small claims do not wait: where this guard does not hold, the transition of the group applies.
  .on(S.Inspected, E.Hold, S.Assessed, { fallThrough: true, guard: ({ state }) => state.amount <= 500, guardName: "small claim" })
  // Back to the state in which the assessment was left, with its fields.
  .on(S.OnHold, E.Resume, history(S.Assessing, "deep"))
  .done(S.Assessing, S.Assessed, ({ state }) => E.AssessmentDone({ estimate: state.estimate }))
  .on(S.Assessed, E.AssessmentDone, S.Decided)
  .meta(S.Assessing, { description: "The insurer looks at the claim", tags: ["waiting"] })
  .final(S.Decided, S.Expired)
