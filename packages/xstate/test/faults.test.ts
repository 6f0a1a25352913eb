/** What goes wrong inside a chart reaches the chart, its parent, or the caller, and stops nothing else. */
import { Engine } from "@detent/durable"
import { RetryPolicy } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assign, forwardTo, fromCallback, fromPromise, raise, sendParent, setup } from "xstate"
import { fromXState } from "../src/index.ts"
import { withEngine } from "./support/engine.ts"

const fail = (message: string) => (): never => {
  throw new Error(message)
}

const once = { retry: RetryPolicy.none }

describe("a transition that throws", () => {
  it.live("refuses the event of a caller, and nothing changes", () =>
    withEngine(
      Effect.gen(function* () {
        const engine = yield* Engine
        const machine = setup({ types: { context: {} as { n: number }, events: {} as { type: "boom" } | { type: "add"; n: number } } })
        const Counter = fromXState(
          machine.createMachine({
            id: "counter",
            context: { n: 0 },
            on: {
              boom: { actions: assign({ n: fail("kaboom") }) },
              add: { actions: assign({ n: ({ context, event }) => context.n + event.n }) },
            },
          }),
        )
        const counter = yield* engine.start(Counter, "c")
        expect((yield* Effect.flip(counter.send({ type: "boom" }))).message).toContain("kaboom")
        yield* counter.send({ type: "add", n: 5 })
        expect(yield* counter.state).toMatchObject({ _tag: "(active)", context: { n: 5 } })
        expect(yield* counter.lastSequence).toBe(1)
      }),
    ),
  )

  it.live("ends a child with an error that its parent gets, also where the child cannot begin", () =>
    withEngine(
      Effect.gen(function* () {
        const engine = yield* Engine
        const child = setup({ types: { context: {} as { n: number }, events: {} as { type: "boom" } | { type: "ask" } } }).createMachine({
          id: "child",
          context: { n: 0 },
          on: { boom: { actions: assign({ n: fail("kaboom") }) }, ask: { actions: sendParent({ type: "answer" }) } },
        })
        const unborn = setup({}).createMachine({ id: "unborn", context: fail("no input") })
        const parent = setup({
          types: {
            context: {} as { answers: number; problems: ReadonlyArray<string> },
            events: {} as { type: "boom" } | { type: "ask" } | { type: "answer" } | { type: "begin" },
          },
          actors: { child, unborn },
          actions: {
            note: assign({
              problems: ({ context, event }) => [...context.problems, (event as unknown as { error: { message: string } }).error.message],
            }),
          },
        }).createMachine({
          id: "parent",
          context: { answers: 0, problems: [] },
          invoke: { id: "kid", src: "child", onError: { actions: "note" } },
          initial: "resting",
          states: {
            resting: { on: { begin: "beginning" } },
            beginning: { invoke: { id: "other", src: "unborn", onError: { target: "resting", actions: "note" } } },
          },
          on: {
            boom: { actions: forwardTo("kid") },
            ask: { actions: forwardTo("kid") },
            answer: { actions: assign({ answers: ({ context }) => context.answers + 1 }) },
          },
        })
        const family = yield* engine.start(fromXState(parent), "f")
        yield* family.send({ type: "ask" })
        yield* family.waitFor(({ context }) => context.answers === 1)
        yield* family.send({ type: "boom" })
        yield* family.waitFor(({ context }) => context.problems.length === 1)
        yield* family.send({ type: "begin" })
        const { context } = yield* family.waitFor((state) => state._tag === "resting" && state.context.problems.length === 2)
        expect(context).toEqual({ answers: 1, problems: ["kaboom", "no input"] })
      }),
    ),
  )

  it.live("ends the chart where the event has no caller: a result, or a delayed event of its own", () =>
    withEngine(
      Effect.gen(function* () {
        const engine = yield* Engine
        const result = setup({ types: { context: {} as { n: number } }, actors: { load: fromPromise(async () => 1) } }).createMachine({
          id: "result",
          context: { n: 0 },
          initial: "loading",
          states: { loading: { invoke: { src: "load", onDone: { actions: assign({ n: fail("in onDone") }) } } } },
        })
        const delayed = setup({
          types: { context: {} as { n: number }, events: {} as { type: "later" } },
          actions: { tell: fail("an action of a transition that throws") },
        }).createMachine({
          id: "delayed",
          context: { n: 0 },
          entry: raise({ type: "later" }, { delay: 5 }),
          on: { later: { actions: ["tell", assign({ n: fail("in later") })] } },
        })
        const one = yield* engine.start(fromXState(result), "r")
        expect(yield* one.awaitFinal).toMatchObject({ _tag: "(error)", status: "error", error: { message: "in onDone" } })
        const two = yield* engine.start(fromXState(delayed), "d")
        const ended = yield* two.awaitFinal
        expect(ended).toMatchObject({ _tag: "(error)", status: "error", error: { message: "in later" }, context: { n: 0 } })
        expect((yield* two.historyPage()).flatMap(({ requests }) => requests)).toEqual([])
        expect(yield* two.stateAt(1)).toEqual(ended)
      }),
    ),
  )
})

