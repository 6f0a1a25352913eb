import { type CheckReport, formatCheck, unproved } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import { mistakes } from "./mistakes.ts"
import { checkApproval, checkList, checkLock, checkPayment, checkTrip } from "./protocols.ts"

type Check = (mistake?: string) => CheckReport

const protocols: { readonly [protocol: string]: Check } = {
  payment: checkPayment,
  approval: checkApproval,
  trip: checkTrip,
  lock: checkLock,
  list: checkList,
}

describe.each(Object.entries(protocols))("the %s", (name, protocol) => {
  it("has all of its properties", () => {
    const report = protocol()
    expect(unproved(report), formatCheck(report)).toEqual([])
    expect(report.notes).toEqual([])
  })

  it.each(Object.entries(mistakes[name] ?? {}))("that %s breaks: %s", (mistake, broken) => {
    const report = protocol(mistake)
    expect(
      unproved(report).map(({ name }) => name),
      formatCheck(report),
    ).toContain(broken)
    const { steps = [], loop = [] } = report.properties.find(({ name }) => name === broken)?.counterexample ?? {}
    expect(steps.length + loop.length).toBeGreaterThan(0)
  })
})
