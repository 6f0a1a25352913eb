/** Commands that wait for a machine which no process has registered. */
import { Event, Machine, Slot, State } from "@detent/machine"
import { MemoryStore } from "@detent/store"
import { expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/testing/TestClock"
import type { EngineOptions } from "../../src/Engine.ts"
import { Engine } from "../../src/Engine.ts"

const S = State({ Open: {} })
const E = Event({ Ask: {} })
const effects = Slot.Effects({ charge: {} })
const order = Machine.make({ name: "card-order", state: S, event: E, effects, initial: S.Open() })
  .on(S.Open, E.Ask, S.Open, ({ effects }) => {
    effects.charge()
    return S.Open()
  })
  .build({ charge: () => Effect.void })

it.effect("91 are logged once, with the next step, except by an engine that leaves commands to others", () =>
  Effect.gen(function* () {
    const store = Layer.succeedContext(yield* MemoryStore.make)
    const lines: Record<string, Array<string>> = { worker: [], other: [] }
    const open = (name: string, options: EngineOptions) =>
      Layer.build(Layer.fresh(Engine.layer(options)).pipe(Layer.provide(store))).pipe(
        Effect.map((context) => Context.get(context, Engine)),
        Effect.provide(Logger.layer([Logger.make<unknown, void>(({ message }) => void lines[name]?.push([message].flat().join(" ")))])),
      )
    const requesting = yield* open("requesting", { worker: false })
    for (const id of ["a", "b"]) yield* (yield* requesting.start(order, id)).send(E.Ask())
    yield* open("worker", {})
    yield* open("other", { worker: false })
    for (let second = 0; second < 700; second++) yield* TestClock.adjust("1 second")
    expect(lines).toEqual({
      worker: [
        "commands of machine card-order wait: it is not registered here; call `yield* engine.register(CardOrder)` when the process starts",
      ],
      other: [],
    })
  }),
)
