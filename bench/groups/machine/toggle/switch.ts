import type { DecidingEntry } from "../Entry.ts"
import { type Toggle, turns } from "./workload.ts"

const turn = { type: "Turn" }

const next = (toggle: Toggle, event: { readonly type: string }): Toggle => {
  switch (toggle.status) {
    case "Off":
      return event.type === "Turn" ? { status: "On", count: toggle.count + 1 } : toggle
    case "On":
      return event.type === "Turn" ? { status: "Off", count: toggle.count + 1 } : toggle
    default:
      return toggle
  }
}

export const deciding: DecidingEntry<Toggle> = {
  name: "switch",
  play: () => {
    let toggle: Toggle = { status: "Off", count: 0 }
    for (let turned = 0; turned < turns; turned++) toggle = next(toggle, turn)
    return toggle
  },
  read: (end) => end as Toggle,
}
