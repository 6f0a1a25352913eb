/**
 * The executions of one process: which are in memory, how they get there, and which callers wait for them. Effect's
 * `WorkflowEngine` is built on it.
 */

import type { PersistenceFailed } from "@detent/machine"
import type { Environment } from "@detent/machine/internal"
import type { Fence, InstanceKey, JournalService, OpenedInstance } from "@detent/store"
import { Batcher, instanceName, type ShardFilter } from "@detent/store/internal"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { invalidId } from "../errors.ts"
import { LiveTable } from "../live/LiveTable.ts"
import { withLeaseCheck } from "../nodes/LeaseCheck.ts"
import { isGone, type PlacementService } from "../nodes/Placement.ts"
import type { Receiver, RemoteAnswer } from "../nodes/Routing.ts"
import { GroupCommit } from "../runtime/GroupCommit.ts"
import { StoreClock } from "../runtime/StoreClock.ts"
import { currentTrace } from "../runtime/StoredTrace.ts"
import { untilAnswered, untilAnsweredBackoff } from "../runtime/untilAnswered.ts"
import { Execution, type ExecutionHost } from "./Execution.ts"
import type { AppendOutcome } from "./ExecutionCommit.ts"
import type { ExecutionEvent, Origin } from "./ExecutionEvent.ts"
import { isAtWork, isEnded, machineOf, type Phase } from "./ExecutionState.ts"
import { openExecutions, type Read, readExecutions, readResult, Unreadable } from "./Reading.ts"
import type { RegisteredWorkflow } from "./Run.ts"
import { Codecs } from "./StoredExit.ts"
import { type Waiter, Waiting, type WaitOutcome } from "./Waiting.ts"

/** The largest number of executions that are read with one query. */
const readLimit = 500

/** The pause before the first retry of a failed read. */
const firstRetryMillis = 50

export class Executions implements ExecutionHost {
  readonly journal: JournalService
  readonly environment: Environment
  /** The clock of the store. Durable clocks are set by it, because the store decides when they are due. */
  readonly clock: StoreClock
  /**
   * While the store writes for the executions of one lane, the process runs those of the others. Fifty executions that all wait for
   * one flush leave the process idle: on PostgreSQL 1,030 to 1,150 workflows of ten activities per second with one lane, 1,330 to
   * 1,490 with two, 1,150 to 1,240 with three.
   */
  readonly #lanes: [GroupCommit, ...Array<GroupCommit>]
  #created = 0
  readonly codecs = new Codecs()
  readonly waiting = new Waiting()
  readonly #placement: PlacementService
  readonly #drainTimeout: Duration.Duration
  readonly #workflows = new Map<string, RegisteredWorkflow>()
  readonly #live = new LiveTable<Execution>()
  readonly #reads: Batcher<InstanceKey, Read, PersistenceFailed>
  readonly #peeks: Batcher<InstanceKey, OpenedInstance | undefined, PersistenceFailed>
  /** Callers that wait for an answer; each is interrupted when the engine has closed. */
  readonly #callers = new Set<() => void>()
  /** `closing`: runs end and are stored, and nothing new begins. */
  #mode: "open" | "closing" | "closed" = "open"

  /** How long executions are kept after their end, by machine. */
  readonly retention: ReadonlyMap<string, Duration.Input>

