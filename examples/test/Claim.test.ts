import { advance, assertPath, simulate } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import { Claim, E, S } from "../readme/Claim.ts"

const claim = { policy: "p-7", amount: 900 }
const inspect = E.Inspect({ estimate: 800 })

describe("the claim of the README", () => {
  it("enters the assessment at its initial member, and its inspection likewise", () => {
    assertPath(Claim, claim, [E.Assess(), E.Complete()], ["Reported", "Documents", "Booked"])
  })

  it("expires 30 days after the assessment began, whatever happened inside it", () => {
    const run = simulate(Claim, claim, [E.Assess(), advance("20 days"), E.Complete(), inspect, advance("10 days")])
    expect(run.state).toEqual(S.Expired(claim))
  })

  it("holds an inspection after 14 days, and returns to the same state with its fields", () => {
    const run = simulate(Claim, claim, [E.Assess(), E.Complete(), inspect, advance("14 days")])
    expect(run.state).toEqual(S.OnHold(claim))
    expect(simulate(Claim, claim, [E.Assess(), E.Complete(), inspect, advance("14 days"), E.Resume()]).state).toEqual(
      S.Inspected({ ...claim, estimate: 800 }),
    )
    expect(simulate(Claim, S.OnHold(claim), [E.Resume()]).state).toEqual(S.Documents(claim))
  })

  it("puts a claim on hold, except a small one", () => {
    const held = [E.Assess(), E.Complete(), inspect, E.Hold()]
    expect(simulate(Claim, claim, held).state._tag).toBe("OnHold")
    expect(simulate(Claim, { policy: "p-8", amount: 500 }, held).state._tag).toBe("Decided")
  })

  it("is decided by the event that its completed assessment raises", () => {
    const run = simulate(Claim, claim, [E.Assess(), E.Complete(), inspect, E.Accept()])
    expect(run.state).toEqual(S.Decided({ ...claim, estimate: 800 }))
  })
})
