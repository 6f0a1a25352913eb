/** A decision of the chart as a machine of the engine, beside XState's own pure transition. */
import { deepStrictEqual } from "node:assert/strict"
import { Machine } from "@detent/machine"
import { fromXState } from "@detent/xstate"
import { initialTransition, transition } from "xstate"
import type { Part } from "../../measure/Group.ts"
import { median } from "../../measure/Statistics.ts"
import { checkout, events } from "./chart.ts"

const Checkout = fromXState(checkout)

const ours = (orders: number) => {
  const beginning = Machine.begin(Checkout, undefined)
  if (beginning._tag === "Refused") throw beginning.error
  let { state } = beginning
  for (let order = 0; order < orders; order++) {
    for (const event of events) {
      const decision = Machine.decide(Checkout, state, { ...event, _tag: event.type } as never)
      if (decision._tag !== "Goto" && decision._tag !== "Stay") throw new Error(`the event was not accepted: ${decision._tag}`)
      state = decision.state
    }
  }
  return state.context
}

const xstates = (orders: number) => {
  let [snapshot] = initialTransition(checkout)
  for (let order = 0; order < orders; order++) {
    for (const event of events) [snapshot] = transition(checkout, snapshot, event)
  }
  return snapshot.context
}

const nanoseconds = (run: (orders: number) => unknown, orders: number): number => {
  const start = performance.now()
  run(orders)
  return ((performance.now() - start) * 1e6) / (orders * events.length)
}

export const overhead: Part = async ({ quick }) => {
  deepStrictEqual(ours(3), xstates(3))
  const orders = quick ? 500 : 2000
  for (const run of [ours, xstates]) run(orders)
  const turns = Array.from({ length: quick ? 9 : 25 }, () => [nanoseconds(ours, orders), nanoseconds(xstates, orders)] as const)
  const mine = median(turns.map(([one]) => one))
  const theirs = median(turns.map(([, other]) => other))
  return {
    tables: [
      {
        title: "Decisions of a checkout with parallel regions",
        columns: ["", "ns per event"],
        rows: [
          ["detent, with the state as data", mine.toFixed(0)],
          ["XState's transition", theirs.toFixed(0)],
        ],
        notes: [],
      },
    ],
    figures: { "overhead.nanosecondsPerEvent": mine, "overhead.vsTransition": mine / theirs },
  }
}