describe("what cannot be kept", () => {
  it.live("is an error of the promise or the callback that it comes from", () =>
    withEngine(
      Effect.gen(function* () {
        const engine = yield* Engine
        const machine = setup({
          types: { context: {} as { problem: string }, events: {} as { type: "at" } },
          actors: {
            dates: fromPromise(async () => new Date(0)),
            clock: fromCallback(({ sendBack }) => sendBack({ type: "at", date: new Date(0) })),
          },
          actions: {
            note: assign({ problem: ({ event }) => (event as unknown as { error: { message: string } }).error.message }),
          },
        })
        const failed = { onError: { target: "failed", actions: "note" } } as const
        const Promised = fromXState(
          machine.createMachine({
            id: "promised",
            context: { problem: "" },
            initial: "on",
            states: { on: { invoke: { id: "dates", src: "dates", onDone: "done", ...failed } }, done: {}, failed: { type: "final" } },
          }),
          { actors: { dates: once } },
        )
        const Called = fromXState(
          machine.createMachine({
            id: "called",
            context: { problem: "" },
            initial: "on",
            states: { on: { invoke: { id: "clock", src: "clock", ...failed } }, failed: { type: "final" } },
          }),
        )
        const promised = yield* Effect.flatMap(engine.start(Promised, "p"), (instance) => instance.awaitFinal)
        expect(promised.context.problem).toContain("the output of dates holds an instance of Date")
        const called = yield* Effect.flatMap(engine.start(Called, "c"), (instance) => instance.awaitFinal)
        expect(called.context.problem).toContain("the event of clock.date holds an instance of Date")
      }),
    ),
  )

  it.live("of an error is left out: its name, message and plain fields are kept", () =>
    withEngine(
      Effect.gen(function* () {
        const engine = yield* Engine
        const machine = setup({
          actors: {
            load: fromPromise(async () => {
              throw Object.assign(new TypeError("down"), { code: 503, at: new Date(0), retry: () => undefined })
            }),
          },
        }).createMachine({ id: "failing", invoke: { src: "load" } })
        const failing = yield* engine.start(fromXState(machine, { actors: { load: once } }), "f")
        const { error } = yield* failing.awaitFinal
        expect(error).toEqual({ name: "TypeError", message: "down", code: 503, at: "1970-01-01T00:00:00.000Z" })
      }),
    ),
  )
})

it.live("an action sends to its own instance by self, once for each execution that is stored", () =>
  withEngine(
    Effect.gen(function* () {
      const engine = yield* Engine
      const machine = setup({
        types: { events: {} as { type: "go" } | { type: "pong"; n: number }, context: {} as { pongs: ReadonlyArray<number> } },
        actions: {
          ping: async ({ self }) => {
            self.send({ type: "pong", n: 1 })
            await Promise.resolve()
            self.send({ type: "pong", n: 2 })
          },
        },
      }).createMachine({
        id: "pinging",
        context: { pongs: [] },
        on: { go: { actions: "ping" }, pong: { actions: assign({ pongs: ({ context, event }) => [...context.pongs, event.n] }) } },
      })
      const pinging = yield* engine.start(fromXState(machine), "p")
      yield* pinging.send({ type: "go" })
      const { context } = yield* pinging.waitFor((state) => state.context.pongs.length === 2)
      expect(context.pongs).toEqual([1, 2])
    }),
  ),
)
