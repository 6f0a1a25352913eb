/** One flush for many: across instances, and ahead of the store on one. */
import { expect } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { E, Job, S } from "./Machines.ts"
import type { Kit } from "./Rig.ts"

const key = { machine: "job", id: "j" }

export const grouping = ({ describe, test }: Kit) =>
  describe("group commit", () => {
    test("fifty senders on fifty instances need far fewer commits than events", ({ open, events }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open()
        const ids = Array.from({ length: 50 }, (_, index) => `j-${index}`)
        const jobs = yield* Effect.forEach(ids, (id) => engine.start(Job, id, S.Busy({ n: 0 })), { concurrency: "unbounded" })
        expect(probe.batches.length).toBeLessThanOrEqual(3)
        const before = probe.batches.length
        yield* Effect.forEach(jobs, (job) => Effect.forEach([1, 2, 3, 4], () => job.send(E.Add({ by: 1 }))), { concurrency: "unbounded" })
        expect(probe.events).toBe(200)
        expect(probe.batches.length - before).toBeLessThanOrEqual(20)
        for (const id of ids) expect(yield* events({ machine: "job", id })).toHaveLength(4)
      }))

    test("two hundred sends to one instance run ahead of the store: few commits, in order, answered only after theirs", ({
      open,
      events,
      quiet,
    }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open()
        const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
        const gate = yield* Deferred.make<void>()
        probe.onCommit = (_, commit) => Effect.andThen(Deferred.await(gate), commit)
        const answered: Array<number> = []
        const sends = yield* Effect.forEach(
          Array.from({ length: 200 }, (_, index) => index + 1),
          (by) =>
            Effect.forkChild(
              Effect.tap(job.call(E.Add({ by })), ({ state }) => Effect.sync(() => answered.push(state.n))),
              { startImmediately: true },
            ),
        )
        yield* quiet
        expect(answered).toEqual([])
        expect(yield* job.snapshot).toMatchObject({ sequence: 0 })
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.joinAll(sends)
        const sums = Array.from({ length: 200 }, (_, index) => ((index + 1) * (index + 2)) / 2)
        expect(answered).toEqual(sums)
        expect(probe.batches.length).toBeLessThanOrEqual(5)
        expect((yield* events(key)).map(({ sequence }) => sequence)).toEqual(Array.from({ length: 200 }, (_, index) => index + 1))
      }))

    test("more than may run ahead at once are all handled", ({ open, events }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
        yield* Effect.forEach(Array.from({ length: 2500 }), () => job.send(E.Add({ by: 1 })), { concurrency: "unbounded", discard: true })
        expect(yield* job.state).toEqual(S.Busy({ n: 2500 }))
        expect(yield* events(key)).toHaveLength(2500)
      }))

    test("a refusal that rests on what is not stored yet waits for it", ({ open, quiet }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open()
        const job = yield* engine.start(Job, "j")
        const gate = yield* Deferred.make<void>()
        probe.onCommit = (_, commit) => Effect.andThen(Deferred.await(gate), commit)
        const starting = yield* Effect.forkChild(job.send(E.Start()), { startImmediately: true })
        const again = yield* Effect.forkChild(Effect.flip(job.send(E.Start())), { startImmediately: true })
        yield* quiet
        expect(again.pollUnsafe()).toBeUndefined()
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(starting)
        expect(yield* Fiber.join(again)).toMatchObject({ _tag: "InvalidTransition", state: "Busy" })
      }))
  })
