/**
 * The work of a state: runs the processors of the pending transition, one after the other on a draft, and sends the result to the
 * machine. The work starts when the pending transition is stored, starts again after a crash, and ends when the instance leaves the
 * state. A replay does not run it.
 */

import type { Self } from "@detent/machine"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { failureCause, failureMessage } from "./EntityError.ts"
import { type FailedEvent, failedTag, type ProcessedEvent, processedTag } from "./EntityEvent.ts"
import type { AnyState, Pending } from "./EntityState.ts"
import { type EntityCheck, misfit } from "./Judge.ts"
import { type Plan, type PlannedTransition, pendingTransition, type Step } from "./Plan.ts"
import type { EffectContext } from "./Processor.ts"
import type { RetryPolicy } from "./WorkflowDefinition.ts"

/** The input of an effect slot of the machine: one processor. */
export interface SlotParameters extends Omit<EffectContext, "id"> {
  readonly entity: object
}

/** The context of the work of a state. */
export interface WorkContext {
  readonly id: string
  readonly state: AnyState
  readonly effects: { readonly [processor: string]: ((parameters: SlotParameters) => Effect.Effect<object, unknown, unknown>) | undefined }
  readonly self: Self<ProcessedEvent | FailedEvent>
}

/** A running transition: the data that its processors share. */
interface Run {
  readonly plan: Plan
  readonly check: EntityCheck
  readonly context: WorkContext
  readonly pending: Pending<object>
  readonly transition: PlannedTransition
}

export const work =
  (plan: Plan, check: EntityCheck) =>
  (context: WorkContext): Effect.Effect<void, unknown, unknown> => {
    const { pending, _tag } = context.state
    if (pending === undefined) return Effect.void
    const transition = pendingTransition(plan.states.get(_tag), pending)
    // The definition has changed since: the machine records that and continues with the new definition.
    if (transition === undefined)
      return report(context, { _tag: processedTag, label: pending.transition, run: pending.run, entity: context.state.entity })
    return runAll({ plan, check, context, pending, transition })
  }

const runAll = (run: Run): Effect.Effect<void, unknown, unknown> =>
  Effect.gen(function* () {
    const { context, pending, transition } = run
    let draft: object = { ...context.state.entity, ...pending.patch }
    for (const [position, step] of transition.steps.entries()) {
      const processed = yield* runStep(run, position, step, draft)
      if (processed === undefined) return
      draft = processed
    }
    yield* report(context, { _tag: processedTag, label: transition.name, run: pending.run, entity: draft })
  })

/** Runs one processor with the retries of its policy. Returns undefined if it failed permanently; the machine has recorded the failure. */
const runStep = (run: Run, position: number, step: Step, draft: object): Effect.Effect<object | undefined, unknown, unknown> =>
  Effect.gen(function* () {
    const { context, pending, check } = run
    const limit = step.processor._tag === "Effect" ? step.retry.attempts : 1
    for (let attempt = attemptsBefore(run, step) + 1; ; attempt++) {
      const exit = yield* Effect.exit(runOnce(run, position, step, draft, attempt))
      const problem = exit._tag === "Success" ? check(exit.value) : undefined
      if (exit._tag === "Success" && problem === undefined) return exit.value
      const failure = exit._tag === "Failure" ? Cause.squash(exit.cause) : undefined
      const message = exit._tag === "Failure" ? failureMessage(failure) : misfit(String(problem))
      const cause = failureCause(failure)
      const last = attempt >= limit
      yield* report(context, {
        _tag: failedTag,
        label: `${run.transition.name} failed`,
        run: pending.run,
        processor: step.name,
        message,
        ...(cause === undefined ? {} : { cause }),
        attempts: attempt,
        last,
      })
      if (last) return undefined
      yield* Effect.sleep(delayAfter(step.retry, attempt))
    }
  })

/** The attempts of a processor in this run before the process was restarted. */
const attemptsBefore = ({ context, transition }: Run, step: Step): number => {
  const { error } = context.state
  return error?.transition === transition.name && error.processor === step.name ? error.attempts : 0
}

const runOnce = (
  { plan, context, pending }: Run,
  position: number,
  step: Step,
  draft: object,
  attempt: number,
): Effect.Effect<object, unknown, unknown> => {
  const { argument, error } = pending
  const { processor } = step
  if (processor._tag === "Pure") {
    return Effect.flatMap(Clock.currentTimeMillis, (at) => Effect.sync(() => processor.run({ ...draft }, { at, argument, error })))
  }
  const key = `${plan.definition.name}/${context.id}/${pending.run}/${position}/${step.name}`
  const run = context.effects[step.name]
  if (run === undefined) return Effect.die(new Error(`the machine has no slot for the processor ${step.name}`))
  return Effect.suspend(() => run({ entity: { ...draft }, key, attempt, argument, error }))
}

/**
 * Sends an event to the machine. A refusal means that this run has ended, because another event has changed the entity. If the machine
 * cannot decide on the result of the processors, they count as failed.
 */
const report = ({ self }: WorkContext, event: ProcessedEvent | FailedEvent): Effect.Effect<void, unknown> =>
  Effect.catchTags(self.send(event), {
    TransitionRefused: () => Effect.interrupt,
    InvalidTransition: () => Effect.interrupt,
    MachineStopped: () => Effect.interrupt,
    EndlessTransition: (error) => giveUp(self, event, error),
    ActionFailed: (error) => (error.committed ? Effect.void : giveUp(self, event, error)),
  })

const giveUp = (self: WorkContext["self"], event: ProcessedEvent | FailedEvent, error: Error): Effect.Effect<void, unknown> => {
  if (event._tag === failedTag) return Effect.fail(error)
  const label = `${event.label} failed`
  return self.send({ _tag: failedTag, label, run: event.run, processor: "", message: failureMessage(error), attempts: 1, last: true })
}

/** The delay after a failed attempt, counted from 1, before the next attempt. */
export const delayAfter = (policy: RetryPolicy, attempt: number): Duration.Duration => {
  const first = millisOf(policy.delay ?? "1 second")
  const grown = policy.backoff === "exponential" ? first * (policy.factor ?? 2) ** (attempt - 1) : first
  const longest = policy.longest === undefined ? Number.MAX_SAFE_INTEGER : millisOf(policy.longest)
  return Duration.millis(Math.min(grown, longest))
}

// The schema of the definition has checked the text, so it is a valid duration.
const millisOf = (given: string | number): number => Duration.toMillis(Duration.fromInputUnsafe(given as Duration.Input))
