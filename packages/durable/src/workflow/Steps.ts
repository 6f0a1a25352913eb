/** What the body of a workflow asks the engine for: activities, deferreds, clocks. What is stored is not done again. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type { DurableClock } from "effect/unstable/workflow/DurableClock"
import type * as DurableDeferred from "effect/unstable/workflow/DurableDeferred"
import * as Workflow from "effect/unstable/workflow/Workflow"
import { WorkflowInstance } from "effect/unstable/workflow/WorkflowEngine"
import { ActivityRun, type AnyActivity } from "./ActivityRun.ts"
import type { Execution } from "./Execution.ts"
import { executionOf, noteExecution } from "./ExecutionOf.ts"
import { activityKey } from "./ExecutionState.ts"
import type { Executions } from "./Executions.ts"
import type { Run } from "./Run.ts"
import { type ExitCodec, reread, type StoredExit } from "./StoredExit.ts"
import { DuplicateStep } from "./WorkflowError.ts"

type Result = Workflow.Result<unknown, unknown>
type AnyFiber = Fiber.Fiber<unknown, unknown>

export class Steps {
  readonly #executions: Executions
  /** Instances that activities run with: what they call in turn may be called again when they are tried again. */
  readonly #inActivities = new WeakSet<object>()

  constructor(executions: Executions) {
    this.#executions = executions
  }

  activity(activity: AnyActivity, attempt: number): Effect.Effect<Result, never, WorkflowInstance> {
    return Effect.withFiber((fiber) => {
      const instance = Context.get(fiber.context as Context.Context<WorkflowInstance>, WorkflowInstance)
      const execution = executionOf(instance)
      const run = execution?.run
      // It was taken away from this process while its body went on.
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
    const started = new ActivityRun(name, instance, fiber.context, codec, (outcome) => {
      if (execution.activities.get(key) !== started) return
      const over = (told: typeof outcome) => {
        execution.activities.delete(key)
        started.tell(told)
      }
      if (outcome._tag !== "Done") return over(outcome)
      const exit = reread(outcome.exit)
      execution.append({ _tag: "Activity", name, attempt, exit }, true, (appended) =>
        over(appended === "stored" ? { _tag: "Done", exit } : { _tag: "Interrupted" }),
      )
    })
    execution.activities.set(key, started)
    noteExecution(started.instance, execution)
    this.#inActivities.add(started.instance)
    started.start(activity)
    return started
  }

  /** A stored exit that its schema does not take holds the execution: it is not an answer, and not a failure either. */
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
      const execution = executionOf(instance)
      const run = execution?.run
      if (execution === undefined || run === undefined) return Effect.interrupt
      const stored = execution.state.deferreds.get(deferred.name)
      // Whoever finds nothing goes to sleep. What is started side by side with it gets its turn first, and is waited for.
      if (stored === undefined) return Effect.as(Effect.yieldNow, Option.none())
      const codec = this.#executions.codecs.exit(deferred.successSchema, deferred.errorSchema)
      return this.#decoded(execution, codec, stored, `deferred ${deferred.name}`, (exit) => {
        run.compensations.stepEnded(fiber, deferred.name)
        return Option.some(exit)
      })
    })
  }

  /** The deadline is that of the first time, however often the body comes by. */
  clock({ name, duration }: DurableClock): Effect.Effect<void> {
    return Effect.withFiber((fiber) => {
      const instance = Context.get(fiber.context as Context.Context<WorkflowInstance>, WorkflowInstance)
      const execution = executionOf(instance)
      const run = execution?.run
      if (execution === undefined || run === undefined) return Effect.interrupt
      if (!this.#inActivities.has(instance) && !run.use(`clock/${name}`)) return duplicate(instance, "clock", name, 1)
      if (run.stopsHere) return Effect.void
      return Effect.map(Clock.currentTimeMillis, (now) => execution.setClock(name, Math.ceil(now + Duration.toMillis(duration))))
    })
  }
}

const duplicate = ({ workflow, executionId }: WorkflowInstance["Service"], kind: "activity" | "clock", step: string, attempt: number) =>
  Effect.die(new DuplicateStep({ workflow: workflow._tag, executionId, kind, step, attempt }))
