/** Many deadlines at one instant. */
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { TimedCall } from "./Machines.ts"
import type { Kit } from "./Rig.ts"

/** More than two flushes take. */
const crowd = 1200

export const crowds = ({ describe, test }: Kit) =>
  describe("crowds of timers", () => {
    test("59 and 86 all that are due at one instant are fired, each once", ({ open, pass, quiet, journal, eventually }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open()
        yield* Effect.forEach(Array.from({ length: crowd }), (_, index) => engine.start(TimedCall, `c-${index}`), {
          concurrency: "unbounded",
          discard: true,
        })
        yield* pass("1 minute")
        yield* eventually(journal.count("call"), (tags) => tags.get("Late") === crowd)
        yield* quiet
        expect(probe.events).toBe(crowd)
        const fired = probe.batches.flat().filter(({ events }) => events.length > 0)
        expect(new Set(fired.map(({ id }) => id)).size).toBe(crowd)
        expect(fired.every(({ at }) => at >= 60_000)).toBe(true)
      }))

    test("59 instances that have left memory are read together", ({ open, pass, journal, eventually }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open({ passivateAfter: "10 seconds" })
        yield* Effect.forEach(Array.from({ length: 300 }), (_, index) => engine.start(TimedCall, `c-${index}`), {
          concurrency: "unbounded",
          discard: true,
        })
        yield* pass("30 seconds")
        yield* eventually(engine.live, (live) => live === 0)
        let readings = 0
        probe.onOpen = (read) => {
          readings++
          return read
        }
        yield* pass("30 seconds")
        yield* eventually(journal.count("call"), (tags) => tags.get("Late") === 300)
        expect(probe.events).toBe(300)
        expect(readings).toBeLessThan(20)
      }))

    test("the instances used least recently leave memory when there are too many, and their timers fire", ({
      open,
      pass,
      journal,
      eventually,
    }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open({ limits: { instances: 100 } })
        const start = (index: number) => engine.start(TimedCall, `c-${index}`)
        const first = yield* start(0)
        yield* Effect.forEach(Array.from({ length: 90 }), (_, index) => start(index + 1), { discard: true })
        yield* pass("1 second")
        yield* Effect.forEach(Array.from({ length: 300 }), (_, index) => start(index + 91), { discard: true })
        yield* eventually(engine.live, (live) => live <= 100)
        expect(yield* first.state).toMatchObject({ _tag: "Waiting" })
        yield* pass("1 minute")
        yield* eventually(journal.count("call"), (tags) => tags.get("Late") === 391)
        expect(probe.events).toBe(391)
      }))
  })
