import { Event, history, Machine, State } from "@detent/machine"
import { simulate } from "@detent/machine/testing"
import * as Schema from "effect/Schema"

const claim = { policy: Schema.String }

// #region machine
const S = State({
  Assessing: State.group(
    {
      Documents: claim,
      Inspection: State.group({ Booked: claim, Inspected: claim }, { initial: "Booked" }),
      Assessed: claim,
    },
    { initial: "Documents" },
  ),
  OnHold: claim,
  Decided: claim,
})
const E = Event({ Complete: {}, Inspect: {}, Accept: {}, Hold: {}, Resume: {}, AssessmentDone: {} })

const Claim = Machine.make({ name: "claim", state: S, event: E, initial: S.Documents })
  .on(S.Documents, E.Complete, S.Inspection) // a group as target: its initial member, Booked
  .on(S.Booked, E.Inspect, S.Inspected)
  .on(S.Inspected, E.Accept, S.Assessed)
  .on(S.Assessing, E.Hold, S.OnHold) // from every member of the group
  .on(S.OnHold, E.Resume, history(S.Assessing, "deep"))
  .done(S.Assessing, S.Assessed, () => E.AssessmentDone()) // Assessed completes the group: the machine sends itself this event
  .on(S.Assessed, E.AssessmentDone, S.Decided)
  .final(S.Decided)
// #endregion machine

const { path } = simulate(Claim, { policy: "p-1" }, [E.Complete(), E.Inspect(), E.Hold(), E.Resume(), E.Accept()])
console.log(path.join(" -> "))
