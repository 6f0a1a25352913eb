/**
 * A running activity, on a fiber of its own. When an event arrives that a run of the workflow waits for, that run ends but its activities
 * continue: the next run waits for them.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import type * as Activity from "effect/workflow/Activity"
import * as Workflow from "effect/workflow/Workflow"
import { WorkflowInstance } from "effect/workflow/WorkflowEngine"
import { clockDeferred } from "./ExecutionEvent.ts"
import type { ExitCodec, StoredExit } from "./StoredExit.ts"

/** An activity as Effect passes it to the engine. The context of the calling fiber has the services of its schemas and its body. */
export interface AnyActivity extends Activity.AnyWithProps {
  readonly execute: Effect.Effect<unknown, unknown, Scope.Scope>
}

export type ActivityOutcome =
  | { readonly _tag: "Done"; readonly exit: StoredExit }
  | { readonly _tag: "Suspended"; readonly cause: Cause.Cause<never> | undefined }
  /** Its result is not stored. */
  | { readonly _tag: "Interrupted" }
  | { readonly _tag: "Died"; readonly cause: Cause.Cause<never> }

export class ActivityRun {
  readonly instance: WorkflowInstance["Service"]
  /** Whether this activity is the in-memory sleep of a durable clock. */
  readonly isSleep: boolean
  readonly #codec: ExitCodec
  readonly #context: Context.Context<never>
  readonly #onEnd: (outcome: ActivityOutcome) => void
  #fiber: Fiber.Fiber<StoredExit, unknown> | undefined
  #waiting: Array<(outcome: ActivityOutcome) => void> = []
  #outcome: ActivityOutcome | undefined

  /** `onEnd` receives the outcome before the waiters, stores it, then calls `complete`. */
  constructor(
    name: string,
    parent: WorkflowInstance["Service"],
    context: Context.Context<never>,
    codec: ExitCodec,
    onEnd: (outcome: ActivityOutcome) => void,
  ) {
    this.isSleep = name.startsWith(clockDeferred(""))
    this.instance = WorkflowInstance.initial(parent.workflow, parent.executionId)
    this.instance.interrupted = parent.interrupted
    this.#context = Context.add(context, WorkflowInstance, this.instance)
    this.#codec = codec
    this.#onEnd = onEnd
  }

  start(activity: AnyActivity) {
    const encoded = Effect.flatMap(Effect.scoped(activity.execute), (value) => this.#codec.encode(Exit.succeed(value)))
    const fiber = Effect.runForkWith(this.#context)(encoded)
    this.#fiber = fiber
    fiber.addObserver((exit) => this.#ended(exit))
  }

  /** Waits for the outcome. Interrupting the last waiter interrupts the activity, unless `continues` returns true. */
  wait(continues: () => boolean): Effect.Effect<ActivityOutcome> {
    return Effect.callback<ActivityOutcome>((resume) => {
      const waiter = (outcome: ActivityOutcome) => resume(Effect.succeed(outcome))
      if (this.#outcome !== undefined) return waiter(this.#outcome)
      this.#waiting.push(waiter)
      return Effect.suspend(() => {
        this.#waiting = this.#waiting.filter((one) => one !== waiter)
        return continues() || this.#waiting.length > 0 || this.#fiber === undefined ? Effect.void : Fiber.interrupt(this.#fiber)
      })
    })
  }

  complete(outcome: ActivityOutcome) {
    this.#outcome = outcome
    for (const waiter of this.#waiting.splice(0)) waiter(outcome)
  }

  interrupt() {
    this.#fiber?.interruptUnsafe()
  }

  #ended(exit: Exit.Exit<StoredExit, unknown>) {
    const { scope } = this.instance
    if (Exit.isSuccess(exit) && scope.state._tag === "Empty") return this.#onEnd({ _tag: "Done", exit: exit.value })
    const settled = Exit.isSuccess(exit) ? Effect.succeed<ActivityOutcome>({ _tag: "Done", exit: exit.value }) : this.#failure(exit.cause)
    const isKept = Exit.isFailure(exit) && this.#isSuspension(exit.cause)
    const closed = isKept ? settled : Effect.andThen(Scope.close(scope, exit), settled)
    Effect.runForkWith(this.#context)(closed).addObserver((outcome) =>
      this.#onEnd(Exit.isSuccess(outcome) ? outcome.value : { _tag: "Died", cause: outcome.cause }),
    )
  }

  #isSuspension(cause: Cause.Cause<unknown>): boolean {
    const suspendsOnFailure = Context.get(this.instance.workflow.annotations, Workflow.SuspendOnFailure)
    return (this.instance.suspended && Cause.hasInterruptsOnly(cause)) || (suspendsOnFailure && !Cause.hasInterruptsOnly(cause))
  }

  #failure(cause: Cause.Cause<unknown>): Effect.Effect<ActivityOutcome> {
    if (this.#isSuspension(cause)) {
      const failed = Cause.hasInterruptsOnly(cause) ? this.instance.cause : Cause.die(Cause.squash(cause))
      return Effect.succeed({ _tag: "Suspended", cause: failed })
    }
    if (Cause.hasInterruptsOnly(cause)) return Effect.succeed({ _tag: "Interrupted" })
    const failure = Cause.fromReasons(cause.reasons.filter((reason) => reason._tag !== "Interrupt"))
    if (Cause.hasDies(cause) && !Context.get(this.instance.workflow.annotations, Workflow.CaptureDefects)) {
      return Effect.succeed({ _tag: "Died", cause: failure as Cause.Cause<never> })
    }
    return Effect.map(this.#codec.encode(Exit.failCause(failure)), (stored): ActivityOutcome => ({ _tag: "Done", exit: stored }))
  }
}
