import type { Group } from "../../measure/Group.ts"
import { durable } from "./durable.ts"
import { overhead } from "./overhead.ts"

const group: Group = {
  parts: { durable, overhead },
  goals: [
    {
      key: "durable.vsPersistByHand",
      atLeast: 5,
      about: "transitions on PostgreSQL, 50 charts, against snapshots written by hand on a pool of 10 connections",
    },
    { key: "overhead.vsTransition", atMost: 1.5, about: "time of a decision, of the time of XState's transition" },
  ],
}

export default group
