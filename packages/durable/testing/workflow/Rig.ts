/** The fixture of a test of Effect workflows: one store, any number of nodes on it that run the same workflows, and time. */

import { type InstanceRecord, Journal, type JournalService, type TimerRecord } from "@detent/store"
import type { StoreLayer } from "@detent/store/testing"
import { describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import type * as Workflow from "effect/workflow/Workflow"
import type { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import * as DurableWorkflow from "../../src/DurableWorkflow.ts"
import { keyOf } from "../../src/workflow/ExecutionState.ts"
import { liveSleep, PendingRequests } from "../engine/PendingRequests.ts"
import { type Store, StoreProbe } from "../engine/StoreProbe.ts"

export interface WorkflowKitOptions {
  /** `store` where leases end by the clock of a database: tests of several nodes then run in real time. */
  readonly leaseClock?: "engine" | "store"
  /** How long the store may take to notify of what it has stored. Default: no time. */
  readonly settle?: Duration.Input
}

export interface NodeOptions extends DurableWorkflow.WorkflowOptions {
  /** Set up before the first request of the node. */
  readonly probe?: StoreProbe
}

export interface Node {
  /** Runs an Effect on the engine of this node. */
  readonly run: <A, E>(effect: Effect.Effect<A, E, WorkflowEngine | Journal>) => Effect.Effect<A, E>
  readonly probe: StoreProbe
  /** Stops it gracefully. */
  readonly close: Effect.Effect<void>
  /** Kills it: nothing it does from now on reaches the store. */
  readonly crash: Effect.Effect<void>
}

export interface Rig {
  readonly journal: JournalService
  readonly store: Store
  /** Starts a node that runs these workflows. Default name: the same every time. */
  readonly open: (workflows: Layer.Layer<never, never, WorkflowEngine>, options?: NodeOptions) => Effect.Effect<Node>
  readonly record: (workflow: Workflow.Any, executionId: string) => Effect.Effect<InstanceRecord, unknown>
  /** The tags of what is journaled. */
  readonly tags: (workflow: Workflow.Any, executionId: string) => Effect.Effect<ReadonlyArray<string>, unknown>
  readonly deadlines: (workflow: Workflow.Any, executionId: string) => Effect.Effect<ReadonlyArray<TimerRecord>, unknown>
  /** Waits until an execution is in a phase. */
  readonly reaches: (workflow: Workflow.Any, executionId: string, phase: DurableWorkflow.Phase) => Effect.Effect<void>
  /** Lets time pass until an execution is in a phase. */
  readonly comesTo: (
    workflow: Workflow.Any,
    executionId: string,
    phase: DurableWorkflow.Phase,
    step?: Duration.Input,
  ) => Effect.Effect<void>
  /** Lets time pass until the value satisfies the condition. */
  readonly inTime: <A, E, R>(read: Effect.Effect<A, E, R>, holds: (value: A) => boolean, step?: Duration.Input) => Effect.Effect<A, E, R>
  /** Lets time pass, and waits for what that causes. */
  readonly pass: (duration: Duration.Input) => Effect.Effect<void>
  /** Waits for everything that needs no time. */
  readonly quiet: Effect.Effect<void>
  /** Waits until the condition holds; fails a test that waits too long. */
  readonly until: (holds: () => boolean) => Effect.Effect<void>
  /** Waits until the value satisfies the condition. */
  readonly eventually: <A, E, R>(read: Effect.Effect<A, E, R>, holds: (value: A) => boolean) => Effect.Effect<A, E, R>
}

type Body = (rig: Rig) => Effect.Effect<unknown, unknown, Scope.Scope>

export interface Kit {
  readonly describe: (topic: string, tests: () => void) => void
  /** A test under a test clock. */
  readonly test: (title: string, body: Body) => void
  /** A test of several nodes: under a test clock where leases follow it, in real time otherwise. Keep its durations short. */
  readonly nodesTest: (title: string, body: Body) => void
}

const timeout = 60_000

/** Tests in real time mostly wait, each on a store of its own: several run side by side. */
const sideBySide = { timeout, concurrent: true }

export const makeKit = <R>(name: string, layer: StoreLayer<R>, options: WorkflowKitOptions): Kit => {
  const settle = Duration.toMillis(Duration.fromInputUnsafe(options.settle ?? 0))
  const live = options.leaseClock === "store"
  return {
    describe: (topic, tests) => describe(`${name} Effect workflows: ${topic}`, tests),
    test: (title, body) => it.effect(title, () => Effect.flatMap(makeRig(layer, settle, false), body), timeout),
    nodesTest: (title, body) => {
      const test = () => Effect.flatMap(makeRig(layer, settle, live), body)
      return live ? it.live(title, test, sideBySide) : it.effect(title, test, timeout)
    },
  }
}

const makeRig = <R>(layer: StoreLayer<R>, settle: number, live: boolean): Effect.Effect<Rig, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const pending = new PendingRequests()
    const store = pending.wrap(yield* Effect.orDie(Layer.buildWithMemoMap(layer, Layer.makeMemoMapUnsafe(), scope)))
    const journal = Context.get(store, Journal)
    const nodes: Array<Node> = []
    // Nodes that a test left open are cut off and end by themselves: the test does not wait for them.
    yield* Effect.addFinalizer(() =>
      Effect.forEach(nodes, ({ crash, close }) => Effect.andThen(crash, Effect.forkDetach(close)), { discard: true }),
    )
    const opened = (workflow: Workflow.Any, id: string) => Effect.map(journal.open(keyOf(workflow, id)), Option.getOrThrow)
    const quiet = settle === 0 ? pending.settled : Effect.andThen(liveSleep(settle), pending.settled)
    const advance = (duration: Duration.Input) => Effect.andThen(pending.settled, TestClock.adjust(duration))
    const pass = (duration: Duration.Input) => Effect.andThen(live ? Effect.sleep(duration) : advance(duration), quiet)
    const inTime: Rig["inTime"] = (read, holds, step = "200 millis") =>
      eventually(
        Effect.tap(read, (value) => (holds(value) ? Effect.void : pass(step))),
        holds,
      )
    const phase = (workflow: Workflow.Any, id: string) =>
      Effect.map(journal.open(keyOf(workflow, id)), (found) => (Option.isNone(found) ? "none" : found.value.record.tag))
    return {
      journal,
      store,
      open: (workflows, options = {}) => Effect.tap(openNode(store, workflows, options), (node) => Effect.sync(() => nodes.push(node))),
      record: (workflow, id) => Effect.map(opened(workflow, id), ({ record }) => record),
      tags: (workflow, id) => Effect.map(journal.events(keyOf(workflow, id), 0, 100_000), (events) => events.map(({ tag }) => tag)),
      deadlines: (workflow, id) => Effect.map(opened(workflow, id), ({ timers }) => timers),
      reaches: (workflow, id, wanted) => Effect.orDie(Effect.asVoid(eventually(phase(workflow, id), (tag) => tag === wanted))),
      comesTo: (workflow, id, wanted, step) => Effect.orDie(Effect.asVoid(inTime(phase(workflow, id), (tag) => tag === wanted, step))),
      inTime,
      pass,
      quiet,
      until: (holds) => Effect.asVoid(eventually(Effect.sync(holds), (so) => so)),
      eventually,
    }
  })

