// @effect-diagnostics floatingEffect:off missingReturnYieldStar:off missingEffectContext:off
// Nothing here runs: the lines are there for the type checker to accept or refuse.
/** XState's own types hold at `start`, `send`, `state` and in the implementations. */
import type { EngineService } from "@detent/durable"
import * as Effect from "effect/Effect"
import { fromPromise, setup } from "xstate"
import { fromXState } from "../src/index.ts"

declare const engine: EngineService

const machine = setup({
  types: {
    context: {} as { count: number },
    input: {} as { from: number },
    events: {} as { type: "add"; by: number } | { type: "reset" },
    output: {} as { total: number },
  },
  actions: { tell: (_, _params: { text: string }) => undefined },
  actors: { load: fromPromise(async ({ input }: { input: { id: string } }) => input.id.length) },
}).createMachine({ id: "counter", context: ({ input }) => ({ count: input.from }), initial: "on", states: { on: {}, off: {} } })

const Counter = fromXState(machine, {
  actions: { tell: ({ text }, { key }) => Effect.log(text.length, key.length) },
  actors: { load: async ({ id }) => id.length },
})

// @ts-expect-error there is no such action
fromXState(machine, { actions: { shout: () => undefined } })
// @ts-expect-error the parameter is a text
fromXState(machine, { actions: { tell: ({ text }: { text: number }) => text } })
// @ts-expect-error there is no such actor
fromXState(machine, { actors: { save: async () => 1 } })

// @ts-expect-error the input is needed
engine.start(Counter, "a")
// @ts-expect-error the input has a number
engine.start(Counter, "a", { from: "1" })

Effect.gen(function* () {
  const counter = yield* engine.start(Counter, "a", { from: 1 })
  counter.send({ type: "add", by: 1 })
  counter.send({ type: "reset" })
  // @ts-expect-error the event has a number
  counter.send({ type: "add", by: "1" })
  // @ts-expect-error there is no such event
  counter.send({ type: "unknown" })
  const { context, value, output } = yield* counter.state
  const count: number = context.count
  const where: "on" | "off" = value
  const total: number | undefined = output?.total
  // @ts-expect-error the context has no such field
  context.other
  const isOn: boolean = machine.resolveState(yield* counter.state).matches("on")
  return { count, where, total, isOn }
})

const WithoutInput = fromXState(setup({}).createMachine({ id: "plain" }))
engine.start(WithoutInput, "b")