  constructor(
    journal: JournalService,
    placement: PlacementService,
    environment: Environment,
    drainTimeout: Duration.Duration,
    retention: ReadonlyMap<string, Duration.Input>,
  ) {
    this.retention = retention
    this.#drainTimeout = drainTimeout
    this.journal = journal
    this.clock = new StoreClock(journal)
    this.environment = environment
    this.#placement = placement
    placement.onLost(() => this.#ownershipLost())
    const lanes = Array.from({ length: journal.writers ?? 1 }, () => new GroupCommit(journal, (effect) => environment.run(effect)))
    this.#lanes = lanes as [GroupCommit, ...Array<GroupCommit>]
    const batching = { run: environment.run, limit: readLimit, prepare: (key: InstanceKey) => key }
    this.#reads = new Batcher({ ...batching, perform: (keys: ReadonlyArray<InstanceKey>) => readExecutions(this, keys) })
    this.#peeks = new Batcher({ ...batching, perform: (keys: ReadonlyArray<InstanceKey>) => openExecutions(journal, keys) })
  }

  /**
   * The lane for an execution that is loaded into memory. An execution keeps its lane: the store must not get two of its commits at the
   * same time.
   */
  get committer(): GroupCommit {
    return this.#lanes[this.#created++ % this.#lanes.length] ?? this.#lanes[0]
  }

  get owner(): string {
    return this.#placement.node()
  }

  get fence(): Fence | undefined {
    return this.#placement.fence()
  }

  /** The services of a workflow, with which its runs stop before their next step when this node has lost its lease. */
  checkingLease<R>(services: Context.Context<R>): Context.Context<R> {
    return withLeaseCheck(services, () => this.#placement)
  }

  canOwn(key: InstanceKey): boolean {
    return this.#mode === "open" && this.fence !== undefined && this.isLocal(key)
  }

  /** Whether placement assigns the execution to this node. */
  isLocal(key: InstanceKey): boolean {
    return this.#placement.routing?.isLocal(key) ?? true
  }

  /** The shards of this node, where executions are divided between nodes. */
  get shards(): ShardFilter | undefined {
    return this.#placement.routing?.shards()
  }

  get isClosed(): boolean {
    return this.#mode !== "open"
  }

  /**
   * Whether this owner is alive and runs the execution. No other node runs an execution that is assigned to this node, whichever owner the
   * journal names.
   */
  isAlive(owner: string, key: InstanceKey): Effect.Effect<boolean> {
    if (this.#placement.routing?.isLocal(key) === true) return Effect.succeed(owner === this.owner)
    return this.#placement.isAlive(owner)
  }

  // Workflows

  get machines(): ReadonlyArray<string> {
    return [...this.#workflows.keys()]
  }

  /** Whether executions of a workflow are removed after their end. */
  removes(machine: string): boolean {
    return this.retention.has(machine)
  }

  registered(machine: string): RegisteredWorkflow | undefined {
    return this.#workflows.get(machine)
  }

  register(registered: RegisteredWorkflow) {
    this.#workflows.set(machineOf(registered.workflow._tag), registered)
  }

  /** Removes a workflow. Its executions leave memory: other nodes take them over, or this one when the workflow is registered again. */
  unregister(registered: RegisteredWorkflow): Effect.Effect<void> {
    return Effect.suspend(() => {
      const machine = machineOf(registered.workflow._tag)
      if (this.#workflows.get(machine) !== registered) return Effect.void
      this.#workflows.delete(machine)
      return this.#leaveAll((execution) => execution.key.machine === machine)
    })
  }

  // Executions in memory

  live(name: string): Execution | undefined {
    return this.#live.get(name)
  }

  get liveCount(): number {
    return this.#live.size
  }

  left(execution: Execution) {
    if (!this.#live.remove(execution) || this.#mode !== "open") return
    if (!this.isLocal(execution.key)) {
      if (!isEnded(execution.state.phase)) this.#wakeElsewhere(execution.key)
      if (this.waiting.has(execution.name)) this.look(execution.key)
      return
    }
    if (isAtWork(execution.state.phase) && !execution.isMine) this.takeUp(execution.key, execution.owner)
    else if (this.waiting.has(execution.name)) this.look(execution.key)
  }

  /**
   * Takes over an execution whose owner does not run it: a node that died, or this node before it lost its lease. A caller that asks for
   * the execution need not wait until the scan finds it.
   */
  takeUp(key: InstanceKey, owner: string | undefined) {
    if (!this.canOwn(key) || !this.#workflows.has(key.machine)) return
    this.environment.run(
      Effect.map(this.isDead(owner, key), (isDead) => {
        if (!isDead || !this.canOwn(key) || this.#live.has(instanceName(key))) return
        this.use(key, (found) => {
          if (found instanceof Execution) found.takeOver()
        })
      }),
    )
  }

  /**
   * Whether no node runs the execution of this owner: it is dead and can no longer commit, or it is this node, which does not have
   * it in memory.
   */
  isDead(owner: string | undefined, key?: InstanceKey): Effect.Effect<boolean> {
    const isHere = key !== undefined && this.#placement.routing?.isLocal(key) === true
    return isHere || owner === this.owner ? Effect.succeed(true) : isGone(this.#placement, owner)
  }

  /** Asks the node that runs the execution to read it: this node has started it or written to it. */
  #wakeElsewhere(key: InstanceKey) {
    const routing = this.#placement.routing
    if (routing !== undefined) this.environment.run(Effect.ignore(routing.request(key, { _tag: "Wake" })))
  }

  /**
   * Receives the requests of other nodes for the executions of this node. `gained` looks for executions that were assigned to this node
   * since.
   */
  receiver(gained: () => void): Receiver {
    return {
      serves: (machine) => this.#workflows.has(machine),
      receive: (key, requests, answer) => {
        const isHere = this.canOwn(key)
        if (isHere) this.#refresh(key)
        const answered: RemoteAnswer = isHere ? { _tag: "Done" } : { _tag: "Elsewhere", reason: "the execution is not here" }
        for (const position of requests.keys()) answer(position, answered)
        return undefined
      },
      gained,
      leave: (isLeaving) => this.#leaveAll(({ key }) => isLeaving(key)),
      remaining: (isLeaving) => this.#live.all.flatMap(({ run, key }) => (run !== undefined && isLeaving(key) ? [key] : [])),
    }
  }

  #refresh(key: InstanceKey) {
    const live = this.#live.get(instanceName(key))
    if (live === undefined) this.look(key)
    else live.refresh()
  }

  /** Another node may run them from now on: every run stops before anything else happens. */
  #ownershipLost() {
    for (const execution of this.#live.all) execution.ownershipLost()
  }

  /**
   * Calls `use` with the execution: immediately if it is in memory, otherwise once it is read from the journal. An execution that was
   * loaded and left memory during the read is read again: the first read may be outdated and would run it a second time.
   */
  use(key: InstanceKey, use: (found: Execution | Unreadable | undefined) => void) {
    const name = instanceName(key)
    const live = this.#live.get(name)
    if (live !== undefined) return use(live)
    const { left, end } = this.#live.beginRead([name])
    this.#ask(this.#reads, key, (read) => {
      end()
      const since = this.#live.get(name)
      if (since !== undefined) return use(since)
      if (left.has(name)) return this.use(key, use)
      if (read === undefined || read instanceof Unreadable) return use(read)
      use(this.#keep(new Execution(this, key, read)))
    })
  }

  /** Repeats the read until the store answers or the engine has closed. Each key is retried by itself, so that none delays another. */
  #ask<A>(batcher: Batcher<InstanceKey, A, PersistenceFailed>, key: InstanceKey, tell: (found: A) => void) {
    const again = Effect.retry(batcher.submit(key), { schedule: untilAnsweredBackoff, while: () => this.#mode !== "closed" })
    batcher.add(key, (exit) => {
      if (Exit.isSuccess(exit)) tell(exit.value)
      else if (this.#mode !== "closed") this.environment.run(Effect.map(Effect.delay(again, firstRetryMillis), tell))
    })
  }

  #keep(execution: Execution): Execution {
    this.#live.add(execution)
    return execution
  }

  /** Waits for an answer of the engine. A caller that still waits when the engine has closed is interrupted. */
  #answer<A>(ask: (resume: (answer: Effect.Effect<A>) => void) => void): Effect.Effect<A> {
    return Effect.callback((resume) => {
      if (this.#mode === "closed") return resume(Effect.interrupt)
      const interrupt = () => resume(Effect.interrupt)
      this.#callers.add(interrupt)
      ask((answer) => {
        this.#callers.delete(interrupt)
        resume(answer)
      })
      return Effect.sync(() => this.#callers.delete(interrupt))
    })
  }

  deliver(key: InstanceKey, event: ExecutionEvent): Effect.Effect<void> {
    return this.#answer((resume) => {
      const done = (outcome: AppendOutcome) => resume(typeof outcome === "string" ? Effect.void : Effect.die(outcome))
      this.use(key, (found) => {
        if (found instanceof Unreadable) return resume(Effect.die(found.failure))
        if (found !== undefined) return found.accept(event, done)
        // A deferred may be completed before the execution is started.
        if (event._tag !== "Deferred") return resume(Effect.void)
        const invalid = invalidId(key.machine, key.id)
        if (invalid !== undefined) return resume(Effect.die(invalid))
        this.#keep(Execution.create(this, key, undefined)).accept(event, done)
      })
    })
  }

  // Starting and waiting

  /** Starts the execution unless it is started. The first payload counts. */
  ensure(key: InstanceKey, payload: unknown, parent: InstanceKey | undefined): Effect.Effect<void> {
    return Effect.flatMap(currentTrace, (trace) =>
      this.#ensure(key, { payload, ...(parent === undefined ? {} : { parent }), ...(trace === undefined ? {} : { trace }) }),
    )
  }

  #ensure(key: InstanceKey, origin: Origin): Effect.Effect<void> {
    const { payload, parent } = origin
    return this.#answer((resume) => {
      const invalid = invalidId(key.machine, key.id)
      if (invalid !== undefined) return resume(Effect.die(invalid))
      const done = (outcome: AppendOutcome) => resume(typeof outcome === "string" ? Effect.void : Effect.die(outcome))
      const live = this.#live.get(instanceName(key))
      const execution = live ?? this.#keep(Execution.create(this, key, JSON.stringify(origin)))
      if (execution.isStarted) {
        execution.whenCreated((outcome) => {
          if (typeof outcome !== "string" || execution.isStarted) done(outcome)
          else execution.accept({ _tag: "Started", payload, parent }, done)
        })
      } else execution.accept({ _tag: "Started", payload, parent }, done)
    })
  }

  /** Whether the execution is started, in memory or in the journal. */
  exists(key: InstanceKey): Effect.Effect<boolean> {
    return this.#answer((resume) => {
      if (this.#live.has(instanceName(key))) return resume(Effect.succeed(true))
      this.#ask(this.#peeks, key, (opened) => resume(Effect.succeed(opened !== undefined && opened.record.tag !== "Waiting")))
    })
  }

  /** Waits for the end. With `takesSuspended`, a suspension is an answer too. */
  wait(key: InstanceKey, by: InstanceKey | undefined, takesSuspended: boolean): Effect.Effect<WaitOutcome> {
    let waiter: Waiter | undefined
    const outcome = this.#answer<WaitOutcome>((resume) => {
      waiter = { key, by, takesSuspended, tell: (outcome) => resume(Effect.succeed(outcome)) }
      this.waiting.add(waiter)
      const live = this.#live.get(instanceName(key))
      if (live === undefined) this.look(key)
      else if (live.state.result !== undefined) this.waiting.tellEnd(live.name, live.state.result)
    })
    return Effect.onInterrupt(outcome, () =>
      Effect.sync(() => {
        if (waiter !== undefined) this.waiting.remove(waiter)
      }),
    )
  }

