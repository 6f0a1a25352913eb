/**
 * Effect's workflows on the journal: `Workflow.make`, `Activity.make`, `DurableClock`, `DurableDeferred`, `DurableQueue` and
 * `withCompensation` run unchanged, and their executions are stored, listed and pruned like instances of any machine.
 *
 * ```ts
 * const engine = DurableWorkflow.layer().pipe(Layer.provide(SqliteStore.layer({ filename: "orders.db" })))
 * const program = Checkout.execute({ orderId: "order-123" }).pipe(Effect.provide(CheckoutLive.pipe(Layer.provideMerge(engine))))
 * ```
 */

import type { PersistenceFailed } from "@detent/machine"
import { Environment } from "@detent/machine/internal"
import {
  type EventRecord,
  forkLoop,
  type InstanceCursor,
  type InstancePage,
  type InstanceStatus,
  Journal,
  type Leases,
  Timers,
} from "@detent/store"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Workflow from "effect/workflow/Workflow"
import { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import { defaultLease, Placement, shortestLease } from "./nodes/Placement.ts"
import { purgeTurn, type Retained } from "./operate/Retention.ts"
import { millisAtLeast } from "./runtime/Options.ts"
import { untilAnswered } from "./runtime/untilAnswered.ts"
import { makeClockSweep } from "./workflow/ClockSweep.ts"
import { keyOf, machineOf, type Phase } from "./workflow/ExecutionState.ts"
import { Executions } from "./workflow/Executions.ts"
import { OrphanScan } from "./workflow/OrphanScan.ts"
import { pruneExecution, pruneTurn } from "./workflow/Retention.ts"
import { makeEngine } from "./workflow/WorkflowService.ts"

export type { Phase } from "./workflow/ExecutionState.ts"
export { machineOf } from "./workflow/ExecutionState.ts"
export { DuplicateStep, ExecutionHeld, WorkflowEngineClosed } from "./workflow/WorkflowError.ts"

export interface WorkflowOptions {
  /**
   * The name of this node: the same after every restart, and used by one process at a time. With a name, a process that was killed
   * resumes its executions as soon as it is back. Without one, processes on the same host take them over immediately, and other hosts
   * when its lease has ended. Ignored where the context has a `Placement`.
   */
  readonly nodeId?: string
  /**
   * How long a lease lasts. A node that does not extend it counts as dead. It is extended after each third. Default: 10 seconds.
   * Ignored where the context has a `Placement`. A fifth of it is how often this node looks for executions that no node runs, or that other
   * nodes have written to, and every 20 seconds at least.
   */
  readonly lease?: Duration.Input
  /** How long the journal of an execution that has ended is kept. Its result stays in any case. Default: forever. */
  readonly retention?: Duration.Input
  /**
   * How long executions are kept after their end, by the workflow's name: then they are removed with journal and result, and their
   * ids can be started again. A parent execution stores the result of such a child, so that it never calls it again: give every node
   * the same settings. Default: forever.
   */
  readonly executionRetention?: Readonly<Record<string, Duration.Input>>
  /** How long closing waits for runs to end and for the store. Default: 30 seconds. */
  readonly drainTimeout?: Duration.Input
}

/** The longest time between two scans for executions that no node runs. */
const longestScanMillis = 20_000

const retentionOf = (machine: string, retention: Duration.Input | undefined): ReadonlyArray<Retained> =>
  retention === undefined ? [] : [{ machine, retention }]

const make = (options: WorkflowOptions) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const timers = yield* Timers
    const context = yield* Effect.context<never>()
    const placement = yield* Placement.inContextOrMake({
      ...(options.nodeId === undefined ? {} : { nodeId: options.nodeId }),
      ...(options.lease === undefined ? {} : { lease: options.lease }),
    })
    const drainTimeout = Duration.millis(millisAtLeast(0, "drainTimeout", options.drainTimeout ?? "30 seconds"))
    const scanMillis = Math.min(millisAtLeast(shortestLease, "lease", options.lease ?? defaultLease) / 5, longestScanMillis)
    const retentionMillis = options.retention === undefined ? undefined : millisAtLeast(0, "retention", options.retention)
    const environment = new Environment(context as Context.Context<unknown>)
    const kept = new Map(
      Object.entries(options.executionRetention ?? {}).map(([name, retention]) => [
        machineOf(name),
        Duration.millis(millisAtLeast(0, `executionRetention of ${name}`, retention)),
      ]),
    )
    const executions = new Executions(journal, placement, environment, drainTimeout, kept)
    yield* Effect.addFinalizer(() => executions.close)
    yield* untilAnswered(executions.clock.measure)
    const orphans = new OrphanScan(executions)
    placement.onRegained(() => orphans.leaseRegained())
    if (placement.routing !== undefined) yield* placement.routing.serve(executions.receiver(() => orphans.leaseRegained()))
    const clocks = makeClockSweep(executions, timers)
    yield* forkLoop("the scan for executions that no node runs", orphans.turn(scanMillis))
    yield* forkLoop("the sweep of due clocks", clocks.turn)
    if (retentionMillis !== undefined) {
      const interval = Math.min(3_600_000, Math.max(1000, retentionMillis / 10))
      yield* forkLoop(
        "the pruning of ended executions",
        pruneTurn(journal, () => executions.machines, retentionMillis, interval),
      )
    }
    if (kept.size > 0) {
      // Only for workflows that are registered here, as with machines.
      const retained = () => executions.machines.flatMap((machine) => retentionOf(machine, kept.get(machine)))
      yield* forkLoop("the removal of ended executions", purgeTurn(journal, retained))
    }
    return makeEngine(executions, orphans, clocks)
  })

/** Effect's workflow engine on any store. */
export const layer = (options: WorkflowOptions = {}): Layer.Layer<WorkflowEngine, never, Journal | Timers | Leases> =>
  Layer.effect(WorkflowEngine, make(options))

/** Which executions to list. */
export interface ExecutionFilter {
  readonly phase?: Phase
  readonly status?: InstanceStatus
  readonly updatedAfter?: number
  readonly updatedBefore?: number
  readonly limit?: number
  /** `next` of the previous page. */
  readonly after?: InstanceCursor
}

/** Executions of a workflow, oldest change first, in pages. */
export const list = (workflow: Workflow.Any, options: ExecutionFilter = {}): Effect.Effect<InstancePage, PersistenceFailed, Journal> => {
  const { phase, limit = 100, after, ...filter } = options
  const machine = machineOf(workflow._tag)
  return Effect.flatMap(Journal, (journal) =>
    journal.list({ ...filter, machine, ...(phase === undefined ? {} : { tag: phase }) }, Math.min(limit, 1000), after),
  )
}

/** The number of executions of a workflow in each phase. */
export const count = (workflow: Workflow.Any): Effect.Effect<ReadonlyMap<string, number>, PersistenceFailed, Journal> =>
  Effect.flatMap(Journal, (journal) => journal.count(machineOf(workflow._tag)))

/** The events of an execution, oldest first. */
export const history = (
  workflow: Workflow.Any,
  executionId: string,
  limit = 1000,
): Effect.Effect<ReadonlyArray<EventRecord>, PersistenceFailed, Journal> =>
  Effect.flatMap(Journal, (journal) => journal.events(keyOf(workflow, executionId), 0, limit))

/** Removes the journal of an execution that has ended; its result can still be polled. Returns how many events it removed. */
export const prune = (workflow: Workflow.Any, executionId: string): Effect.Effect<number, PersistenceFailed, Journal> =>
  Effect.flatMap(Journal, (journal) => pruneExecution(journal, keyOf(workflow, executionId)))
