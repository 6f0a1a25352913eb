import { type ExploreReport, explore, formatReport, problemsIn } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import { Batch } from "../batch/Batch.ts"
import { Document } from "../document/Document.ts"
import { Order } from "../order/Order.ts"
import { Subscription } from "../readme/Subscription.ts"
import { TrafficLight } from "../traffic-light/TrafficLight.ts"

/** No decision throws, every state is reached and left, every event and target is of use, guards vary, diagrams show all slots. */
const expectFlawless = (report: ExploreReport) => {
  expect(problemsIn(report), formatReport(report)).toBe(0)
  expect(report.neverProduced).toEqual([])
  expect(report.constantGuards).toEqual([])
  expect(report.undeclaredSlots).toEqual([])
  expect(report.notExplored).toEqual([])
}

describe("explored with thousands of generated states and events, nothing is wrong with", () => {
  it("the order", () => expectFlawless(explore(Order)))

  it("the traffic light", () => expectFlawless(explore(TrafficLight)))

  it("the document", () => expectFlawless(explore(Document, { starts: [{ title: "On Detents", author: "Ada" }] })))

  it("the batch", () => expectFlawless(explore(Batch)))

  it("the subscription", () => expectFlawless(explore(Subscription)))
})