  /** Reads awaited executions that are not in memory, less often the longer their callers have waited. */
  lookForWaiters() {
    for (const key of this.waiting.due) if (!this.#live.has(instanceName(key))) this.look(key)
  }

  /** Reads an execution that is not in memory, and answers the callers that wait for it. */
  look(key: InstanceKey) {
    this.#ask(this.#peeks, key, (opened) => {
      const name = instanceName(key)
      if (opened === undefined || this.#live.has(name)) return
      const { record } = opened
      const held: WaitOutcome = { _tag: "Held", problem: record.reason ?? "unknown" }
      if (record.status === "held") this.environment.run(this.#tellSleeping(key, held))
      else if (isEnded(record.tag as Phase)) this.environment.run(this.#tellEnd(name, opened))
      else if (record.tag === "Suspended") this.environment.run(this.#tellSleeping(key, { _tag: "Suspended", cause: undefined }))
      else if (isAtWork(record.tag as Phase)) this.takeUp(key, record.owner)
    })
  }

  #tellEnd(name: string, opened: OpenedInstance): Effect.Effect<void> {
    return Effect.match(untilAnswered(readResult(this.journal, opened)), {
      onSuccess: (exit) => this.waiting.tellEnd(name, exit),
      onFailure: ({ message }) => this.waiting.tellPause(name, { _tag: "Held", problem: message }, () => true),
    })
  }

  /** Executions that wait for this one are stored as its parents first, so that its end wakes them. */
  #tellSleeping(key: InstanceKey, outcome: WaitOutcome): Effect.Effect<void> {
    const name = instanceName(key)
    const parents = this.waiting.parentsOf(name)
    const known = new Set(parents.map(instanceName))
    return Effect.andThen(
      Effect.forEach(parents, (by) => this.deliver(key, { _tag: "Awaited", by }), { discard: true, concurrency: "unbounded" }),
      Effect.sync(() => {
        const phase = this.#live.get(name)?.state.phase ?? "Suspended"
        if (phase === "Suspended" || phase === "Held") this.waiting.tellPause(name, outcome, (parent) => known.has(parent))
      }),
    )
  }

  // Clocks

  #clockListener: ((due: number) => void) | undefined

  clockSet(due: number) {
    this.#clockListener?.(due)
  }

  onClockSet(listener: (due: number) => void) {
    this.#clockListener = listener
  }

  // Ending

  /** Accepts no call from now on, ends all runs and stores their steps, then interrupts callers that still wait. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.#mode = "closing"
    return Effect.andThen(
      this.#leaveAll(() => true),
      Effect.sync(() => {
        this.#mode = "closed"
        for (const interrupt of [...this.#callers]) interrupt()
        this.#callers.clear()
      }),
    )
  })

  /** Runs that do not end in time, and events that are not stored by then, are dropped: the journal has their stored steps. */
  #leaveAll(leaves: (execution: Execution) => boolean): Effect.Effect<void> {
    const left = Effect.suspend(() => {
      const leaving = this.#live.all.filter(leaves)
      for (const execution of leaving) execution.leave()
      return this.#live.departed(leaving)
    })
    return Effect.asVoid(Effect.timeoutOption(left, this.#drainTimeout))
  }
}
