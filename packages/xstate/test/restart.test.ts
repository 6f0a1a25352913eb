import { Engine, MemoryStore } from "@detent/durable"
import { Mermaid } from "@detent/machine/diagram"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type ActorRefFrom, assign, fromCallback, sendParent, sendTo, setup } from "xstate"
import { fromXState } from "../src/index.ts"

/** Engines one after the other on one store, as processes are. */
const lives = Effect.map(
  MemoryStore.make,
  (store) =>
    <A, E>(life: Effect.Effect<A, E, Engine>) =>
      Effect.scoped(Effect.provide(life, Engine.layer().pipe(Layer.provide(Layer.succeedContext(store))))),
)

const child = setup({ types: { context: {} as { heard: number }, events: {} as { type: "hello" } } }).createMachine({
  id: "child",
  context: { heard: 0 },
  on: { hello: { actions: [assign({ heard: ({ context }) => context.heard + 1 }), sendParent({ type: "heard" })] } },
})

const parent = setup({
  types: {
    context: {} as { kid: ActorRefFrom<typeof child> | undefined; heard: number },
    events: {} as { type: "greet" } | { type: "heard" } | { type: "leave" } | { type: "back" },
  },
  actors: { child },
}).createMachine({
  id: "family",
  context: { kid: undefined, heard: 0 },
  initial: "home",
  states: {
    home: {
      entry: assign({ kid: ({ context, spawn }) => context.kid ?? spawn("child", { id: "kid" }) }),
      initial: "kitchen",
      states: { kitchen: { on: { leave: "garden" } }, garden: {}, last: { type: "history" } },
      on: {
        greet: { actions: sendTo(({ context }) => context.kid as ActorRefFrom<typeof child>, { type: "hello" }) },
        heard: { actions: assign({ heard: ({ context }) => context.heard + 1 }) },
        back: ".last",
      },
    },
  },
})

