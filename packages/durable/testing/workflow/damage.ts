/** One damaged execution, or one defect in a background loop, does not keep the others from running. */

import type { Commit } from "@detent/store"
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as DurableClock from "effect/workflow/DurableClock"
import * as Workflow from "effect/workflow/Workflow"
import { outage, StoreProbe } from "../engine/StoreProbe.ts"
import { Calls } from "./Calls.ts"
import type { Kit, Rig } from "./Rig.ts"

const Job = Workflow.make("Job", { payload: { id: Schema.String }, success: Schema.String, idempotencyKey: ({ id }) => id })
const ids = ["a", "b", "c", "d", "e"]

/** Executions that no node runs yet. */
const startUnowned = ({ open }: Rig) =>
  Effect.gen(function* () {
    const starter = yield* open(Layer.empty as never, { nodeId: "starter" })
    return yield* starter.run(Effect.forEach(ids, (id) => Job.execute({ id }, { discard: true })))
  })

/** An execution that is to be run, with an origin that no version has written. */
const damaged: Commit = {
  machine: "workflow/Job",
  id: "damaged",
  expected: -1,
  sequence: 0,
  at: 0,
  summary: { tag: "Running", status: "running", reason: undefined, version: 1, needsOwner: true, owner: undefined, owes: false },
  origin: "no JSON",
  events: [],
  snapshot: undefined,
  clearTimers: [],
  setTimers: [],
  commands: [],
  fence: undefined,
}

export const damage = ({ describe, nodesTest, test }: Kit) => {
  describe("one that is damaged", () => {
    test("148 is held and listed; the others that are read with it run", (rig) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const started = yield* startUnowned(rig)
        yield* rig.journal.commit([damaged])
        yield* rig.open(Job.toLayer(({ id }) => calls.activity(`work ${id}`)))
        for (const id of started) yield* rig.comesTo(Job, id, "Completed")
        expect([...calls.all].sort()).toEqual(ids.map((id) => `work ${id}`))
        const record = yield* rig.inTime(rig.record(Job, "damaged"), ({ status }) => status === "held")
        expect(record.reason).toContain("JSON")
      }))

    test("148 and cannot be read at all delays none of the others", (rig) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const [unreadable, ...started] = yield* startUnowned(rig)
        const probe = new StoreProbe()
        probe.onRead = (key, read) => (key.id === unreadable ? Effect.fail(outage("read")) : read)
        yield* rig.open(
          Job.toLayer(({ id }) => calls.activity(`work ${id}`)),
          { probe },
        )
        for (const id of started) yield* rig.comesTo(Job, id, "Completed")
        expect(calls.all).toHaveLength(started.length)
        probe.onRead = (_, read) => read
        yield* rig.comesTo(Job, unreadable as string, "Completed")
      }))
  })

  describe("one that this node cannot read", () => {
    nodesTest("148 is not held while another node runs it", ({ eventually, journal, open, record }) =>
      Effect.gen(function* () {
        // Only the node that runs it would be able to read it.
        const probe = new StoreProbe()
        probe.onRead = (key, read) => (key.id === damaged.id ? Effect.never : read)
        const working = Job.toLayer(() => Effect.never)
        const newer = yield* open(working, { nodeId: "newer", probe })
        const id = yield* newer.run(Job.execute({ id: "a" }, { discard: true }))
        const { owner } = yield* eventually(record(Job, id), (found) => found.owner !== undefined)
        yield* journal.commit([{ ...damaged, summary: { ...damaged.summary, owner } }])
        const older = yield* open(working, { nodeId: "older" })
        expect((yield* Effect.exit(older.run(Job.interrupt(damaged.id))))._tag).toBe("Failure")
        expect(yield* record(Job, damaged.id)).toMatchObject({ status: "running", owner })
      }),
    )
  })

  describe("clocks", () => {
    test("148 the clock of a damaged execution keeps none of the others from waking", (rig) =>
      Effect.gen(function* () {
        const { run } = yield* rig.open(Job.toLayer(() => Effect.as(DurableClock.sleep({ name: "nap", duration: "2 minutes" }), "")))
        yield* rig.journal.commit([
          {
            ...damaged,
            summary: { ...damaged.summary, tag: "Suspended", needsOwner: false },
            setTimers: [{ name: "nap", entry: 0, due: 1 }],
          },
        ])
        const started = yield* run(Effect.forEach(ids, (id) => Job.execute({ id }, { discard: true })))
        for (const id of started) yield* rig.reaches(Job, id, "Suspended")
        yield* rig.pass("2 minutes")
        for (const id of started) yield* rig.comesTo(Job, id, "Completed")
      }))
  })

  describe("background loops", () => {
    test("147 a defect while executions are looked for is survived", (rig) =>
      Effect.gen(function* () {
        const probe = new StoreProbe()
        let isBroken = true
        let isAsked = false
        probe.onOpen = (read) => {
          isAsked = true
          return isBroken ? Effect.die(new Error("broken")) : read
        }
        const started = yield* startUnowned(rig)
        yield* rig.open(
          Job.toLayer(() => Effect.succeed("")),
          { probe },
        )
        yield* rig.until(() => isAsked)
        yield* rig.pass("1 second")
        isBroken = false
        for (const id of started) yield* rig.comesTo(Job, id, "Completed")
      }))

    test("147 a defect while due clocks are looked for is survived", (rig) =>
      Effect.gen(function* () {
        const probe = new StoreProbe()
        let isBroken = true
        probe.onClaim = (claim) => (isBroken ? Effect.die(new Error("broken")) : claim)
        const { run } = yield* rig.open(
          Job.toLayer(() => Effect.as(DurableClock.sleep({ name: "nap", duration: "2 minutes" }), "")),
          { probe },
        )
        const id = yield* run(Job.execute({ id: "x" }, { discard: true }))
        yield* rig.reaches(Job, id, "Suspended")
        yield* rig.pass("3 minutes")
        expect(yield* rig.tags(Job, id)).toEqual(["ClockSet/nap", "Suspended"])
        isBroken = false
        yield* rig.comesTo(Job, id, "Completed")
      }))
  })
}
