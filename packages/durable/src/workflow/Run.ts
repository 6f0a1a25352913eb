/**
 * One run of the body of a workflow, from its beginning to its result or to the point where it has to wait. What is stored
 * is not done again; a run that waits is over, and the next one begins anew.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Workflow from "effect/unstable/workflow/Workflow"
import { WorkflowInstance } from "effect/unstable/workflow/WorkflowEngine"
import { Compensations } from "./Compensations.ts"
import type { Execution } from "./Execution.ts"
import type { Ending } from "./ExecutionEvent.ts"
import type { RegisteredWorkflow } from "./ExecutionKeeper.ts"
import { noteExecution } from "./ExecutionOf.ts"
import { type StoredExit, storedInterrupt } from "./StoredExit.ts"
import { ExecutionHeld } from "./WorkflowError.ts"

/** How a run ended. */
export type RunOutcome =
  | { readonly _tag: "Ended"; readonly ending: Ending; readonly exit: StoredExit }
  | { readonly _tag: "Suspended"; readonly cause: unknown }
  /** It was given up; nothing is stored of it. */
  | { readonly _tag: "Abandoned" }
  | { readonly _tag: "Failed"; readonly problem: string }

export class Run {
  readonly compensations: Compensations
  /** How often the execution had been woken when this run began. */
  readonly wakes: number
  /** Whether something is stored of a run before it. */
  readonly isReplay: boolean
  readonly #execution: Execution
  readonly #registered: RegisteredWorkflow
  readonly #used = new Set<string>()
  #fiber: Fiber.Fiber<RunOutcome> | undefined
  #isOver = false
  #isAbandoned = false
  #isPreempted = false
  #isBodyOver = false

  constructor(execution: Execution, registered: RegisteredWorkflow) {
    this.#execution = execution
    this.#registered = registered
    this.wakes = execution.wakes
    this.isReplay = execution.state.sequence > 0
    this.compensations = new Compensations(registered.workflow, execution.key.id, execution)
    noteExecution(this.instance, execution)
  }

  get instance(): WorkflowInstance["Service"] {
    return this.compensations.instance
  }

  /** Whether what it started should go on without it: the next run waits for it again. */
  get leavesActivities(): boolean {
    return this.#isPreempted
  }

  /** Whether the next step is not to be taken: an interrupt was asked for, and what compensates has not begun. */
  get stopsHere(): boolean {
    return this.#execution.state.interruptRequested && !this.#isBodyOver
  }

  /** The first use of a name in this run; false for any further one. */
  use(step: string): boolean {
    if (this.#used.has(step)) return false
    this.#used.add(step)
    return true
  }

  start(over: (outcome: RunOutcome) => void) {
    const context = Context.add(this.#registered.context, WorkflowInstance, this.instance)
    // What can be interrupted is the body; how that ended has to be told in any case.
    const fiber = Effect.runForkWith(context)(this.#whole as Effect.Effect<RunOutcome>, { uninterruptible: true })
    this.#fiber = fiber
    fiber.addObserver((exit) => {
      this.#isOver = true
      // Whatever it came to: one that was given up in the middle of compensating has not compensated the rest.
      if (this.#isAbandoned) over({ _tag: "Abandoned" })
      else over(Exit.isSuccess(exit) ? exit.value : this.#failed(exit.cause))
    })
  }

  /** Ends it because what it waits for has come. */
  preempt() {
    if (this.#isOver || this.#isBodyOver) return
    this.#isPreempted = true
    this.instance.suspended = true
    this.#fiber?.interruptUnsafe()
  }

  /** Ends it without a result and without compensating. */
  abandon() {
    if (this.#isOver) return
    this.#isAbandoned = true
    this.compensations.abandon()
    this.instance.suspended = false
    this.#fiber?.interruptUnsafe()
  }

  /** Ends it now, with what it has compensated. */
  interrupt() {
    if (this.#isOver || this.#isBodyOver) return
    this.instance.suspended = true
    this.#fiber?.interruptUnsafe()
  }

  get #whole() {
    const { workflow, execute } = this.#registered
    const { keeper, state, key } = this.#execution
    const codec = keeper.codecs.exit(workflow.successSchema, workflow.errorSchema)
    return Effect.gen({ self: this }, function* () {
      const payload = yield* Effect.mapError(
        keeper.codecs.value(workflow.payloadSchema).decode(state.payload),
        (problem) => new ExecutionHeld({ workflow: workflow._tag, executionId: key.id, problem: `its payload: ${problem.message}` }),
      )
      const body = Effect.onExit(execute(payload as object, key.id), (exit) => this.#bodyOver(exit))
      const result = yield* Workflow.intoResult(body)
      if (result._tag === "Suspended") {
        return { _tag: "Suspended", cause: yield* keeper.codecs.encodeCause(result.cause) } as const
      }
      const exit = yield* codec.encode(result.exit)
      return { _tag: "Ended", ending: endingOf(result.exit), exit } as const
    })
  }

  /** Between the body and its compensations. */
  #bodyOver(exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> {
    const { annotations } = this.#registered.workflow
    const { instance } = this
    this.#isBodyOver = true
    if (this.#isAbandoned) return Effect.void
    if (Exit.isSuccess(exit)) return Effect.void
    // What is no result must not be compensated either: the execution is held and can go on.
    if (Cause.hasDies(exit.cause) && !Context.get(annotations, Workflow.CaptureDefects)) this.compensations.abandon()
    const isWaiting = instance.suspended && Cause.hasInterruptsOnly(exit.cause)
    if (!isWaiting && !Context.get(annotations, Workflow.SuspendOnFailure)) return Effect.void
    if (!this.#execution.state.interruptRequested) return Effect.void
    instance.suspended = false
    instance.interrupted = true
    return Effect.withFiber((fiber) => Effect.interruptible(Fiber.interrupt(fiber)))
  }

  #failed(cause: Cause.Cause<unknown>): RunOutcome {
    // The body interrupted itself.
    if (Cause.hasInterruptsOnly(cause)) return { _tag: "Ended", ending: "Interrupted", exit: storedInterrupt }
    const failure = Cause.squash(cause)
    if (failure instanceof ExecutionHeld) return { _tag: "Failed", problem: failure.problem }
    return { _tag: "Failed", problem: failure instanceof Error ? `${failure.name}: ${failure.message}` : String(failure) }
  }
}

const endingOf = (exit: Exit.Exit<unknown, unknown>): Ending => {
  if (Exit.isSuccess(exit)) return "Completed"
  return Cause.hasInterruptsOnly(exit.cause) ? "Interrupted" : "Failed"
}
