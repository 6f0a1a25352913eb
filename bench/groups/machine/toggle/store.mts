import { createStore } from "@xstate/store"
import type { DecidingEntry } from "../Entry.ts"
import { type Toggle, turns } from "./workload.ts"

const store = createStore({
  context: { status: "Off", count: 0 } as Toggle,
  on: {
    Turn: (toggle) => ({ status: toggle.status === "Off" ? "On" : "Off", count: toggle.count + 1 }),
  },
})

const turn = { type: "Turn" } as const

export const deciding: DecidingEntry<Toggle> = {
  name: "@xstate/store",
  play: () => {
    let snapshot = store.getInitialSnapshot()
    for (let turned = 0; turned < turns; turned++) [snapshot] = store.transition(snapshot, turn)
    return snapshot
  },
  read: (end) => (end as ReturnType<typeof store.getSnapshot>).context,
}
