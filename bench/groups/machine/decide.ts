/** Pure decisions: from a state and an event to the next state, without actors. */
import { deepStrictEqual } from "node:assert/strict"
import { type Contestant, contestInProcesses, oneByOne } from "../../measure/Contest.ts"
import type { Part } from "../../measure/Group.ts"
import { type Table, times } from "../../measure/Table.ts"
import { type DecidingEntry, load } from "./Entry.ts"
import * as order from "./order/workload.ts"
import { decidingTiming } from "./timing.ts"
import * as toggle from "./toggle/workload.ts"

export const decide: Part = async (settings) => {
  const timing = decidingTiming(settings)
  const w1 = await contestInProcesses(import.meta.url, "toggles", timing)
  const w2 = await contestInProcesses(import.meta.url, "orders", timing)
  return {
    tables: [
      table(`Decisions, W1: a toggle, created and turned ${toggle.turns} times`, w1, toggle.turns),
      table("Decisions, W2: an order of six states, created and taken through 7 events", w2, order.events.length),
    ],
    figures: {
      "decide.vsXstate": ratio(w2, "xstate"),
      "decide.vsSwitch": ratio(w2, "switch"),
      "decide.vsRobot": ratio(w2, "robot3 (a service)"),
      "decide.vsStore": ratio(w2, "@xstate/store"),
      "decide.nanosecondsPerEvent": nanoseconds(w2, "detent") / order.events.length,
      "decide.w1.vsXstate": ratio(w1, "xstate"),
      "decide.w1.vsSwitch": ratio(w1, "switch"),
    },
  }
}

export const toggles = () => contestants("toggle", toggle.expected)

export const orders = () => contestants("order", order.expected)

const contestants = async (workload: string, expected: unknown): Promise<ReadonlyArray<Contestant<ReadonlyArray<unknown>>>> => {
  const files = ["switch.ts", "detent.ts", "store.mts", "robot.mts", "xstate.mts"]
  const modules = await Promise.all(files.map((file) => load<{ readonly deciding: DecidingEntry<unknown> }>(`./${workload}/${file}`)))
  const entries = modules.map(({ deciding }) => deciding)
  for (const entry of entries) deepStrictEqual(entry.read(entry.play()), expected, `${entry.name} ends differently`)
  return entries.map(({ name, play }) => ({ name, prepare: (rounds) => Array.from({ length: rounds }), play: oneByOne(play) }))
}

const nanoseconds = (results: ReadonlyMap<string, number>, name: string) => results.get(name) ?? Number.NaN

const ratio = (results: ReadonlyMap<string, number>, name: string) => nanoseconds(results, name) / nanoseconds(results, "detent")

const table = (title: string, results: ReadonlyMap<string, number>, events: number): Table => ({
  title,
  columns: ["", "ns per round", "ns per event", "detent is faster by"],
  rows: [...results].map(([name, round]) => [name, round.toFixed(0), (round / events).toFixed(1), times(ratio(results, name))]),
  notes: ["robot3 has no pure transition function: its row is a service."],
})
