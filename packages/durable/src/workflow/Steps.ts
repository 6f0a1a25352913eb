/** The steps of a workflow's body: activities, deferreds, clocks. A step whose result is stored is not done again. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type { DurableClock } from "effect/workflow/DurableClock"
import type * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { WorkflowInstance } from "effect/workflow/WorkflowEngine"
import { ActivityRun, type AnyActivity } from "./ActivityRun.ts"
import { Execution } from "./Execution.ts"
import { activityKey } from "./ExecutionState.ts"
import type { Executions } from "./Executions.ts"
import type { Run } from "./Run.ts"
import { type ExitCodec, reread, type StoredExit } from "./StoredExit.ts"
import { DuplicateStep } from "./WorkflowError.ts"

type Result = Workflow.Result<unknown, unknown>
type AnyFiber = Fiber.Fiber<unknown, unknown>

export class Steps {
  readonly #executions: Executions
  /** Instances that activities run with. Steps inside an activity may repeat when the activity is tried again. */
  readonly #inActivities = new WeakSet<object>()

  constructor(executions: Executions) {
    this.#executions = executions
  }

  activity(activity: AnyActivity, attempt: number): Effect.Effect<Result, never, WorkflowInstance> {
    return Effect.withFiber((fiber) => {
      const instance = Context.get(fiber.context as Context.Context<WorkflowInstance>, WorkflowInstance)
      const execution = Execution.of(instance)
      const run = execution?.run
      // Another node has taken the execution over while this body continued.
      if (execution === undefined || run === undefined) return Effect.interrupt
      const { name } = activity
      const key = activityKey(name, attempt)
      if (!this.#inActivities.has(instance) && !run.use(key)) return duplicate(instance, "activity", name, attempt)
      const codec = this.#executions.codecs.exit(activity.successSchema, activity.errorSchema)
      const ended = (exit: StoredExit) => this.#completed(execution, run, codec, fiber, exit, attempt === 1 ? name : `${name}#${attempt}`)
      const stored = execution.state.activities.get(key)
      if (stored !== undefined) return ended(stored)
      if (run.stopsHere) return Effect.succeed<Result>(new Workflow.Suspended({}))
      const underWay = execution.activities.get(key) ?? this.#start(execution, activity, key, attempt, instance, fiber, codec)
      return Effect.flatMap(
        underWay.wait(() => run.leavesActivities),
        (outcome): Effect.Effect<Result> => {
          switch (outcome._tag) {
            case "Done":
              return ended(outcome.exit)
            case "Suspended":
              return Effect.succeed(new Workflow.Suspended({ cause: outcome.cause }))
            case "Interrupted":
              return Effect.interrupt
            case "Died":
              return Effect.failCause(outcome.cause)
          }
        },
      )
    })
  }

  #start(
    execution: Execution,
    activity: AnyActivity,
    key: string,
    attempt: number,
    instance: WorkflowInstance["Service"],
    fiber: AnyFiber,
    codec: ExitCodec,
  ): ActivityRun {
    const { name } = activity
    const startedAt = Math.floor(fiber.getRef(Clock.Clock).currentTimeMillisUnsafe())
    const started = new ActivityRun(name, instance, fiber.context, codec, (outcome) => {
      if (execution.activities.get(key) !== started) return
      const complete = (final: typeof outcome) => {
        execution.activities.delete(key)
        started.complete(final)
      }
      if (outcome._tag !== "Done") return complete(outcome)
      const exit = reread(outcome.exit)
      execution.storeActivity({ _tag: "Activity", name, attempt, exit, startedAt }, (appended) =>
        complete(appended === "stored" ? { _tag: "Done", exit } : { _tag: "Interrupted" }),
      )
    })
    execution.activities.set(key, started)
    execution.note(started.instance)
    this.#inActivities.add(started.instance)
    started.start(activity)
    return started
  }

  /** A stored exit that does not fit its schema holds the execution: it is neither a result nor a failure of the activity. */
  #completed(execution: Execution, run: Run, codec: ExitCodec, fiber: AnyFiber, exit: StoredExit, step: string): Effect.Effect<Result> {
    return this.#decoded(execution, codec, exit, `activity ${step}`, (decoded) => {
      run.compensations.stepEnded(fiber, step)
      return new Workflow.Complete({ exit: decoded })
    })
  }

  #decoded<A>(
    execution: Execution,
    codec: ExitCodec,
    stored: StoredExit,
    what: string,
    use: (exit: Exit.Exit<unknown, unknown>) => A,
  ): Effect.Effect<A> {
    return Effect.catchEager(Effect.mapEager(codec.decode(stored), use), (problem) => {
      execution.hold(`the stored result of ${what} does not fit its schema: ${problem.message}`)
      return Effect.interrupt
    })
  }

  deferred(deferred: DurableDeferred.AnyWithProps): Effect.Effect<Option.Option<Exit.Exit<unknown, unknown>>, never, WorkflowInstance> {
    return Effect.withFiber((fiber) => {
      const instance = Context.get(fiber.context as Context.Context<WorkflowInstance>, WorkflowInstance)
      const execution = Execution.of(instance)
      const run = execution?.run
      if (execution === undefined || run === undefined) return Effect.interrupt
      const stored = execution.state.deferreds.get(deferred.name)
      // A body that finds no result is suspended. The yield lets concurrent steps run first, so that the body waits for them.
      if (stored === undefined) return Effect.as(Effect.yieldNow, Option.none())
      const codec = this.#executions.codecs.exit(deferred.successSchema, deferred.errorSchema)
      return this.#decoded(execution, codec, stored, `deferred ${deferred.name}`, (exit) => {
        run.compensations.stepEnded(fiber, deferred.name)
        return Option.some(exit)
      })
    })
  }

  /** The deadline is that of the first run, however often the body runs. */
  clock({ name, duration }: DurableClock): Effect.Effect<void> {
    return Effect.withFiber((fiber) => {
      const instance = Context.get(fiber.context as Context.Context<WorkflowInstance>, WorkflowInstance)
      const execution = Execution.of(instance)
      const run = execution?.run
      if (execution === undefined || run === undefined) return Effect.interrupt
      if (!this.#inActivities.has(instance) && !run.use(`clock/${name}`)) return duplicate(instance, "clock", name, 1)
      if (run.stopsHere) return Effect.void
      return Effect.map(Clock.currentTimeMillis, (now) =>
        execution.setClock(name, Math.ceil(now + this.#executions.clock.offset + Duration.toMillis(duration))),
      )
    })
  }
}

const duplicate = ({ workflow, executionId }: WorkflowInstance["Service"], kind: "activity" | "clock", step: string, attempt: number) =>
  Effect.die(new DuplicateStep({ workflow: workflow._tag, executionId, kind, step, attempt }))
