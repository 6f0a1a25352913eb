/** The first commit of an instance. */
import type { Beginning } from "@detent/machine"
import type { Node, Tagged } from "@detent/machine/internal"
import type { Commit } from "./Commit.ts"
import { encodeOrigin } from "./Recovery.ts"
import type { Registered } from "./Registered.ts"
import { commandRecords } from "./Step.ts"

export const newInstanceCommit = (registered: Registered, id: string, beginning: Beginning<Tagged, Tagged>, at: number): Commit => {
  const { state, requests, timers } = beginning
  const node = registered.compiled.nodes.get(state._tag) as Node
  return {
    machine: registered.name,
    id,
    expected: -1,
    sequence: 0,
    at,
    summary: {
      tag: state._tag,
      status: node.final ? "final" : "running",
      reason: undefined,
      version: registered.version,
      resident: !node.final && node.works.length > 0,
    },
    origin: encodeOrigin(registered.codec, registered.version, state, beginning.sends),
    events: [],
    snapshot: undefined,
    clearTimers: [],
    setTimers: timers.map(({ name, millis }) => ({ name, entry: 0, due: at + millis })),
    commands: commandRecords(registered.codec, { machine: registered.name, id }, requests, 0),
    fence: undefined,
  }
}
