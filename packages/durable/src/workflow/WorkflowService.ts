/** Effect's `WorkflowEngine` over executions in the journal. */

import type { EventReplayError, PersistenceFailed } from "@detent/machine"
import type { InstanceKey } from "@detent/store"
import { instanceName } from "@detent/store/internal"
import * as Cause from "effect/Cause"
import type { Context as ContextOf } from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Activity from "effect/workflow/Activity"
import type * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { type Encoded, makeUnsafe, WorkflowEngine, type WorkflowInstance } from "effect/workflow/WorkflowEngine"
import { untilAnswered } from "../runtime/untilAnswered.ts"
import type { TimerSweep } from "../timers/TimerSweep.ts"
import type { AnyActivity } from "./ActivityRun.ts"
import { Execution } from "./Execution.ts"
import { isAtWork, isEnded, keyOf, machineOf, type Phase } from "./ExecutionState.ts"
import type { Executions } from "./Executions.ts"
import type { OrphanScan } from "./OrphanScan.ts"
import { readEventAt, readResult } from "./Reading.ts"
import { Steps } from "./Steps.ts"
import type { StoredExit } from "./StoredExit.ts"
import { ExecutionHeld, WorkflowEngineClosed } from "./WorkflowError.ts"

type Result = Workflow.Result<unknown, unknown>

/**
 * `makeUnsafe` has the parts that every engine shares: callers that wait, and interrupts that pass from parents to children. Its operations
 * on activities and deferreds are replaced: they treat a stored result that does not decode as a failure of the workflow, which ends the
 * execution. This engine holds the execution instead.
 */
export const makeEngine = (executions: Executions, orphans: OrphanScan, clocks: TimerSweep): WorkflowEngine["Service"] => {
  const steps = new Steps(executions)
  const activityExecute = (activity: Activity.Any, attempt: number) => steps.activity(activity as unknown as AnyActivity, attempt)
  const deferredResult = (deferred: DurableDeferred.Any) => steps.deferred(deferred as DurableDeferred.AnyWithProps)
  const whileOpen = <A>(workflow: string, call: Effect.Effect<A>): Effect.Effect<A> =>
    Effect.suspend(() => (executions.isClosed ? Effect.die(new WorkflowEngineClosed({ workflow })) : call))
  const deferredDone: Encoded["deferredDone"] = () => Effect.die("deferreds are completed through their schemas")
  const engine = makeUnsafe({
    register: (workflow, execute) =>
      Effect.contextWith((context: ContextOf<never>) =>
        Effect.gen(function* () {
          const machine = machineOf(workflow._tag)
          const registered = { workflow, execute, context: executions.checkingLease(context) }
          const known = executions.registered(machine)?.workflow
          if (known !== undefined && known !== workflow) {
            yield* Effect.logWarning(`workflow ${workflow._tag} is registered twice with different definitions; the last one counts`)
          }
          executions.register(registered)
          yield* Effect.addFinalizer(() => executions.unregister(registered))
          orphans.workflowAdded(machine)
          // Its clocks may be overdue.
          clocks.wake()
        }),
      ),
    execute: ((workflow, options) => whileOpen(workflow._tag, execute(executions, workflow, options))) as Encoded["execute"],
    poll: (workflow, executionId) => whileOpen(workflow._tag, poll(executions, workflow, keyOf(workflow, executionId))),
    interrupt: (workflow, executionId) => whileOpen(workflow._tag, executions.deliver(keyOf(workflow, executionId), { _tag: "Interrupt" })),
    interruptUnsafe: (workflow, executionId) => {
      const key = keyOf(workflow, executionId)
      const interrupted = Effect.andThen(
        executions.deliver(key, { _tag: "Interrupt" }),
        Effect.sync(() => executions.live(instanceName(key))?.interruptNow()),
      )
      return whileOpen(workflow._tag, interrupted)
    },
    resume: (workflow, executionId) =>
      whileOpen(workflow._tag, executions.deliver(keyOf(workflow, executionId), { _tag: "Resumed", on: executions.owner })),
    activityExecute,
    deferredResult,
    deferredDone,
    scheduleClock: (_, { clock }) => steps.clock(clock),
  })
  return WorkflowEngine.of({
    ...engine,
    activityExecute: activityExecute as WorkflowEngine["Service"]["activityExecute"],
    deferredResult: deferredResult as WorkflowEngine["Service"]["deferredResult"],
    deferredDone: (deferred, { workflowName, executionId, deferredName, exit }) =>
      whileOpen(
        workflowName,
        Effect.flatMap(executions.codecs.exit(deferred.successSchema as never, deferred.errorSchema as never).encode(exit), (stored) =>
          executions.deliver({ machine: machineOf(workflowName), id: executionId }, { _tag: "Deferred", name: deferredName, exit: stored }),
        ),
      ),
  })
}

