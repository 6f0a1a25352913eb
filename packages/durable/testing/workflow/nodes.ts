/** Several nodes on one store: an execution has one owner, which is replaced when it dies and refused when it returns late. */
import { expect } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Activity from "effect/workflow/Activity"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { StoreProbe } from "../engine/StoreProbe.ts"
import { Calls } from "./Calls.ts"
import type { Kit } from "./Rig.ts"

const Job = Workflow.make("Job", {
  payload: { id: Schema.String },
  success: Schema.String,
  error: Schema.String,
  idempotencyKey: ({ id }) => id,
})
const Gate = DurableDeferred.make("gate", { success: Schema.String })
const gateOf = (executionId: string) => DurableDeferred.tokenFromExecutionId(Gate, { workflow: Job, executionId })

const fast = { lease: "900 millis" } as const
const a = { ...fast, nodeId: "a" }
const b = { ...fast, nodeId: "b" }

export const nodes = ({ describe, test, nodesTest }: Kit) => {
  describe("one node", () => {
    test("148 does not run an execution again because of a read that was under way while it ran", ({ open, reaches, until, quiet }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const killed = yield* open(Job.toLayer(() => Effect.as(calls.stuck("stuck"), "")))
        const id = yield* killed.run(Job.execute({ id: "a" }, { discard: true }))
        yield* until(() => calls.of("stuck") === 1)
        yield* killed.crash
        const probe = new StoreProbe()
        const [asked, over] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        let reads = 0
        // The first read waits until a second is asked for. The second has its answer early, and gives it late.
        probe.onRead = (_, read) => {
          reads++
          if (reads === 1) return Effect.andThen(Deferred.await(asked), read)
          return reads === 2 ? Effect.tap(read, () => Deferred.await(over)) : read
        }
        const next = yield* open(
          Job.toLayer(() => calls.activity("work")),
          { probe },
        )
        yield* until(() => reads === 1)
        const resuming = yield* Effect.forkChild(next.run(Job.resume(id)))
        yield* quiet
        yield* Deferred.succeed(asked, undefined)
        yield* reaches(Job, id, "Completed")
        yield* until(() => reads === 2)
        yield* Deferred.succeed(over, undefined)
        yield* Fiber.join(resuming)
        yield* quiet
        expect(calls.all).toEqual(["stuck", "work"])
      }))
  })

  describe("several nodes", () => {
    nodesTest("each execution is run by the node that started it, while that is alive", ({ open, pass, eventually, journal }) =>
      Effect.gen(function* () {
        const [onA, onB] = [new Calls(), new Calls()]
        const workflows = (calls: Calls) =>
          Job.toLayer(({ id }) =>
            Effect.andThen(calls.activity(`one ${id}`), Effect.andThen(Effect.sleep(500), calls.activity(`two ${id}`))),
          )
        const first = yield* open(workflows(onA), a)
        yield* open(workflows(onB), b)
        const ids = Array.from({ length: 30 }, (_, index) => `${index}`)
        yield* first.run(Effect.forEach(ids, (id) => Job.execute({ id }, { discard: true }), { concurrency: "unbounded", discard: true }))
        yield* eventually(
          Effect.flatMap(pass("100 millis"), () => Effect.map(journal.count("workflow/Job"), (counts) => counts.get("Completed") ?? 0)),
          (over) => over === 30,
        )
        expect(onA.all).toHaveLength(60)
        expect(onB.all).toEqual([])
      }),
    )

    nodesTest("of two that start the same execution at once, one runs it and both get its result", ({ open, pass }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const workflows = Job.toLayer(() => calls.activity("work"))
        const [first, second] = [yield* open(workflows, a), yield* open(workflows, b)]
        const both = yield* Effect.forkChild(
          Effect.all([first.run(Job.execute({ id: "same" })), second.run(Job.execute({ id: "same" }))], { concurrency: "unbounded" }),
        )
        for (let step = 0; step < 50 && both.pollUnsafe() === undefined; step++) yield* pass("200 millis")
        expect(yield* Fiber.join(both)).toEqual(["work", "work"])
        expect(calls.all).toEqual(["work"])
      }),
    )

    nodesTest("a node reads nothing of the executions that another living node runs", ({ open, until, pass }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const workflows = Job.toLayer(({ id }) => Effect.as(calls.stuck(`stuck ${id}`), ""))
        const first = yield* open(workflows, a)
        const probe = new StoreProbe()
        const pages: Array<number> = []
        probe.onPage = (_, page) => Effect.tap(page, (records) => Effect.sync(() => pages.push(records.length)))
        yield* open(workflows, { ...b, probe })
        yield* first.run(Effect.forEach(["x", "y", "z"], (id) => Job.execute({ id }, { discard: true })))
        yield* until(() => calls.all.length === 3)
        pages.length = 0
        for (let scan = 0; scan < 5; scan++) yield* pass("250 millis")
        expect(pages.length).toBeGreaterThan(0)
        expect(pages.every((length) => length === 0)).toBe(true)
      }),
    )

    nodesTest("a node that dies is taken over when its lease is over; nothing stored runs again", ({ open, until, comesTo, record }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        let isStuck = true
        const workflows = Job.toLayer(() =>
          Effect.gen(function* () {
            yield* calls.activity("one")
            if (isStuck) yield* calls.stuck("two")
            return yield* calls.activity("three")
          }),
        )
        const first = yield* open(workflows, a)
        yield* open(workflows, b)
        const id = yield* first.run(Job.execute({ id: "x" }, { discard: true }))
        yield* until(() => calls.of("two") === 1)
        expect((yield* record(Job, id)).owner).toMatch(/^a\//)
        isStuck = false
        yield* first.crash
        yield* comesTo(Job, id, "Completed")
        expect(calls.all).toEqual(["one", "two", "three"])
      }),
    )

    nodesTest(
      "139 a node that loses its lease stops its runs, and runs them again under a new name",
      ({ open, until, inTime, comesTo, record }) =>
        Effect.gen(function* () {
          const calls = new Calls()
          let isStuck = true
          const workflows = Job.toLayer(() =>
            Effect.gen(function* () {
              if (isStuck) yield* Effect.onInterrupt(calls.stuck("stuck"), () => calls.note("stopped"))
              return yield* calls.activity("done")
            }),
          )
          const probe = new StoreProbe()
          let isHanging = false
          probe.onLease = (request) => (isHanging ? Effect.never : request)
          const { run } = yield* open(workflows, { ...a, probe })
          const id = yield* run(Job.execute({ id: "x" }, { discard: true }))
          yield* until(() => calls.of("stuck") === 1)
          const { owner } = yield* record(Job, id)
          isHanging = true
          yield* inTime(
            Effect.sync(() => calls.of("stopped")),
            (times) => times === 1,
          )
          expect(yield* record(Job, id)).toMatchObject({ tag: "Running", owner })
          isStuck = false
          isHanging = false
          yield* comesTo(Job, id, "Completed")
          expect(calls.all).toEqual(["stuck", "stopped", "done"])
        }),
    )

    nodesTest(
      "a frozen node that wakes late is refused: nothing is doubled, and it compensates nothing",
      ({ open, until, comesTo, tags, pass }) =>
        Effect.gen(function* () {
          const [onA, onB] = [new Calls(), new Calls()]
          const workflows = (calls: Calls) =>
            Job.toLayer(() =>
              Effect.gen(function* () {
                yield* Job.withCompensation(calls.activity("one"), () => calls.note("undo one"))
                yield* calls.activity("two")
                return yield* calls.activity("three")
              }),
            )
          const probe = new StoreProbe()
          const thawed = yield* Deferred.make<void>()
          let isFrozen = false
          const whenThawed = <A, E>(effect: Effect.Effect<A, E>) => (isFrozen ? Effect.andThen(Deferred.await(thawed), effect) : effect)
          probe.onCommit = (commits, commit) => {
            // It freezes when it has the result of the second activity and has not stored it.
            if (commits.some(({ events }) => events.some(({ tag }) => tag === "Activity/two"))) isFrozen = true
            return whenThawed(commit)
          }
          probe.onOpen = whenThawed
          probe.onLease = whenThawed
          probe.onClaim = whenThawed
          const first = yield* open(workflows(onA), { ...a, probe })
          yield* open(workflows(onB), b)
          const id = yield* first.run(Job.execute({ id: "x" }, { discard: true }))
          yield* until(() => isFrozen)
          yield* comesTo(Job, id, "Completed")
          isFrozen = false
          yield* Deferred.succeed(thawed, undefined)
          yield* pass("2 seconds")
          expect(onA.all).toEqual(["one", "two"])
          expect(onB.all).toEqual(["two", "three"])
          expect(yield* tags(Job, id)).toEqual(["Activity/one", "Resumed", "Activity/two", "Activity/three", "Completed"])
          // It runs executions again.
          expect(yield* first.run(Job.execute({ id: "y" }))).toBe("three")
        }),
    )

    nodesTest(
      "a deferred that is completed on another node reaches an execution that sleeps, and one that runs",
      ({ open, until, reaches, comesTo }) =>
        Effect.gen(function* () {
          const calls = new Calls()
          const busy = Promise.withResolvers<void>()
          const workflows = Job.toLayer(({ id }) =>
            id === "sleeps"
              ? DurableDeferred.await(Gate)
              : Effect.gen(function* () {
                  yield* calls.activity("before")
                  yield* Effect.promise(() => {
                    calls.all.push("busy")
                    return busy.promise
                  })
                  return yield* DurableDeferred.await(Gate)
                }),
          )
          const first = yield* open(workflows, a)
          const second = yield* open(workflows, b)
          const sleeps = yield* first.run(Job.execute({ id: "sleeps" }, { discard: true }))
          const runs = yield* first.run(Job.execute({ id: "runs" }, { discard: true }))
          yield* reaches(Job, sleeps, "Suspended")
          yield* until(() => calls.of("busy") === 1)
          yield* second.run(DurableDeferred.succeed(Gate, { token: gateOf(sleeps), value: "from b" }))
          yield* second.run(DurableDeferred.succeed(Gate, { token: gateOf(runs), value: "from b too" }))
          busy.resolve()
          yield* comesTo(Job, sleeps, "Completed")
          yield* comesTo(Job, runs, "Completed")
          expect(yield* first.run(Effect.forEach(["sleeps", "runs"], (id) => Job.execute({ id })))).toEqual(["from b", "from b too"])
        }),
    )

    nodesTest("an interrupt from another node reaches an execution that runs", ({ open, until, comesTo }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const slow = Promise.withResolvers<void>()
        const workflows = Job.toLayer(() =>
          Effect.gen(function* () {
            yield* Job.withCompensation(calls.activity("one"), () => calls.note("undo one"))
            yield* Effect.promise(() => {
              calls.all.push("slow")
              return slow.promise
            })
            return yield* calls.activity("two")
          }),
        )
        const first = yield* open(workflows, a)
        const second = yield* open(workflows, b)
        const id = yield* first.run(Job.execute({ id: "x" }, { discard: true }))
        yield* until(() => calls.of("slow") === 1)
        yield* second.run(Job.interrupt(id))
        yield* comesTo(Job, id, "Interrupted")
        slow.resolve()
        expect(calls.of("two")).toBe(0)
        expect(calls.of("undo one")).toBe(1)
      }),
    )

    nodesTest(
      "an interrupt that another node stores while the body comes to its end is followed by no success",
      ({ open, until, comesTo }) =>
        Effect.gen(function* () {
          const calls = new Calls()
          const slow = Promise.withResolvers<void>()
          const workflows = Job.toLayer(() =>
            Effect.gen(function* () {
              yield* Job.withCompensation(calls.activity("one"), () => calls.note("undo one"))
              yield* Effect.uninterruptible(
                Effect.promise(() => {
                  calls.all.push("slow")
                  return slow.promise
                }),
              )
              return "done"
            }),
          )
          const first = yield* open(workflows, { ...a, lease: "1 hour" })
          const second = yield* open(workflows, { ...b, lease: "1 hour" })
          const begunAt = yield* Clock.currentTimeMillis
          const id = yield* first.run(Job.execute({ id: "x" }, { discard: true }))
          yield* until(() => calls.of("slow") === 1)
          yield* second.run(Job.interrupt(id))
          slow.resolve()
          yield* comesTo(Job, id, "Interrupted")
          expect(calls.of("undo one")).toBe(1)
          // Before the first scan.
          expect((yield* Clock.currentTimeMillis) - begunAt).toBeLessThan(20_000)
        }),
    )

    nodesTest("a parent is woken by a child that another node ran", ({ open, comesTo, until }) =>
      Effect.gen(function* () {
        const Inner = Workflow.make("Inner", { payload: {}, success: Schema.String, idempotencyKey: () => "inner" })
        const calls = new Calls()
        const outer = Job.toLayer(() => Effect.andThen(calls.activity("before"), Inner.execute({})))
        const inner = Inner.toLayer(() => DurableDeferred.await(Gate))
        const first = yield* open(outer, a)
        const second = yield* open(inner, b)
        const id = yield* first.run(Job.execute({ id: "p" }, { discard: true }))
        const child = yield* Inner.executionId({})
        yield* until(() => calls.of("before") === 1)
        yield* comesTo(Inner, child, "Suspended")
        yield* comesTo(Job, id, "Suspended")
        const token = DurableDeferred.tokenFromExecutionId(Gate, { workflow: Inner, executionId: child })
        yield* second.run(DurableDeferred.succeed(Gate, { token, value: "woken" }))
        yield* comesTo(Job, id, "Completed")
        expect(yield* first.run(Job.execute({ id: "p" }))).toBe("woken")
      }),
    )

    nodesTest("a node that is started again under its name continues at once; its former life stops", ({ open, until, comesTo, pass }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        let isStuck = true
        const workflows = Job.toLayer(({ id }) =>
          Effect.gen(function* () {
            if (isStuck) yield* calls.stuck(`stuck ${id}`)
            return yield* calls.activity(`done ${id}`)
          }),
        )
        const former = yield* open(workflows, { ...a, lease: "1 minute" })
        const id = yield* former.run(Job.execute({ id: "x" }, { discard: true }))
        yield* until(() => calls.of("stuck x") === 1)
        isStuck = false
        yield* open(workflows, { ...a, lease: "1 minute" })
        yield* comesTo(Job, id, "Completed")
        expect(calls.all).toEqual(["stuck x", "done x"])
        yield* pass("1 second")
        const other = yield* open(Layer.empty as never, b)
        const late = yield* other.run(Job.execute({ id: "y" }, { discard: true }))
        yield* comesTo(Job, late, "Completed")
        expect(calls.of("done y")).toBe(1)
      }),
    )

    nodesTest(
      "142 executions that no node owns are run by one of the nodes that find them, each activity once",
      ({ open, comesTo, tags }) =>
        Effect.gen(function* () {
          const calls = new Calls()
          const workflows = Job.toLayer(({ id }) => Effect.andThen(slowly(calls, `one ${id}`), calls.activity(`two ${id}`)))
          const starter = yield* open(Layer.empty as never, { ...fast, nodeId: "starter" })
          const started = Array.from({ length: 20 }, (_, index) => `${index}`)
          const ids = yield* starter.run(Effect.forEach(started, (id) => Job.execute({ id }, { discard: true })))
          const meeting = meetingAtResumed(2)
          // On a busy machine a short lease ends, and its executions are resumed again.
          yield* open(workflows, { ...a, lease: "1 minute", probe: meeting() })
          yield* open(workflows, { ...b, lease: "1 minute", probe: meeting() })
          for (const id of ids) {
            yield* comesTo(Job, id, "Completed")
            const journaled = yield* tags(Job, id)
            expect(journaled.filter((tag) => tag === "Resumed")).toHaveLength(1)
          }
          expect([...calls.all].sort()).toEqual(started.flatMap((id) => [`one ${id}`, `two ${id}`]).sort())
        }),
    )

    nodesTest("142 executions of a killed node are run by one of its survivors, each activity once", ({ open, comesTo, until }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        let isStuck = true
        const workflows = Job.toLayer(({ id }) =>
          Effect.gen(function* () {
            if (isStuck) yield* calls.stuck(`stuck ${id}`)
            yield* slowly(calls, `one ${id}`)
            return yield* calls.activity(`two ${id}`)
          }),
        )
        const killed = yield* open(workflows, { ...fast, nodeId: "killed" })
        const meeting = meetingAtResumed(2)
        yield* open(workflows, { ...a, probe: meeting() })
        yield* open(workflows, { ...b, probe: meeting() })
        const started = Array.from({ length: 10 }, (_, index) => `${index}`)
        const ids = yield* killed.run(Effect.forEach(started, (id) => Job.execute({ id }, { discard: true })))
        yield* until(() => started.every((id) => calls.of(`stuck ${id}`) === 1))
        isStuck = false
        yield* killed.crash
        for (const id of ids) yield* comesTo(Job, id, "Completed")
        expect(calls.all.filter((call) => !call.startsWith("stuck")).sort()).toEqual(
          started.flatMap((id) => [`one ${id}`, `two ${id}`]).sort(),
        )
      }),
    )
  })
}

/** An activity that takes as long as the loser of a race needs to find out and to write again. */
const slowly = (calls: Calls, name: string) =>
  Activity.make({
    name,
    execute: Effect.andThen(
      calls.note(name),
      // Real time also where the test has a clock of its own.
      // @effect-diagnostics-next-line globalTimers:off
      Effect.promise(() => new Promise((resume) => setTimeout(resume, 150))),
    ),
  })

/** Probes of nodes that commit their first `Resumed` only once all of them are about to: they race for the same executions. */
const meetingAtResumed = (nodes: number) => {
  const all = Deferred.makeUnsafe<void>()
  let arrived = 0
  return () => {
    const probe = new StoreProbe()
    let hasArrived = false
    probe.onCommit = (commits, commit) => {
      if (!commits.some(({ events }) => events.some(({ tag }) => tag === "Resumed"))) return commit
      if (!hasArrived && ++arrived === nodes) Deferred.doneUnsafe(all, Effect.void)
      hasArrived = true
      return Effect.andThen(Deferred.await(all), commit)
    }
    return probe
  }
}
