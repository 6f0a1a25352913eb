import { spawn } from "@detent/machine"
import { advance, assertPath } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { E, TrafficLight } from "../traffic-light/TrafficLight.ts"

describe("a traffic light", () => {
  it.effect("cycles through its colours without events", () =>
    Effect.gen(function* () {
      const light = yield* spawn(TrafficLight)
      const seen: Array<string> = []
      light.subscribe((state) => seen.push(state._tag))
      yield* TestClock.adjust("30 seconds")
      expect(seen).toEqual(["Green"])
      yield* TestClock.adjust("25 seconds")
      expect(seen).toEqual(["Green", "Yellow"])
      yield* TestClock.adjust("4 seconds")
      expect(seen).toEqual(["Green", "Yellow", "Red"])
      yield* TestClock.adjust("59 seconds")
      expect(seen).toEqual(["Green", "Yellow", "Red", "Green", "Yellow", "Red"])
    }),
  )

  it.effect("has completed two cycles after two minutes", () =>
    Effect.sync(() => {
      assertPath(TrafficLight, undefined, [advance("118 seconds")], ["Red", "Green", "Yellow", "Red", "Green", "Yellow", "Red"])
    }),
  )

  it.effect("turns red in an emergency, whatever it shows", () =>
    Effect.gen(function* () {
      const light = yield* spawn(TrafficLight)
      yield* TestClock.adjust("30 seconds")
      yield* light.send(E.EmergencyOverride())
      expect((yield* light.state)._tag).toBe("Red")
      yield* TestClock.adjust("55 seconds")
      expect((yield* light.state)._tag).toBe("Yellow")
      yield* light.send(E.EmergencyOverride())
      expect((yield* light.state)._tag).toBe("Red")
    }),
  )

  it.effect("stays red for the full time after each emergency", () =>
    Effect.gen(function* () {
      const light = yield* spawn(TrafficLight)
      yield* TestClock.adjust("20 seconds")
      yield* light.send(E.EmergencyOverride())
      yield* TestClock.adjust("29 seconds")
      expect((yield* light.state)._tag).toBe("Red")
      yield* TestClock.adjust("1 second")
      expect((yield* light.state)._tag).toBe("Green")
    }),
  )
})
