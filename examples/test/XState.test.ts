import { Engine, MemoryStore } from "@detent/durable"
import { Mermaid } from "@detent/machine/diagram"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Checkout } from "../xstate/Checkout.ts"
import { Player, play } from "../xstate/MediaPlayer.ts"

const engine = Engine.layer().pipe(Layer.provideMerge(MemoryStore.layer))

it.live("the media player keeps its position, and its regions are apart", () =>
  Effect.gen(function* () {
    expect(yield* play).toEqual({ value: { playback: "playing", sound: "on" }, position: 42 })
    const diagram = Mermaid.stateDiagram(Player)
    for (const region of ["playback", "sound"]) expect(diagram).toContain(region)
  }).pipe(Effect.provide(engine)),
)

it.live("the checkout is complete when it is paid and its parcel has arrived", () =>
  Effect.gen(function* () {
    const checkout = yield* Effect.flatMap(Engine, (service) => service.start(Checkout, "o-1", { orderId: "o-1", amount: 42 }))
    yield* checkout.send({ type: "track", place: "Vienna" })
    yield* checkout.waitFor(({ context }) => context.places.length === 1)
    yield* checkout.send({ type: "handOver" })
    const { _tag, context } = yield* checkout.awaitFinal
    expect(_tag).toBe("complete")
    expect(context.receipt).toMatch(/^42 for o-1, charged under [0-9a-f]{12}\/checkout\/o-1\/0\/0$/)
    expect(context.places).toEqual(["Vienna"])
  }).pipe(Effect.provide(engine)),
)