interface ExecuteOptions {
  readonly executionId: string
  readonly payload: object
  readonly discard: boolean
  readonly parent?: WorkflowInstance["Service"] | undefined
}

/**
 * Waits for the end. A calling execution is also answered by a suspension, and is then suspended itself. If the called workflow has a
 * retention, the caller's journal keeps the call and its result, so that a replay of the caller does not start it again.
 */
const execute = (
  executions: Executions,
  workflow: Workflow.Any,
  { executionId, payload, discard, parent }: ExecuteOptions,
): Effect.Effect<Result | undefined> =>
  Effect.gen(function* () {
    const key = keyOf(workflow, executionId)
    const by = parent === undefined ? undefined : keyOf(parent.workflow, parent.executionId)
    const caller = parent === undefined ? undefined : Execution.of(parent)
    const run = caller?.run
    const called = `${workflow._tag}/${executionId}`
    const keep = (exit: StoredExit | undefined) =>
      caller !== undefined && executions.removes(key.machine) ? caller.store({ _tag: "Called", name: called, exit }) : Effect.void
    const ended = (exit: StoredExit) =>
      Effect.gen(function* () {
        const complete = yield* completed(executions, workflow, executionId, exit)
        const step = `${workflow._tag} ${executionId}`
        yield* Effect.withFiber((fiber) => Effect.sync(() => run?.compensations.stepEnded(fiber, step)))
        return complete
      })
    const kept = caller?.state.called.get(called)
    if (discard && caller?.state.called.has(called)) return undefined
    if (!discard && kept !== undefined) return yield* ended(kept)
    if (run?.stopsHere && !discard) return new Workflow.Suspended({})
    // A body that runs again has most likely started it in an earlier run.
    const isThere = run?.isReplay && (yield* executions.exists(key))
    if (!isThere) {
      const encoded = yield* Effect.orDie(executions.codecs.value(workflow.payloadSchema).encode(payload))
      yield* executions.ensure(key, encoded, discard ? undefined : by)
    }
    if (discard) return yield* Effect.as(keep(undefined), undefined)
    const outcome = yield* executions.wait(key, by, by !== undefined || workflow.suspendedRetrySchedule !== undefined)
    switch (outcome._tag) {
      case "Ended":
        return yield* Effect.andThen(keep(outcome.exit), ended(outcome.exit))
      case "Suspended":
        return new Workflow.Suspended({ cause: yield* executions.codecs.decodeCause(outcome.cause) })
      case "Held":
        return yield* Effect.die(new ExecutionHeld({ workflow: workflow._tag, executionId, problem: outcome.problem }))
    }
  })

/** Returns none while the execution runs, and if it does not exist. */
const poll = (executions: Executions, workflow: Workflow.Any, key: InstanceKey): Effect.Effect<Option.Option<Result>> =>
  Effect.gen(function* () {
    const live = executions.live(instanceName(key))
    if (live?.state.result !== undefined) return Option.some(yield* completed(executions, workflow, key.id, live.state.result))
    const opened = yield* untilAnswered(executions.journal.open(key))
    if (Option.isNone(opened)) return Option.none()
    const readable = <B>(read: Effect.Effect<B, PersistenceFailed | EventReplayError>): Effect.Effect<B> =>
      Effect.catch(untilAnswered(read), ({ message }) =>
        Effect.die(new ExecutionHeld({ workflow: workflow._tag, executionId: key.id, problem: message })),
      )
    const { record } = opened.value
    if (record.status === "held") {
      const held = new ExecutionHeld({ workflow: workflow._tag, executionId: key.id, problem: record.reason ?? "unknown" })
      return Option.some(new Workflow.Suspended({ cause: Cause.die(held) }))
    }
    if (isEnded(record.tag as Phase)) {
      return Option.some(yield* completed(executions, workflow, key.id, yield* readable(readResult(executions.journal, opened.value))))
    }
    if (isAtWork(record.tag as Phase) && live === undefined) executions.takeUp(key, record.owner)
    if (record.tag !== "Suspended") return Option.none()
    const last = yield* readable(readEventAt(executions.journal, record))
    const cause = last?._tag === "Suspended" ? last.cause : undefined
    return Option.some(new Workflow.Suspended({ cause: yield* executions.codecs.decodeCause(cause) }))
  })

const completed = (executions: Executions, workflow: Workflow.Any, executionId: string, stored: StoredExit): Effect.Effect<Result> =>
  executions.codecs
    .exit(workflow.successSchema, workflow.errorSchema)
    .decode(stored)
    .pipe(
      Effect.mapError(
        (problem) =>
          new ExecutionHeld({
            workflow: workflow._tag,
            executionId,
            problem: `its stored result does not fit the schema: ${problem.message}`,
          }),
      ),
      Effect.orDie,
      Effect.map((exit) => new Workflow.Complete({ exit })),
    )
