import { createMachine, interpret, reduce, type Service, state, transition } from "robot3"
import type { DecidingEntry } from "../Entry.ts"
import { type Toggle, turns } from "./workload.ts"

interface Context {
  readonly count: number
}

const countUp = reduce((context: Context) => ({ count: context.count + 1 }))

const machine = createMachine(
  { Off: state(transition("Turn", "On", countUp)), On: state(transition("Turn", "Off", countUp)) },
  (): Context => ({ count: 0 }),
)

const turn = { type: "Turn" } as const
const ignore = () => undefined

export const deciding: DecidingEntry<Toggle> = {
  name: "robot3 (a service)",
  play: () => {
    const service = interpret(machine, ignore)
    for (let turned = 0; turned < turns; turned++) service.send(turn)
    return service
  },
  read: (end) => {
    const { machine: reached, context } = end as Service<typeof machine>
    return { status: reached.current, count: context.count }
  },
}
