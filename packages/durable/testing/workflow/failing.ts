/** A store that fails, does not answer, or refuses. */
import { PersistenceFailed } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as DurableClock from "effect/workflow/DurableClock"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { outage, StoreProbe } from "../engine/StoreProbe.ts"
import { Calls } from "./Calls.ts"
import type { Kit, Rig } from "./Rig.ts"

const Job = Workflow.make("Job", { payload: { id: Schema.String }, success: Schema.String, idempotencyKey: ({ id }) => id })
const Gate = DurableDeferred.make("gate")

const layerOf = (calls: Calls) =>
  Job.toLayer(({ id }) =>
    Effect.gen(function* () {
      yield* calls.activity(`one ${id}`)
      yield* DurableClock.sleep({ name: "nap", duration: "10 minutes" })
      yield* calls.activity(`two ${id}`)
      yield* DurableDeferred.await(Gate)
      return yield* calls.activity(`three ${id}`)
    }),
  )

/** Executions wait for the store by the clock. */
const passUntil = ({ inTime }: Rig, holds: () => boolean) => inTime(Effect.sync(holds), (so) => so, "500 millis")

export const failures = ({ describe, test }: Kit) => {
  describe("a store that fails", () => {
    for (const [how, arrives] of [
      ["before it stored", false],
      ["after it stored", true],
    ] as const) {
      test(`at every second commit, ${how}: executions wait and continue, and nothing is lost or done twice`, (rig) =>
        Effect.gen(function* () {
          const calls = new Calls()
          const probe = new StoreProbe()
          let commits = 0
          probe.onCommit = (_, commit) => {
            if (commits++ % 2 === 0) return commit
            return arrives ? Effect.andThen(commit, Effect.fail(outage())) : Effect.fail(outage())
          }
          const { run } = yield* rig.open(layerOf(calls), { probe })
          const ids = ["a", "b", "c"]
          const waiting = yield* Effect.forkChild(run(Effect.forEach(ids, (id) => Job.execute({ id }), { concurrency: "unbounded" })))
          yield* rig.inTime(rig.journal.count("workflow/Job"), (counts) => counts.get("Suspended") === 3, "500 millis")
          yield* rig.pass("10 minutes")
          yield* passUntil(rig, () => ids.every((id) => calls.of(`two ${id}`) === 1))
          const completing = yield* Effect.forkChild(
            run(
              Effect.forEach(ids, (id) =>
                Effect.flatMap(DurableDeferred.tokenFromPayload(Gate, { workflow: Job, payload: { id } }), (token) =>
                  DurableDeferred.succeed(Gate, { token, value: undefined }),
                ),
              ),
            ),
          )
          yield* passUntil(rig, () => waiting.pollUnsafe() !== undefined && completing.pollUnsafe() !== undefined)
          expect(yield* Fiber.join(waiting)).toEqual(["three a", "three b", "three c"])
          expect(calls.all.toSorted()).toEqual(ids.flatMap((id) => [`one ${id}`, `two ${id}`, `three ${id}`]).toSorted())
        }))
    }

    test("for a minute, at everything: callers are answered when it works again", (rig) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const probe = new StoreProbe()
        const { run } = yield* rig.open(
          Job.toLayer(({ id }) => Effect.andThen(calls.activity(`one ${id}`), calls.activity(`two ${id}`))),
          { probe },
        )
        probe.onCommit = () => Effect.fail(outage())
        probe.onOpen = () => Effect.fail(outage("open"))
        probe.onLease = () => Effect.fail(outage("lease"))
        probe.onClaim = () => Effect.fail(outage("claim"))
        const waiting = yield* Effect.forkChild(run(Job.execute({ id: "a" })))
        yield* rig.pass("1 minute")
        expect(calls.all).toEqual([])
        probe.onCommit = (_, commit) => commit
        probe.onOpen = (read) => read
        probe.onLease = (request) => request
        probe.onClaim = (claim) => claim
        yield* passUntil(rig, () => waiting.pollUnsafe() !== undefined)
        expect(yield* Fiber.join(waiting)).toBe("two a")
        expect(calls.all).toEqual(["one a", "two a"])
      }))

    test("to take one result, by its content: that execution is held, and the others of the flush continue", ({ open, reaches, record }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const probe = new StoreProbe()
        probe.onCommit = (commits, commit) => {
          const isBad = commits.some(({ events }) => events.some(({ tag }) => tag === "Activity/bad"))
          if (!isBad) return commit
          const failed = new PersistenceFailed({ machine: "any", operation: "commit", cause: new Error("too long") })
          return Effect.succeed(commits.map(() => failed))
        }
        const { run } = yield* open(
          Job.toLayer(({ id }) => calls.activity(id)),
          { probe },
        )
        const id = yield* run(Job.execute({ id: "bad" }, { discard: true }))
        yield* reaches(Job, id, "Held")
        expect((yield* record(Job, id)).reason).toContain("too long")
        expect(yield* run(Job.execute({ id: "good" }))).toBe("good")
        probe.onCommit = (_, commit) => commit
        yield* run(Job.resume(id))
        yield* reaches(Job, id, "Completed")
      }))

    test("to take the start: the caller gets the failure", ({ open, record }) =>
      Effect.gen(function* () {
        const probe = new StoreProbe()
        const failed = new PersistenceFailed({ machine: "any", operation: "commit", cause: new Error("too long") })
        probe.onCommit = (commits) => Effect.succeed(commits.map(() => failed))
        const { run } = yield* open(
          Job.toLayer(() => Effect.succeed("")),
          { probe },
        )
        const exit = yield* Effect.exit(run(Job.execute({ id: "a" })))
        expect(Exit.isFailure(exit) && Cause.squash(exit.cause)).toBe(failed)
        expect(Exit.isFailure(yield* Effect.exit(record(Job, yield* Job.executionId({ id: "a" }))))).toBe(true)
        probe.onCommit = (_, commit) => commit
        expect(yield* run(Job.execute({ id: "a" }))).toBe("")
      }))
  })
}
