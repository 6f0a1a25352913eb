import type { Group } from "../../measure/Group.ts"
import { items } from "./items.ts"

const group: Group = {
  parts: { items },
  goals: [
    { key: "items.perSecond", atLeast: 10_000, about: "items uploaded, from start to completed, each with a durable instance" },
    { key: "items.peakRssMb", atMost: 512, about: "peak memory of the process, MB" },
    { key: "items.vsPlainInserts", atLeast: 0.5, about: "speed, of a plain loop of batched INSERTs of the same rows" },
  ],
}

export default group
