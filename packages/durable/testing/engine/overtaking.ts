/** Where the sweeper meets timers that its own node is about to store. */
import { Event, Machine, State } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import type { Kit } from "./Rig.ts"

const key = (id: string) => ({ machine: "bomb", id })

/** A machine that tells of every decision on its deadline, those of a replay included. */
const counted = (decided: Array<string>) => {
  const At = State({ Armed: { id: Schema.String }, Over: {} })
  return Machine.make({ name: "bomb", state: At, event: Event({ Never: {} }), initial: At.Armed })
    .timeout(At.Armed, "1 minute", At.Over, ({ state }) => {
      decided.push(state.id)
      return At.Over()
    })
    .final(At.Over)
}

export const overtaking = ({ describe, test }: Kit) =>
  describe("the sweeper and the timers of its own node", () => {
    test("87 what this node fires and stores while a sweep waits for its answer is not taken up again", ({
      open,
      pass,
      events,
      eventually,
    }) =>
      Effect.gen(function* () {
        const decided: Array<string> = []
        const Bomb = counted(decided)
        const ids = ["a", "b", "c"]
        const { engine, probe } = yield* open({ sweeper: { interval: "1000 hours" } })
        yield* Effect.forEach(ids, (id) => engine.start(Bomb, id, { id }))
        const claimed = Deferred.makeUnsafe<void>()
        const overtaken = Deferred.makeUnsafe<void>()
        probe.onCommit = (_, commit) => Effect.andThen(Deferred.await(claimed), commit)
        probe.onClaim = (claim) => Effect.tap(claim, () => Effect.andThen(Deferred.succeed(claimed, undefined), Deferred.await(overtaken)))
        yield* pass("1 minute")
        const sweeping = yield* Effect.forkChild(engine.sweep)
        for (const id of ids) yield* eventually(events(key(id)), (stored) => stored.length === 1)
        yield* eventually(engine.live, (live) => live === 0)
        yield* Deferred.succeed(overtaken, undefined)
        expect(yield* Fiber.join(sweeping)).toEqual({ fired: 0, stale: 3, failed: 0, dead: 0 })
        expect(probe.claimed.at(-1)).toHaveLength(3)
        expect(decided.toSorted()).toEqual(ids)
      }))

    test("91 the sweeper leaves this node time to store what it fired itself, but not for ever", ({
      open,
      pass,
      passUntil,
      events,
      eventually,
    }) =>
      Effect.gen(function* () {
        const decided: Array<string> = []
        const { engine, probe } = yield* open({ sweeper: { interval: "10 seconds" } })
        yield* engine.start(counted(decided), "a", { id: "a" })
        yield* pass("59 seconds")
        const answered = Deferred.makeUnsafe<void>()
        probe.onCommit = (_, commit) => Effect.andThen(Deferred.await(answered), commit)
        yield* pass("1 second")
        yield* eventually(Effect.succeed(decided), (all) => all.length === 1)
        const before = probe.claims.length
        for (let second = 0; second < 5; second++) yield* pass("1 second")
        expect(probe.claims.length).toBe(before)
        yield* passUntil(
          "1 second",
          Effect.sync(() => probe.claims.length),
          (claims) => claims > before,
        )
        yield* Deferred.succeed(answered, undefined)
        yield* eventually(events(key("a")), (stored) => stored.length === 1)
        expect(decided).toEqual(["a"])
      }))
  })
