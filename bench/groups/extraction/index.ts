import type { Group } from "../../measure/Group.ts"
import { durability } from "./durability.ts"

const group: Group = {
  parts: { durability },
  goals: [{ key: "durability.overhead", atMost: 0.1, about: "time lost to durability, documents of 5 kB and more" }],
}

export default group