describe("after a restart", () => {
  it.live("an actor in the context is the same actor, and what is nested and remembered is as it was", () =>
    Effect.gen(function* () {
      const live = yield* lives
      const Family = fromXState(parent)
      yield* live(
        Effect.gen(function* () {
          const engine = yield* Engine
          const family = yield* engine.start(Family, "f")
          yield* family.send({ type: "greet" })
          yield* family.waitFor(({ context }) => context.heard === 1)
          yield* family.send({ type: "leave" })
          expect(yield* family.saveSnapshot).toBe(true)
        }),
      )
      yield* live(
        Effect.gen(function* () {
          const engine = yield* Engine
          yield* engine.register(Family)
          const family = yield* engine.ensure(Family, "f")
          expect((yield* family.state)._tag).toBe("home.garden")
          yield* family.send({ type: "greet" })
          yield* family.waitFor(({ context }) => context.heard === 2)
          expect((yield* engine.machines).map(({ name }) => name)).toEqual(["family", "family.child"])
        }),
      )
    }),
  )

  it.live("what assign and guards found is as it was; with journaled events alone they are asked again", () =>
    Effect.gen(function* () {
      const live = yield* lives
      let calls = 0
      let isOpen = true
      const dice = setup({
        types: { context: {} as { thrown: number }, events: {} as { type: "throw" } | { type: "leave" } | { type: "close" } },
        actions: { note: () => undefined },
        guards: { isOpen: () => isOpen },
      }).createMachine({
        id: "dice",
        context: { thrown: 0 },
        initial: "table",
        states: { table: { on: { leave: { guard: "isOpen", target: "street" } } }, street: { on: { close: "house" } }, house: {} },
        on: { throw: { actions: [assign({ thrown: () => ++calls }), "note"] } },
      })
      const States = fromXState(dice, { name: "states" })
      const Events = fromXState(dice, { name: "events", journal: "events" })
      const before = yield* live(
        Effect.gen(function* () {
          const engine = yield* Engine
          const instances = [yield* engine.start(States, "d"), yield* engine.start(Events, "d")] as const
          yield* instances[0].send({ type: "leave" })
          yield* instances[0].send({ type: "close" })
          return yield* Effect.forEach(instances, (instance) => Effect.andThen(instance.send({ type: "throw" }), instance.state))
        }),
      )
      isOpen = false
      expect(before.map(({ context }) => context.thrown)).toEqual([1, 2])
      yield* live(
        Effect.gen(function* () {
          const engine = yield* Engine
          const states = yield* engine.ensure(States, "d")
          expect(yield* states.state).toMatchObject({ _tag: "house", context: { thrown: 1 } })
          expect((yield* states.stateAt(1))._tag).toBe("street")
          expect((yield* states.historyPage()).map(({ requests }) => requests)).toEqual([[], [], ["note"]])
          expect((yield* (yield* engine.ensure(Events, "d")).state).context.thrown).toBeGreaterThan(2)
        }),
      )
    }),
  )

  it.live("a new version reads what the one before stored, through its upcasters", () =>
    Effect.gen(function* () {
      const live = yield* lives
      const lamp = (state: string) =>
        setup({ types: { context: {} as { turns: number }, events: {} as { type: "turn" } } }).createMachine({
          id: "lamp",
          context: { turns: 0 },
          initial: state,
          states: { [state]: { on: { turn: { actions: assign({ turns: ({ context }) => context.turns + 1 }) } } } },
        })
      yield* live(
        Effect.gen(function* () {
          const one = yield* (yield* Engine).start(fromXState(lamp("on"), { version: 1 }), "l")
          yield* one.send({ type: "turn" })
        }),
      )
      yield* live(
        Effect.gen(function* () {
          const engine = yield* Engine
          const Lamp = fromXState(lamp("lit"), { version: 2 })
          const upcasters = { 1: { state: (state: object) => ({ ...state, _tag: "lit", value: "lit" }) } }
          expect((yield* engine.check(Lamp)).failing.length).toBe(1)
          expect((yield* engine.check(Lamp, { upcasters })).failing).toEqual([])
          yield* engine.register(Lamp, { upcasters })
          const two = yield* engine.ensure(Lamp, "l")
          yield* two.send({ type: "turn" })
          expect(yield* two.state).toMatchObject({ _tag: "lit", context: { turns: 2 } })
        }),
      )
    }),
  )

  it.live("a check finds an instance in a region that the new chart has no more", () =>
    Effect.gen(function* () {
      const live = yield* lives
      const radio = (state: string) =>
        setup({ types: { events: {} as { type: "play" } } }).createMachine({
          id: "radio",
          type: "parallel",
          states: {
            band: { initial: "off", states: { off: { on: { play: state } }, [state]: {} } },
            sound: { initial: "on", states: { on: {} } },
          },
        })
      yield* live(
        Effect.gen(function* () {
          const one = yield* (yield* Engine).start(fromXState(radio("fm")), "r")
          yield* one.send({ type: "play" })
          expect(yield* one.saveSnapshot).toBe(true)
        }),
      )
      yield* live(
        Effect.gen(function* () {
          const engine = yield* Engine
          expect((yield* engine.check(fromXState(radio("fm")))).failing).toEqual([])
          const { failing } = yield* engine.check(fromXState(radio("dab")))
          expect(failing[0]?.problem).toContain("it names states that the chart does not have")
        }),
      )
    }),
  )

  it.live("a child machine of a new version is read through the upcasters in its options", () =>
    Effect.gen(function* () {
      const live = yield* lives
      const wired = (state: string) => {
        const lamp = setup({ types: { events: {} as { type: "flash" } } }).createMachine({
          id: "lamp",
          initial: state,
          states: { [state]: { on: { flash: { actions: sendParent({ type: "flashed" }) } } } },
        })
        return setup({
          types: { context: {} as { flashes: number }, events: {} as { type: "flash" } | { type: "flashed" } },
          actors: { lamp },
        }).createMachine({
          id: "house",
          context: { flashes: 0 },
          invoke: { id: "lamp", src: "lamp" },
          on: {
            flash: { actions: sendTo("lamp", { type: "flash" }) },
            flashed: { actions: assign({ flashes: ({ context }) => context.flashes + 1 }) },
          },
        })
      }
      yield* live(
        Effect.gen(function* () {
          const house = yield* (yield* Engine).start(fromXState(wired("on"), { version: 1 }), "h")
          yield* house.send({ type: "flash" })
          yield* house.waitFor(({ context }) => context.flashes === 1)
        }),
      )
      yield* live(
        Effect.gen(function* () {
          const engine = yield* Engine
          const upcasters = { 1: { state: (state: object) => ({ ...state, _tag: "lit", value: "lit" }) } }
          const House = fromXState(wired("lit"), { version: 2, upcasters: { 1: {} }, actors: { lamp: { upcasters } } })
          yield* engine.register(House)
          const house = yield* engine.ensure(House, "h")
          yield* house.send({ type: "flash" })
          yield* house.waitFor(({ context }) => context.flashes === 2)
        }),
      )
    }),
  )

  it("the diagram has the states inside of those that hold them, and one arrow for what holds for all", () => {
    const diagram = Mermaid.stateDiagram(fromXState(parent))
    expect(diagram).toContain('state "home" as home {')
    expect(diagram).toContain("home.kitchen")
    expect(diagram).toContain("home.garden")
    expect(diagram).not.toContain("home.last")
  })
})

describe("while another process sends events", () => {
  it.live("a callback gets all events that came in one change", () =>
    Effect.gen(function* () {
      const live = yield* lives
      const heard: Array<number> = []
      const talking = (note: (n: number) => void) =>
        fromXState(
          setup({
            types: { context: {} as { sent: number }, events: {} as { type: "say"; n: number } },
            actors: { listener: fromCallback<{ type: "say"; n: number }>(({ receive }) => receive(({ n }) => note(n))) },
          }).createMachine({
            id: "talking",
            context: { sent: 0 },
            invoke: { id: "listener", src: "listener" },
            on: {
              say: { actions: [assign({ sent: ({ context }) => context.sent + 1 }), sendTo("listener", ({ event }) => event)] },
            },
          }),
        )
      const numbers = Array.from({ length: 350 }, (_, n) => n)
      yield* live(
        Effect.gen(function* () {
          const one = yield* (yield* Engine).start(
            talking((n) => void heard.push(n)),
            "t",
          )
          yield* live(
            Effect.gen(function* () {
              const other = yield* (yield* Engine).ensure(
                talking(() => undefined),
                "t",
              )
              yield* Effect.forEach(numbers, (n) => other.send({ type: "say", n }), { concurrency: "unbounded" })
            }),
          )
          // The commit conflicts, so this process reads all events of the other at once.
          yield* one.send({ type: "say", n: numbers.length })
          const all = [...numbers, numbers.length]
          yield* Effect.repeat(Effect.sleep("5 millis"), { until: () => heard.length === all.length }).pipe(
            Effect.timeoutOption("3 seconds"),
          )
          expect(heard).toEqual(all)
        }),
      )
    }),
  )
})
