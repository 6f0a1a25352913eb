import type { Group } from "../../measure/Group.ts"
import { queue } from "./queue.ts"
import { steps } from "./steps.ts"
import { transition } from "./transition.ts"
import { signal, sleepers } from "./waiting.ts"

const group: Group = {
  parts: { steps, signal, sleepers, queue, transition },
  goals: [
    { key: "steps.vsDbos", atLeast: 5, about: "workflows of ten steps that run code, against DBOS" },
    { key: "steps.vsEffect", atLeast: 5, about: "the same, against Effect's engine" },
    { key: "steps.vsRestate", atLeast: 1, about: "the same, against Restate" },
    { key: "steps.vsVercel", atLeast: 5, about: "the same, against Vercel Workflow" },
    { key: "steps.cpuVsDbos", atMost: 0.5, about: "CPU of such a workflow, Node and PostgreSQL, of DBOS's" },
    { key: "steps.cpuVsRestate", atMost: 1, about: "the same, of Restate's with its server" },
    { key: "signal.vsDbos", atMost: 1, about: "median from a signal to the next step, of DBOS's" },
    { key: "signal.vsRestate", atMost: 1, about: "the same, of Restate's" },
    { key: "sleepers.vsDbos", atMost: 1, about: "p99 lateness of 1,000 sleeping workflows, of DBOS's" },
    { key: "sleepers.vsRestate", atMost: 1, about: "the same, of Restate's" },
    { key: "queue.vsGraphile", atLeast: 1.5, about: "jobs enqueued and done, against graphile-worker" },
    { key: "queue.vsPgBoss", atLeast: 1.5, about: "the same, against pg-boss" },
    { key: "transition.vsRestate", atLeast: 3, about: "transitions of 50 instances, against virtual objects of Restate" },
  ],
}

export default group
