/** A machine whose command always fails. */
import { Event, Machine, RetryPolicy, Slot, State } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const S = State({ Waiting: {}, Told: { text: Schema.String } })
const E = Event({ Tell: { text: Schema.String } })

export const Teller = Machine.make({
  name: "teller",
  state: S,
  event: E,
  effects: Slot.Effects({ tell: { text: Schema.String } }),
  initial: S.Waiting(),
})
  .on(S.Waiting, E.Tell, S.Told)
  .enter(S.Told, ({ state, effects }) => effects.tell({ text: state.text }))
  .commands({ tell: { queue: "words", retry: RetryPolicy.none } })
  .build({ tell: () => Effect.die(new Error("nobody listens")) })
