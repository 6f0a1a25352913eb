import type { Group } from "../../measure/Group.ts"
import { durability } from "./durability.ts"
import { large } from "./large.ts"
import { speed } from "./speed.ts"

const group: Group = {
  parts: { durability, speed, large },
  goals: [
    { key: "durability.overhead", atMost: 0.1, about: "additional time with durability, documents of 5 kB and more" },
    { key: "large.peakRssMb", atMost: 1000, about: "peak memory of a text of 100 MB (10 MB when quick), MB" },
  ],
}

export default group
