/**
 * Instances of Detent whose state has a timeout. Every call of the transition is counted, also by a replay; an inspection reports
 * the event when it is stored. In the end the journal must have one event per instance.
 */
import { Engine } from "@detent/durable"
import { Event, Machine, State } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Schema from "effect/Schema"
import { Firings, type Lateness } from "../Lateness.ts"
import { payload } from "../machines/toggle.ts"
import { countRows, onPostgres } from "./detent.ts"

const S = State({ Waiting: { number: Schema.Number, millis: Schema.Number, payload: Schema.String }, Over: { number: Schema.Number } })

const waiter = (called: (number: number) => void) =>
  Machine.make({ name: "waiter", state: S, event: Event({ Never: {} }), initial: S.Waiting })
    .timeout(
      S.Waiting,
      ({ millis }) => millis,
      S.Over,
      ({ state: { number } }) => {
        called(number)
        return S.Over({ number })
      },
    )
    .final(S.Over)

export const timers = async ({ database }: { readonly database: string }): Promise<Lateness & { readonly close: () => Promise<void> }> => {
  const runtime = ManagedRuntime.make(onPostgres(database))
  const engine = await runtime.runPromise(Effect.map(Engine, (engine) => engine))
  let firings = new Firings(0, 0)
  let waiters = 0
  const Waiter = waiter((number) => firings.called(number))
  engine.inspectUnsafe((inspection) => {
    if (inspection._tag === "Decided") firings.stored((inspection.decision.state as ReturnType<typeof S.Over>).number)
  })
  return {
    fire: async (count, leadMillis) => {
      const due = Date.now() + leadMillis
      firings = new Firings(count, due)
      const start = (number: number) =>
        Effect.suspend(() =>
          // The engine reads the clock a moment later, so no deadline is before `due`, from which lateness is counted.
          engine.start(Waiter, `waiter-${waiters++}`, { number, millis: due - Date.now(), payload }),
        )
      await runtime.runPromise(
        Effect.all(
          Array.from({ length: count }, (_, number) => start(number)),
          { concurrency: 1000, discard: true },
        ),
      )
      const fired = await firings.results()
      const left = await runtime.runPromise(countRows("detent.timers"))
      const journaled = await runtime.runPromise(countRows("detent.events"))
      if (left !== 0 || journaled !== waiters) throw new Error(`${waiters} timers: ${journaled} are journaled, ${left} are left`)
      return fired
    },
    close: () => runtime.dispose(),
  }
}
