/** Model checking: decisions a second while every state of a machine is visited, and how soon planted mistakes are found. */
import { Event, Machine, State } from "@detent/machine"
import { check as checkMachine, never, unproved } from "@detent/machine/testing"
import * as Schema from "effect/Schema"
import { mistakes } from "../../../packages/machine/test/testing/check/mistakes.ts"
import { checkApproval, checkList, checkLock, checkPayment, checkTrip } from "../../../packages/machine/test/testing/check/protocols.ts"
import type { Part } from "../../measure/Group.ts"
import { median } from "../../measure/Statistics.ts"

const S = State({ At: { column: Schema.Int, row: Schema.Int } })
const E = Event({ Right: {}, Down: {}, Home: {} })

/** Each state is new, so no decision is known from before: the worst case of a check. */
const gridOf = (side: number) =>
  Machine.make({ name: "grid", state: S, event: E, initial: S.At({ column: 0, row: 0 }) })
    .on(S.At, E.Right, S.At, ({ state }) => S.At({ column: (state.column + 1) % side, row: state.row }))
    .on(S.At, E.Down, S.At, ({ state }) => S.At({ column: state.column, row: (state.row + 1) % side }))
    .on(S.At, E.Home, S.At, () => S.At({ column: 0, row: 0 }))

const protocols = { payment: checkPayment, approval: checkApproval, trip: checkTrip, lock: checkLock, list: checkList }

export const check: Part = async ({ quick }) => {
  const side = quick ? 200 : 1000
  const grid = gridOf(side)
  const properties = { "stays on the grid": never<typeof S.Type>(({ state }) => state.column >= side || state.row >= side) }
  const rates = Array.from({ length: quick ? 3 : 5 }, () => {
    const start = performance.now()
    const { decisions, situations } = checkMachine(grid, { properties })
    if (situations !== side * side) throw new Error(`${situations} of ${side * side} states were visited`)
    return decisions / ((performance.now() - start) / 1000)
  })
  const found = Object.entries(mistakes).flatMap(([protocol, planted]) =>
    Object.keys(planted).map((mistake) => {
      const start = performance.now()
      const report = protocols[protocol as keyof typeof protocols](mistake)
      return { protocol, mistake, found: unproved(report).length > 0, millis: performance.now() - start, situations: report.situations }
    }),
  )
  const slowest = Math.max(...found.map(({ millis }) => millis))
  return {
    tables: [
      {
        title: `Checking a machine of ${(side * side).toLocaleString("en")} states`,
        columns: ["", "median"],
        rows: [["decisions a second", Math.round(median(rates)).toLocaleString("en")]],
      },
      {
        title: "Planted mistakes in five protocols",
        columns: ["protocol", "mistake", "found", "situations", "ms"],
        rows: found.map((one) => [one.protocol, one.mistake, one.found ? "yes" : "no", String(one.situations), one.millis.toFixed(0)]),
      },
    ],
    figures: {
      "check.decisionsPerSecond": median(rates),
      "check.mistakesFound": found.filter((one) => one.found).length / found.length,
      "check.slowestMistakeMs": slowest,
    },
  }
}
