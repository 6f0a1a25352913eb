/** Cases in which Effect's own engines behave in a way that is of use to none of their users, and this one does not. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as References from "effect/References"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Activity from "effect/workflow/Activity"
import * as DurableClock from "effect/workflow/DurableClock"
import * as Workflow from "effect/workflow/Workflow"
import { layerMemory, type WorkflowEngine, type WorkflowInstance } from "effect/workflow/WorkflowEngine"
import * as DurableWorkflow from "../../../src/DurableWorkflow.ts"
import * as MemoryStore from "../../../src/MemoryStore.ts"
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

describe("where Effect's engines differ", () => {
  const saga = (undone: Array<string>): Body =>
    Effect.gen(function* () {
      yield* Job.withCompensation(Activity.make({ name: "book", execute: Effect.void }), () => Effect.sync(() => undone.push("cancel")))
      yield* DurableClock.sleep({ name: "one", duration: 20, inMemoryThreshold: 0 })
      yield* DurableClock.sleep({ name: "two", duration: 20, inMemoryThreshold: 0 })
      return yield* Effect.fail("no car")
    })

  it.live("WorkflowEngine.layerMemory compensates a step once per replay; Effect's cluster engine and ours once", () =>
    Effect.gen(function* () {
      const undone = { memory: [] as string[], cluster: [] as string[], ours: [] as string[] }
      yield* runOn(layerMemory, saga(undone.memory))
      yield* inFolder("effect", (engine) => Effect.asVoid(runOn(engine, saga(undone.cluster))))
      yield* runOn(ours, saga(undone.ours))
      expect(undone.memory.length).toBeGreaterThan(1)
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
})
