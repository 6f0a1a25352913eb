/** Cases in which Effect's own engines agree with this one, and cases in which they lose what their users asked for and this one does not. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { MemoryStore } from "@detent/store"
import { describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as References from "effect/References"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Activity from "effect/workflow/Activity"
import * as DurableClock from "effect/workflow/DurableClock"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { layerMemory, type WorkflowEngine, type WorkflowInstance } from "effect/workflow/WorkflowEngine"
import * as DurableWorkflow from "../../../src/DurableWorkflow.ts"
import { type EngineName, engineOn } from "./Engines.ts"

const Job = Workflow.make("Job", {
  payload: { id: Schema.String },
  success: Schema.String,
  error: Schema.String,
  idempotencyKey: ({ id }) => id,
})

const ours = DurableWorkflow.layer().pipe(Layer.provide(MemoryStore.layer))

type Body = Effect.Effect<string, string, WorkflowEngine | WorkflowInstance | Scope.Scope | Workflow.Execution<"Job">>

const runOn = <X>(engine: Layer.Layer<WorkflowEngine, X>, body: Body): Effect.Effect<Exit.Exit<string, string>, X> =>
  Effect.exit(Job.execute({ id: "one" })).pipe(
    Effect.provide(Job.toLayer(() => body).pipe(Layer.provideMerge(engine))),
    Effect.provideService(References.MinimumLogLevel, "None"),
  )

/** Effect's cluster engine; the programs of the other tests come with it and do nothing. */
const inFolder = (engine: EngineName, use: (layer: Layer.Layer<WorkflowEngine>) => Effect.Effect<void>) => {
  const folder = mkdtempSync(join(tmpdir(), "detent-differences-"))
  return Effect.ensuring(
    use(engineOn(engine, folder)),
    Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
  )
}

describe("where Effect's engines agree with this one and where they differ", () => {
  const saga = (undone: Array<string>): Body =>
    Effect.gen(function* () {
      yield* Job.withCompensation(Activity.make({ name: "book", execute: Effect.void }), () => Effect.sync(() => undone.push("cancel")))
      yield* DurableClock.sleep({ name: "one", duration: 20, inMemoryThreshold: 0 })
      yield* DurableClock.sleep({ name: "two", duration: 20, inMemoryThreshold: 0 })
      return yield* Effect.fail("no car")
    })

  it.live("WorkflowEngine.layerMemory, Effect's cluster engine and ours compensate a step once, however often the body is replayed", () =>
    Effect.gen(function* () {
      const undone = { memory: [] as string[], cluster: [] as string[], ours: [] as string[] }
      yield* runOn(layerMemory, saga(undone.memory))
      yield* inFolder("effect", (engine) => Effect.asVoid(runOn(engine, saga(undone.cluster))))
      yield* runOn(ours, saga(undone.ours))
      expect(undone.memory).toEqual(["cancel"])
      expect(undone.cluster).toEqual(["cancel"])
      expect(undone.ours).toEqual(["cancel"])
    }),
  )

  const twice = (sent: Array<string>): Body =>
    Effect.gen(function* () {
      for (const to of ["Ada", "Grace"]) {
        yield* Activity.make({ name: "send", execute: Effect.sync(() => sent.push(to)) })
      }
      return "sent"
    })

  it.live("Effect's cluster engine merges two activities of one name and never runs the second; ours tells", () =>
    Effect.gen(function* () {
      const sent = { cluster: [] as string[], ours: [] as string[] }
      yield* inFolder("effect", (engine) =>
        Effect.gen(function* () {
          expect(yield* runOn(engine, twice(sent.cluster))).toEqual(Exit.succeed("sent"))
        }),
      )
      expect(sent.cluster).toEqual(["Ada"])
      const exit = yield* runOn(ours, twice(sent.ours))
      expect(Exit.isFailure(exit) && String(Cause.squash(exit.cause))).toContain("activity send is run twice")
    }),
  )

  const Gate = DurableDeferred.make("gate", { success: Schema.String })

  /** Interrupts an execution, completes the deferred it waits for, and returns its end: after a wait, or without one between the two. */
  const interruptedAndAnswered = <X>(engine: Layer.Layer<WorkflowEngine, X>, body: Body, between: Effect.Effect<void>) =>
    Effect.gen(function* () {
      const id = yield* Job.execute({ id: "one" }, { discard: true })
      yield* Effect.repeat(Effect.delay(Job.poll(id), 5), { until: (polled) => Option.isSome(polled) && polled.value._tag === "Suspended" })
      yield* Job.interrupt(id)
      yield* between
      const token = DurableDeferred.tokenFromExecutionId(Gate, { workflow: Job, executionId: id })
      yield* DurableDeferred.succeed(Gate, { token, value: "go" })
      const ended = yield* Effect.repeat(Effect.delay(Job.poll(id), 5), {
        until: (polled) => Option.isSome(polled) && polled.value._tag === "Complete",
      })
      const result = Option.getOrThrow(ended)
      if (result._tag !== "Complete") return "suspended"
      return Exit.isSuccess(result.exit) ? "succeeded" : Cause.hasInterruptsOnly(result.exit.cause) ? "interrupted" : "failed"
    }).pipe(
      Effect.provide(Job.toLayer(() => body).pipe(Layer.provideMerge(engine))),
      Effect.provideService(References.MinimumLogLevel, "None"),
    )

  it.live("an interrupt before an event ends an execution on every engine; right before it, it does on ours only", () =>
    Effect.gen(function* () {
      const body: Body = DurableDeferred.await(Gate)
      const later = Effect.sleep(100)
      expect(yield* interruptedAndAnswered(layerMemory, body, later)).toBe("interrupted")
      expect(yield* interruptedAndAnswered(ours, body, later)).toBe("interrupted")
      expect(yield* interruptedAndAnswered(layerMemory, body, Effect.void)).toBe("succeeded")
      expect(yield* interruptedAndAnswered(ours, body, Effect.void)).toBe("interrupted")
    }),
  )

  it.live("no engine starts an activity under an interrupt, not even when the awaited event arrives right after it", () =>
    Effect.gen(function* () {
      for (const engine of [layerMemory, ours]) {
        const done: Array<string> = []
        const late = Activity.make({
          name: "late",
          success: Schema.String,
          execute: Effect.sync(() => {
            done.push("late")
            return "late"
          }),
        })
        const body: Body = Effect.andThen(DurableDeferred.await(Gate), late)
        expect(yield* interruptedAndAnswered(engine, body, Effect.void)).toBe("interrupted")
        expect(done).toEqual([])
      }
    }),
  )
})
