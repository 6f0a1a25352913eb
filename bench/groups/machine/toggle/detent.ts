import { Event, Machine, State } from "@detent/machine"
import * as Schema from "effect/Schema"
import type { DecidingEntry } from "../Entry.ts"
import { type Toggle, turns } from "./workload.ts"

const S = State({ Off: { count: Schema.Number }, On: { count: Schema.Number } })
const E = Event({ Turn: {} })

const machine = Machine.make({ name: "toggle", state: S, event: E, initial: S.Off({ count: 0 }) })
  .on(S.Off, E.Turn, S.On, ({ state }) => S.On({ count: state.count + 1 }))
  .on(S.On, E.Turn, S.Off, ({ state }) => S.Off({ count: state.count + 1 }))

const turn = E.Turn()

export const deciding: DecidingEntry<Toggle> = {
  name: "detent",
  play: () => {
    const beginning = Machine.begin(machine, undefined)
    if (beginning._tag === "Refused") throw beginning.error
    let state: typeof S.Type = beginning.state
    for (let turned = 0; turned < turns; turned++) {
      const decision = Machine.decide(machine, state, turn)
      if (decision._tag !== "Goto") throw new Error(`the toggle is ${decision._tag}`)
      state = decision.state
    }
    return state
  },
  read: (end) => {
    const { _tag, count } = end as typeof S.Type
    return { status: _tag, count }
  },
}
