import { Engine } from "@detent/durable"
import { RetryPolicy } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { assign, emit, fromCallback, fromPromise, raise, sendParent, sendTo, setup } from "xstate"
import { emitted, fromXState } from "../src/index.ts"
import { withEngine } from "./support/engine.ts"

const playerMachine = setup({
  types: { context: {} as { position: number }, events: {} as { type: "play" } | { type: "pause" } | { type: "seek"; to: number } },
  actions: { report: (_, _params: { text: string }) => undefined },
}).createMachine({
  id: "player",
  type: "parallel",
  context: { position: 0 },
  states: {
    playback: {
      initial: "paused",
      states: {
        paused: { on: { play: "playing" } },
        playing: { on: { pause: "paused" }, entry: { type: "report", params: { text: "on" } } },
      },
    },
    volume: { initial: "normal", states: { normal: {}, muted: {} } },
  },
  on: { seek: { actions: assign({ position: ({ event }) => event.to }) } },
})

describe("an XState machine as a durable instance", () => {
  it.live("keeps parallel regions and context, and ignores what no state handles", () =>
    withEngine(
      Effect.gen(function* () {
        const engine = yield* Engine
        const reported: Array<unknown> = []
        const Player = fromXState(playerMachine, { actions: { report: (params) => void reported.push(params) } })
        const player = yield* engine.start(Player, "p")
        expect(yield* player.state).toMatchObject({
          _tag: "(active)",
          value: { playback: "paused", volume: "normal" },
          context: { position: 0 },
        })
        yield* player.send({ type: "play" })
        yield* player.send({ type: "seek", to: 42 })
        yield* player.send({ type: "play" })
        const state = yield* player.state
        const position: number = state.context.position
        expect(position).toBe(42)
        expect(state.value).toEqual({ playback: "playing", volume: "normal" })
        yield* Effect.repeat(Effect.sleep("5 millis"), { until: () => reported.length === 1 })
        expect(reported).toEqual([{ text: "on" }])
        expect((yield* player.stateAt(1)).value).toEqual({ playback: "playing", volume: "normal" })
        const fork = yield* engine.fork(Player, "p", 1, "f")
        expect((yield* fork.state).context.position).toBe(0)
        expect(yield* engine.check(Player)).toEqual({ checked: 2, failing: [] })
      }),
    ),
  )

  it.live("a promise is a command whose result comes back, and whose rejection does after its attempts", () =>
    withEngine(
      Effect.gen(function* () {
        const engine = yield* Engine
        const keys: Array<string> = []
        let calls = 0
        const machine = setup({
          types: { context: {} as { user: string; problem: string }, events: {} as { type: "again" } },
          actors: { load: fromPromise(async ({ input }: { input: { id: string } }) => `user ${input.id}`) },
        }).createMachine({
          id: "loading",
          context: { user: "", problem: "" },
          initial: "loading",
          states: {
            loading: {
              invoke: {
                src: "load",
                input: { id: "7" },
                onDone: { target: "loaded", actions: assign({ user: ({ event }) => event.output }) },
                onError: { target: "failed", actions: assign({ problem: ({ event }) => (event.error as Error).message }) },
              },
            },
            loaded: { type: "final" },
            failed: { on: { again: "loading" } },
          },
        })
        const plain = yield* engine.start(fromXState(machine, { name: "plain" }), "a")
        expect((yield* plain.awaitFinal).context.user).toBe("user 7")
        const Failing = fromXState(machine, {
          name: "failing",
          actors: {
            load: {
              retry: RetryPolicy.fixed({ delay: 1, maxAttempts: 2 }),
              run: async (input, { key }) => {
                keys.push(key)
                if (++calls < 3) throw new Error(`no user ${input.id}`)
                return "late"
              },
            },
          },
        })
        const failing = yield* engine.start(Failing, "b")
        const failed = yield* failing.waitFor((state) => state._tag === "failed")
        expect(failed.context.problem).toBe("no user 7")
        expect(new Set(keys).size).toBe(1)
        yield* failing.send({ type: "again" })
        expect((yield* failing.awaitFinal).context.user).toBe("late")
        expect(new Set(keys).size).toBe(2)
      }),
    ),
  )

  it.live("delays are delayed events: they fire, and leaving their state cancels them", () =>
    withEngine(
      Effect.gen(function* () {
        const engine = yield* Engine
        const machine = setup({ types: { events: {} as { type: "go" } | { type: "late" } } }).createMachine({
          id: "delays",
          initial: "a",
          states: {
            a: { after: { 20: "b" }, on: { go: "c" } },
            b: { entry: raise({ type: "late" }, { delay: 20, id: "raised" }), on: { late: "done" } },
            c: { after: { 60000: "a" } },
            done: { type: "final" },
          },
        })
        const Delays = fromXState(machine)
        const fired = yield* engine.start(Delays, "fired")
        expect((yield* fired.awaitFinal)._tag).toBe("done")
        const left = yield* engine.start(Delays, "left")
        yield* left.send({ type: "go" })
        yield* Effect.sleep("60 millis")
        expect((yield* left.state)._tag).toBe("c")
        expect((yield* left.historyPage()).map(({ delays }) => delays?.map(({ name, due }) => [name, due !== undefined]))).toEqual([
          [
            ["xstate.after.20.delays.a", false],
            ["xstate.after.60000.delays.c", true],
          ],
        ])
      }),
    ),
  )

  it.live("a child machine is an instance of its own; events between them arrive", () =>
    withEngine(
      Effect.gen(function* () {
        const engine = yield* Engine
        const child = setup({
          types: {
            context: {} as { of: string },
            input: {} as { of: string },
            events: {} as { type: "ping" } | { type: "end" },
            output: {} as string,
          },
        }).createMachine({
          id: "child",
          context: ({ input }) => ({ of: input.of }),
          initial: "waiting",
          states: {
            waiting: { on: { ping: { actions: sendParent({ type: "pong" }) }, end: "done" } },
            done: { type: "final" },
          },
          output: ({ context }) => `child of ${context.of}`,
        })
        const parent = setup({
          types: {
            context: {} as { pongs: number; result: string },
            events: {} as { type: "ping" } | { type: "pong" } | { type: "end" },
          },
          actors: { child },
        }).createMachine({
          id: "parent",
          context: { pongs: 0, result: "" },
          initial: "busy",
          states: {
            busy: {
              invoke: {
                id: "kid",
                src: "child",
                input: { of: "p" },
                onDone: { target: "done", actions: assign({ result: ({ event }) => event.output }) },
              },
              on: {
                ping: { actions: sendTo("kid", { type: "ping" }) },
                pong: { actions: assign({ pongs: ({ context }) => context.pongs + 1 }) },
                end: { actions: sendTo("kid", { type: "end" }) },
              },
            },
            done: { type: "final" },
          },
        })
        const Parent = fromXState(parent)
        const instance = yield* engine.start(Parent, "p")
        yield* instance.send({ type: "ping" })
        yield* instance.send({ type: "ping" })
        yield* instance.waitFor((state) => state.context.pongs === 2)
        expect((yield* engine.machines).map(({ name }) => name)).toEqual(["parent", "parent.child"])
        yield* instance.send({ type: "end" })
        expect((yield* instance.awaitFinal).context).toEqual({ pongs: 2, result: "child of p" })
      }),
    ),
  )

  it.live("a callback runs with the owner, receives what it is sent, and stops with its state", () =>
    withEngine(
      Effect.gen(function* () {
        const engine = yield* Engine
        const seen: Array<string> = []
        const machine = setup({
          types: { context: {} as { ticks: number }, events: {} as { type: "tick" } | { type: "faster" } | { type: "stop" } },
          actors: {
            clock: fromCallback<{ type: "faster" }>(({ sendBack, receive }) => {
              seen.push("started")
              receive((event) => {
                seen.push(event.type)
                sendBack({ type: "tick" })
              })
              sendBack({ type: "tick" })
              return () => void seen.push("stopped")
            }),
          },
        }).createMachine({
          id: "ticking",
          context: { ticks: 0 },
          initial: "on",
          states: {
            on: {
              invoke: { id: "clock", src: "clock" },
              on: {
                tick: { actions: assign({ ticks: ({ context }) => context.ticks + 1 }) },
                faster: { actions: sendTo("clock", { type: "faster" }) },
                stop: "off",
              },
            },
            off: {},
          },
        })
        const ticking = yield* engine.start(fromXState(machine), "t")
        yield* ticking.waitFor((state) => state.context.ticks === 1)
        yield* ticking.send({ type: "faster" })
        yield* ticking.waitFor((state) => state.context.ticks === 2)
        yield* ticking.send({ type: "stop" })
        yield* Effect.repeat(Effect.sleep("5 millis"), { until: () => seen.includes("stopped") })
        expect(seen).toEqual(["started", "faster", "stopped"])
      }),
    ),
  )

  it.live("emitted events are a stream from the journal", () =>
    withEngine(
      Effect.gen(function* () {
        const engine = yield* Engine
        const machine = setup({
          types: { events: {} as { type: "say"; text: string } | { type: "end" }, emitted: {} as { type: "said"; text: string } },
        }).createMachine({
          id: "speaker",
          initial: "open",
          states: {
            open: { on: { say: { actions: emit(({ event }) => ({ type: "said", text: event.text })) }, end: "closed" } },
            closed: { type: "final" },
          },
        })
        const speaker = yield* engine.start(fromXState(machine), "s")
        yield* speaker.send({ type: "say", text: "one" })
        yield* speaker.send({ type: "say", text: "two" })
        yield* speaker.send({ type: "end" })
        const all = yield* Stream.runCollect(emitted(speaker))
        expect(all).toEqual([
          { sequence: 1, event: { type: "said", text: "one" } },
          { sequence: 2, event: { type: "said", text: "two" } },
        ])
      }),
    ),
  )
})
