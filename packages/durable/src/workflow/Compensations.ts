/**
 * The scope of one run of a workflow. Its finalizers are the compensations, which Effect keeps in memory only. Here each completed
 * compensation is journaled, so that after a crash no step is compensated twice.
 *
 * A compensation is identified by the step before it: the last activity, deferred or child that ended on the fiber that registers it.
 * Without a step before it, a compensation is not journaled and may be repeated: the order of registration could differ in the next run,
 * and skipping the wrong one would be worse.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import type * as Workflow from "effect/workflow/Workflow"
import { WorkflowInstance } from "effect/workflow/WorkflowEngine"
import { compensationKey } from "./ExecutionState.ts"

type Finalizer = (exit: Exit.Exit<unknown, unknown>) => Effect.Effect<unknown>

/** The journal of completed compensations. */
export interface CompensationLog {
  isCompensated(key: string): boolean
  compensated(step: string, index: number): Effect.Effect<void>
}

export class Compensations {
  readonly instance: WorkflowInstance["Service"]
  readonly #log: CompensationLog
  readonly #steps = new WeakMap<object, { readonly step: string; registered: number }>()
  #abandoned = false
  #wasAbandonedRead = false

  constructor(workflow: Workflow.Any, executionId: string, log: CompensationLog) {
    this.#log = log
    const scope = Scope.makeUnsafe()
    const register = (finalizer: Finalizer) => this.#register(finalizer)
    scope.state = { _tag: "Open", finalizerKey: undefined, finalizer: undefined, finalizers: new Finalizers(register) }
    this.instance = WorkflowInstance.initial(workflow, executionId, { scope })
    // A finalizer of `Workflow.addFinalizer` reads `abandoned` before it does anything. A finalizer of the process alone, such as
    // one that closes a file, does not. That distinguishes the two.
    Object.defineProperty(this.instance, "abandoned", {
      enumerable: true,
      get: () => {
        this.#wasAbandonedRead = true
        return this.#abandoned
      },
      set: (abandoned: boolean) => {
        this.#abandoned = abandoned
      },
    })
  }

  /** The run ends without a result: nothing is compensated. */
  abandon() {
    this.#abandoned = true
  }

  /** A step has ended on this fiber. */
  stepEnded(fiber: Fiber.Fiber<unknown, unknown>, step: string) {
    this.#steps.set(fiber, { step, registered: 0 })
  }

  #register(finalizer: Finalizer): Finalizer {
    const fiber = Fiber.getCurrent()
    const stepBefore = fiber === undefined ? undefined : this.#steps.get(fiber)
    const index = stepBefore === undefined ? 0 : stepBefore.registered++
    // `DurableDeferred.into` runs its effect with a copy of the instance, whose `abandoned` is never set.
    const isOfCopy = fiber !== undefined && Context.getOrUndefined(fiber.context, WorkflowInstance) !== this.instance
    return (exit) =>
      Effect.suspend(() => {
        if (isOfCopy) return this.#abandoned ? Effect.void : this.#once(finalizer(exit), exit, stepBefore?.step, index)
        if (stepBefore !== undefined && this.#log.isCompensated(compensationKey(stepBefore.step, index))) return Effect.void
        this.#wasAbandonedRead = false
        const effect = finalizer(exit)
        return this.#wasAbandonedRead && !this.#abandoned ? this.#once(effect, exit, stepBefore?.step, index) : effect
      })
  }

  /** Only a failed run compensates. Finalizers after a success are not journaled: the execution ends with them. */
  #once(effect: Effect.Effect<unknown>, exit: Exit.Exit<unknown, unknown>, step: string | undefined, index: number) {
    if (Exit.isSuccess(exit) || step === undefined) return effect
    if (this.#log.isCompensated(compensationKey(step, index))) return Effect.void
    return Effect.andThen(effect, this.#log.compensated(step, index))
  }
}

/** The finalizers of a scope. Wraps each finalizer when it is added. */
class Finalizers extends Map<object, Finalizer> {
  readonly #register: (finalizer: Finalizer) => Finalizer

  constructor(register: (finalizer: Finalizer) => Finalizer) {
    super()
    this.#register = register
  }

  override set(key: object, finalizer: Finalizer): this {
    return super.set(key, this.#register(finalizer))
  }
}
