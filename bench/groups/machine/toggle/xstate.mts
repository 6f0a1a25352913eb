import { assign, initialTransition, type SnapshotFrom, setup, transition } from "xstate"
import type { DecidingEntry } from "../Entry.ts"
import { type Toggle, turns } from "./workload.ts"

const machine = setup({
  types: {} as { context: { count: number }; events: { type: "Turn" } },
  actions: { countUp: assign({ count: ({ context }) => context.count + 1 }) },
}).createMachine({
  id: "toggle",
  context: { count: 0 },
  initial: "Off",
  states: {
    Off: { on: { Turn: { target: "On", actions: "countUp" } } },
    On: { on: { Turn: { target: "Off", actions: "countUp" } } },
  },
})

const turn = { type: "Turn" } as const

export const deciding: DecidingEntry<Toggle> = {
  name: "xstate",
  play: () => {
    let [snapshot] = initialTransition(machine)
    for (let turned = 0; turned < turns; turned++) [snapshot] = transition(machine, snapshot, turn)
    return snapshot
  },
  read: (end) => {
    const { value, context } = end as SnapshotFrom<typeof machine>
    return { status: value, count: context.count }
  },
}
