/** Schedules of every second, for processes that are killed and for the test that counts what they have started. */
import { Event, Machine, State } from "@detent/machine"
import * as Schema from "effect/Schema"
import { schedule, startInstance } from "../../src/promise.ts"

const S = State({ Started: { at: Schema.String } })

export const Started = Machine.make({ name: "started", state: S, event: Event({ Look: {} }), initial: S.Started })

export const secondly = Array.from({ length: 25 }, (_, n) =>
  schedule(`s${n}`, { every: "1 second", overlap: "allow", catchUp: "all", start: ({ id, at }) => startInstance(Started, id, { at }) }),
)
