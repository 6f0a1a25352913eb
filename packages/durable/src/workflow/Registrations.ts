/** The workflows that layers register, without an engine that runs them. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { makeUnsafe, WorkflowEngine } from "effect/workflow/WorkflowEngine"
import { machineOf } from "./ExecutionState.ts"
import type { RegisteredWorkflow } from "./Run.ts"

/** Runs `registering` with an engine that only keeps what is registered. Returns it by the machine of the workflow. */
export const registrationsOf = <E, R>(
  registering: Effect.Effect<unknown, E, R | WorkflowEngine>,
): Effect.Effect<ReadonlyMap<string, RegisteredWorkflow>, E, Exclude<R, WorkflowEngine>> => {
  const registered = new Map<string, RegisteredWorkflow>()
  const runsNothing = () => Effect.die(new Error("nothing runs while workflows are registered for a check"))
  const engine = makeUnsafe({
    register: (workflow, execute) =>
      Effect.contextWith((context: Context.Context<never>) =>
        Effect.sync(() => {
          registered.set(machineOf(workflow._tag), { workflow, execute, context: Context.omit(WorkflowEngine)(context) })
        }),
      ),
    execute: runsNothing,
    poll: runsNothing,
    interrupt: runsNothing,
    interruptUnsafe: runsNothing,
    resume: runsNothing,
    activityExecute: runsNothing,
    deferredResult: runsNothing,
    deferredDone: runsNothing,
    scheduleClock: runsNothing,
  })
  return Effect.as(Effect.provideService(registering, WorkflowEngine, engine), registered) as Effect.Effect<
    ReadonlyMap<string, RegisteredWorkflow>,
    E,
    Exclude<R, WorkflowEngine>
  >
}