const openNode = (
  store: Store,
  workflows: Layer.Layer<never, never, WorkflowEngine>,
  { probe = new StoreProbe(), ...options }: NodeOptions,
): Effect.Effect<Node> =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const layer = workflows.pipe(
      // Days pass in these tests while a database answers in real time: neither its lease nor its scans may depend on that.
      Layer.provideMerge(DurableWorkflow.layer({ nodeId: "node", lease: "1000 days", ...options })),
      Layer.provideMerge(Layer.succeedContext(probe.wrap(store))),
    )
    const context = yield* Layer.buildWithMemoMap(layer, Layer.makeMemoMapUnsafe(), scope)
    return {
      run: (effect) => Effect.provide(effect, context),
      probe,
      close: Scope.close(scope, Exit.void),
      crash: Effect.sync(() => {
        probe.isCut = true
      }),
    }
  })

const eventually = <A, E, R>(read: Effect.Effect<A, E, R>, holds: (value: A) => boolean): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    for (let attempt = 0; ; attempt++) {
      const value = yield* read
      if (holds(value)) return value
      if (attempt === 2000) return yield* Effect.die(new Error(`it never came about; last seen: ${JSON.stringify(value)}`))
      yield* liveSleep(attempt < 20 ? 1 : 5)
    }
  })
