/**
 * A machine that logs its decisions, hooks and work, for tests of other runtimes, which must keep the same order.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { stay, stop } from "../src/decision/Outcome.ts"
import * as Machine from "../src/Machine.ts"
import { Event } from "../src/schema/Event.ts"
import { State } from "../src/schema/State.ts"

const S = State({ A: { n: Schema.Number }, B: { n: Schema.Number }, C: { n: Schema.Number }, End: {} })
const E = Event({ Go: {}, Back: {}, Set: { n: Schema.Number }, Anew: {}, Finish: {}, Halt: {}, Done: { text: Schema.String } })

export { E as LifeEvent, S as LifeState }

export const recordedLife = (log: Array<string>) => {
  const note = (text: string) => Effect.sync(() => void log.push(text))
  return Machine.make({ name: "recorded", state: S, event: E, initial: S.A({ n: 1 }) })
    .on(S.A, E.Go, S.B, ({ state }) => {
      log.push("decide")
      return S.B(state)
    })
    .on(S.B, E.Back, S.A)
    .on([S.A, S.B], E.Set, [S.A, S.B], ({ state, event }) => ({ ...state, n: event.n }))
    .on(S.B, E.Finish, S.End)
    .on(S.B, E.Halt, stop("halted"))
    .reenter([S.A, S.B], E.Anew)
    .on(S.A, E.Done, stay)
    .exit([S.A, S.B], ({ state, other, event }) => note(`exit ${state._tag} to ${other?._tag} on ${event?._tag}`))
    .enter([S.A, S.B, S.End], ({ state, other }) => note(`enter ${state._tag} from ${other?._tag}`))
    .spawn([S.A, S.B], ({ state }) =>
      Effect.acquireUseRelease(
        note(`spawn ${state._tag}`),
        () => Effect.never,
        () => note(`interrupt ${state._tag}`),
      ),
    )
    .final(S.End)
}
