import type { Group } from "../../measure/Group.ts"
import { bloat } from "./bloat.ts"
import { growth } from "./growth.ts"
import { retention } from "./retention.ts"

const group: Group = {
  parts: { growth, bloat, retention },
  goals: [
    { key: "growth.transitionCpu", atMost: 1.2, about: "CPU of a transition on the largest tables, of that on the smallest" },
    { key: "growth.startCpu", atMost: 1.5, about: "CPU of a new instance, the same" },
    { key: "growth.openMillis", atMost: 10, about: "opening an instance on the largest tables, ms" },
    { key: "growth.listMillis", atMost: 10, about: "a page of 50 instances, newest first or far into the list, ms" },
    { key: "growth.searchMillis", atMost: 10, about: "a search by an indexed field, or by the beginning of an id, ms" },
    { key: "growth.timersLastMillis", atMost: 500, about: "the last of 1,000 timers due at once, ms late" },
    { key: "growth.recoveryFirstMillis", atMost: 1000, about: "from the restart after kill -9 to the first event stored, ms" },
    { key: "growth.lost", atMost: 0, about: "events acknowledged and lost by kill -9" },
    { key: "bloat.cpuLastVsFirst", atMost: 1.2, about: "CPU of a transition in the last tenth, of that in the first" },
    { key: "bloat.hotShare", atLeast: 0.99, about: "updates of instances that write to no index" },
    { key: "bloat.cpuVsDefaults", atMost: 1, about: "CPU of a transition, of that with PostgreSQL's default settings" },
    { key: "retention.removedPerSecond", atLeast: 1000, about: "instances removed per second, while 50 callers write" },
    { key: "retention.writesAfterVsBefore", atLeast: 0.9, about: "transitions per second after retention, of those before" },
  ],
}

export default group
