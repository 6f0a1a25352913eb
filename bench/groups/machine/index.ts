import type { Group } from "../../measure/Group.ts"
import { actors } from "./actors.ts"
import { check } from "./check.ts"
import { decide } from "./decide.ts"
import { imports } from "./imports.ts"
import { send } from "./send.ts"
import { types } from "./types.ts"

const group: Group = {
  parts: { decide, send, actors, types, imports, check },
  goals: [
    { key: "decide.vsXstate", atLeast: 80, about: "decisions on orders, against xstate's transition()" },
    { key: "decide.vsSwitch", atLeast: 1 / 6, about: "decisions on orders, against a hand-written switch" },
    { key: "send.vsXstate", atLeast: 10, about: "sends to live orders, against xstate's actor.send" },
    { key: "actor.heapBytes", atMost: 1200, about: "heap of an idle actor" },
    { key: "actor.createVsXstate", atLeast: 5, about: "creating actors, against xstate's createActor" },
    { key: "types.cpuVsXstate", atMost: 1, about: "type-checking 20 machines, of xstate's CPU time" },
    { key: "check.decisionsPerSecond", atLeast: 1_000_000, about: "decisions a second of a model check, on states that are all new" },
    { key: "check.mistakesFound", atLeast: 1, about: "planted mistakes that a model check finds, of 31" },
    { key: "check.slowestMistakeMs", atMost: 1000, about: "finding the slowest of them" },
    { key: "import.vsEffect", atMost: 1.1, about: "importing the package, of importing the Effect modules it needs" },
  ],
}

export default group
