/**
 * One run of the body of a workflow, from its start to its result or to the point where it must wait. Steps whose results are stored
 * are not done again. A run that waits ends, and the next run starts at the beginning of the body.
 */

import type { InstanceKey } from "@detent/store"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Workflow from "effect/workflow/Workflow"
import { type WorkflowEngine, WorkflowInstance } from "effect/workflow/WorkflowEngine"
import { referenceTo } from "../runtime/StoredTrace.ts"
import { isTraced } from "../runtime/Telemetry.ts"
import { type CompensationLog, Compensations } from "./Compensations.ts"
import type { Ending } from "./ExecutionEvent.ts"
import type { ExecutionState } from "./ExecutionState.ts"
import { type Codecs, type StoredExit, storedInterrupt } from "./StoredExit.ts"
import { ExecutionHeld } from "./WorkflowError.ts"

/** A workflow that this process can run. */
export interface RegisteredWorkflow {
  readonly workflow: Workflow.Any
  readonly execute: (payload: object, executionId: string) => Effect.Effect<unknown, unknown, WorkflowEngine | WorkflowInstance>
  /** The services its executions run with. */
  readonly context: Context.Context<never>
}

/** The execution that runs. */
export interface RunOwner extends CompensationLog {
  readonly key: InstanceKey
  readonly state: ExecutionState
  readonly codecs: Codecs
  /** Counts the events that would wake a sleeping execution. */
  readonly wakes: number
}

/** How a run ended. */
export type RunOutcome =
  | { readonly _tag: "Ended"; readonly ending: Ending; readonly exit: StoredExit }
  | { readonly _tag: "Suspended"; readonly cause: unknown }
  /** The run was stopped, and no outcome is stored. */
  | { readonly _tag: "Abandoned" }
  | { readonly _tag: "Failed"; readonly problem: string }

export class Run {
  readonly compensations: Compensations
  /** The wakes of the execution when this run began. */
  readonly wakes: number
  /** Whether an event of an earlier run is stored. */
  readonly isReplay: boolean
  readonly #owner: RunOwner
  readonly #registered: RegisteredWorkflow
  readonly #used = new Set<string>()
  #fiber: Fiber.Fiber<RunOutcome> | undefined
  #isOver = false
  #isAbandoned = false
  #isPreempted = false
  #isBodyOver = false

  constructor(owner: RunOwner, registered: RegisteredWorkflow) {
    this.#owner = owner
    this.#registered = registered
    this.wakes = owner.wakes
    this.isReplay = owner.state.sequence > 0
    this.compensations = new Compensations(registered.workflow, owner.key.id, owner)
  }

  get instance(): WorkflowInstance["Service"] {
    return this.compensations.instance
  }

  /** Whether the activities it started continue without it: the next run waits for them again. */
  get leavesActivities(): boolean {
    return this.#isPreempted
  }

  /** Whether it takes no further step: an interrupt was requested, and compensation has not begun. */
  get stopsHere(): boolean {
    return this.#owner.state.interruptRequested && !this.#isBodyOver
  }

  /** Claims the name of a step for this run. Returns false if the name was used before. */
  use(step: string): boolean {
    if (this.#used.has(step)) return false
    this.#used.add(step)
    return true
  }

  start(over: (outcome: RunOutcome) => void) {
    const context = Context.add(this.#registered.context, WorkflowInstance, this.instance)
    // Only the body can be interrupted, so that the outcome is always reported.
    const fiber = Effect.runForkWith(context)(this.#continued(this.#whole as Effect.Effect<RunOutcome>), { uninterruptible: true })
    this.#fiber = fiber
    fiber.addObserver((exit) => {
      this.#isOver = true
      // A run that was stopped while it compensated has compensations left, regardless of its exit.
      if (this.#isAbandoned) over({ _tag: "Abandoned" })
      else over(Exit.isSuccess(exit) ? exit.value : this.#failed(exit.cause))
    })
  }

  /** In a span that continues the trace of the start, where a tracer is installed. */
  #continued(run: Effect.Effect<RunOutcome>): Effect.Effect<RunOutcome> {
    const { trace } = this.#owner.state
    if (trace === undefined) return run
    return Effect.withFiber((fiber) => {
      if (!isTraced(fiber)) return run
      return Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const { parent, links } = referenceTo(trace, now)
        const attributes = { "detent.execution": this.#owner.key.id }
        const continued = parent === undefined ? { root: true } : { parent }
        return Effect.withSpan(run, `execution ${this.#registered.workflow._tag}`, { attributes, links, ...continued })
      })
    })
  }

  /** Ends the run because the event it waits for has arrived. */
  preempt() {
    if (this.#isOver || this.#isBodyOver) return
    this.#isPreempted = true
    this.instance.suspended = true
    this.#fiber?.interruptUnsafe()
  }

  /** Ends the run without a result and without compensating. */
  abandon() {
    if (this.#isOver) return
    this.#isAbandoned = true
    this.compensations.abandon()
    this.instance.suspended = false
    this.#fiber?.interruptUnsafe()
  }

  /** Ends the body now, and compensates. */
  interrupt() {
    if (this.#isOver || this.#isBodyOver) return
    this.instance.suspended = true
    this.#fiber?.interruptUnsafe()
  }

  get #whole() {
    const { workflow, execute } = this.#registered
    const { codecs, state, key } = this.#owner
    const codec = codecs.exit(workflow.successSchema, workflow.errorSchema)
    return Effect.gen({ self: this }, function* () {
      const payload = yield* Effect.mapError(
        codecs.value(workflow.payloadSchema).decode(state.payload),
        (problem) => new ExecutionHeld({ workflow: workflow._tag, executionId: key.id, problem: `its payload: ${problem.message}` }),
      )
      const body = Effect.onExit(execute(payload as object, key.id), (exit) => this.#bodyOver(exit))
      const result = yield* Workflow.intoResult(body)
      if (result._tag === "Suspended") {
        return { _tag: "Suspended", cause: yield* codecs.encodeCause(result.cause) } as const
      }
      const exit = yield* codec.encode(result.exit)
      return { _tag: "Ended", ending: endingOf(result.exit), exit } as const
    })
  }

  /** Runs between the body and its compensations. */
  #bodyOver(exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> {
    const { annotations } = this.#registered.workflow
    const { instance } = this
    this.#isBodyOver = true
    if (this.#isAbandoned) return Effect.void
    // An interrupt that is stored counts, even if the body succeeds without a further step.
    if (Exit.isSuccess(exit)) return this.#owner.state.interruptRequested ? this.#interruptSelf : Effect.void
    // A defect is not a result and is not compensated: the execution is held and can be resumed.
    if (Cause.hasDies(exit.cause) && !Context.get(annotations, Workflow.CaptureDefects)) this.compensations.abandon()
    const isWaiting = instance.suspended && Cause.hasInterruptsOnly(exit.cause)
    if (!isWaiting && !Context.get(annotations, Workflow.SuspendOnFailure)) return Effect.void
    return this.#owner.state.interruptRequested ? this.#interruptSelf : Effect.void
  }

  /** Makes an interruption the exit of the body, so that its compensations run. */
  get #interruptSelf(): Effect.Effect<void> {
    return Effect.withFiber((fiber) => {
      this.instance.suspended = false
      this.instance.interrupted = true
      return Effect.interruptible(Fiber.interrupt(fiber))
    })
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
