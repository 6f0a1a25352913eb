/** A meter that adds up its readings. Each reading has a name of its own. */
import { Event, Machine, State } from "@detent/machine"
import * as Schema from "effect/Schema"

export const S = State({ Counting: { total: Schema.Int } })
export const E = Event({ Read: { reading: Schema.String, amount: Schema.Int } })

export const Meter = Machine.make({ name: "meter", state: S, event: E, initial: S.Counting({ total: 0 }) }).on(
  S.Counting,
  E.Read,
  S.Counting,
  ({ state, event }) => S.Counting({ total: state.total + event.amount }),
)

/** The meters that all nodes send to. */
export const meters: ReadonlyArray<string> = Array.from({ length: 60 }, (_, index) => `meter-${index}`)
