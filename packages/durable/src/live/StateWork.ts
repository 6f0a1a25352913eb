/**
 * The work of one instance: who owns it, and what of it runs here. Hooks, effectful decisions and reads of the journal run in the same
 * runtime, on any node; the work of a state runs only on the node that the journal names as its owner.
 *
 *     not needed    the stored state has no work that one node must run
 *     elsewhere     another node owns it, or none does
 *     owned         this node owns it: it runs as soon as it may, until its state is left
 *
 * `stored` and `adopt` change it, by a commit of this node and by the journal; `own` when this node has taken it over.
 */

import type { ActorEnd } from "@detent/machine"
import type { GroupNode, Tagged } from "@detent/machine/internal"
import { hasWork, type RuntimeOwner, StateRuntime, stopped } from "@detent/machine/internal"
import type { InstanceRecord, InstanceSummary } from "@detent/store"
import type * as Effect from "effect/Effect"
import type { InstanceContext, InstanceEntry } from "./InstanceContext.ts"

/** The instance that has the work. */
export interface WorkingInstance extends RuntimeOwner, InstanceEntry {
  /** Whether work may start: the instance runs, stays, and is the one that this node keeps. */
  readonly mayWork: boolean
}

export class StateWork {
  readonly instance: WorkingInstance
  readonly #context: InstanceContext
  /** Created when hooks, work or an effectful decision first run, or the journal is first read. */
  #runtime: StateRuntime | undefined = undefined
  /** Whether the stored state has work that one node must run. */
  #isNeeded: boolean
  /** The node that runs it, by the journal. */
  #owner: string | undefined

  constructor(instance: WorkingInstance, context: InstanceContext, stored: InstanceRecord) {
    this.instance = instance
    this.#context = context
    this.#isNeeded = isNeededIn(stored)
    this.#owner = stored.owner
  }

  get needsOwner(): boolean {
    return this.#isNeeded
  }

  get owner(): string | undefined {
    return this.#owner
  }

  /** Whether this node owns it. */
  get isOwned(): boolean {
    return this.#isNeeded && this.#owner !== undefined && this.#owner === this.#context.placement?.node()
  }

  /** Whether work runs here. */
  get isRunning(): boolean {
    return this.#runtime?.isAtWork === true
  }

  /** Whether an effect is awaited, of a hook, a decision or a read. */
  get isAwaiting(): boolean {
    return this.#runtime?.isAwaiting === true
  }

  /** Whether the current state has anything that must end when the state is left. */
  get hasScope(): boolean {
    return this.#runtime?.hasScope === true
  }

  get runtime(): StateRuntime {
    this.#runtime ??= new StateRuntime(this.instance)
    return this.#runtime
  }

  /** A commit of this node is stored. The owner on another node stops its work as soon as it is notified. */
  stored({ needsOwner, owner }: InstanceSummary) {
    if (this.#isNeeded && !this.isOwned) this.#context.changedForeign(this.instance.key)
    this.#isNeeded = needsOwner
    this.#owner = needsOwner ? (owner ?? this.#owner) : undefined
  }

  /** Takes over what the journal has, without stopping work. */
  take(stored: InstanceRecord) {
    this.#isNeeded = isNeededIn(stored)
    this.#owner = stored.owner
  }

  /** The same, and stops work that another node owns. */
  adopt(stored: InstanceRecord) {
    this.take(stored)
    if (!this.isOwned && this.isRunning) this.stop("another node runs it")
  }

  /** This node has become the owner. Returns whether there is work to own. */
  own(owner: string): boolean {
    if (!this.#isNeeded) return false
    this.#owner = owner
    return true
  }

  /** Starts the work of the state where this node owns it and holds its lease. */
  start() {
    if (!this.isOwned || !this.instance.mayWork || this.#context.placement?.fence() === undefined) return
    const { record } = this.instance
    this.runtime.startBackground()
    if (hasWork(record.node, record.currentState)) this.runtime.startWork()
    if (this.isRunning) this.#context.working(this.instance, true)
  }

  /** Ends the work of the state that is left, and of the groups around it that are not kept. */
  leaveState(event: Tagged, kept: ReadonlyArray<GroupNode>): Effect.Effect<void> | undefined {
    const runtime = this.#runtime
    if (runtime === undefined) return undefined
    const closing = runtime.leave(event, kept)
    if (!runtime.isAtWork) this.#context.working(this.instance, false)
    return closing
  }

  /** A new state was entered: its work has not failed yet. */
  forgetFailures() {
    this.#runtime?.forgetFailures()
  }

  /** Stops work immediately: this node no longer owns it. */
  stop(reason: string) {
    const { record } = this.instance
    this.#context.working(this.instance, false)
    this.#close({ _tag: "Stopped", state: record.currentState, reason })
  }

  /** The engine stops: work sends no more events. Events that were sent before are still decided and stored. */
  quiet() {
    this.#runtime?.stop()
  }

  /** The instance ends or leaves memory. Returns an Effect that waits for work that takes time to end. */
  end(ending: ActorEnd<Tagged>): Effect.Effect<void> | undefined {
    if (this.#runtime === undefined) return undefined
    const closing = this.#close(ending)
    this.#context.working(this.instance, false)
    this.#runtime.interruptAwaited()
    return closing
  }

  #close(ending: ActorEnd<Tagged>): Effect.Effect<void> | undefined {
    const { record } = this.instance
    const closing = this.#runtime?.close(() => stopped(record, ending))
    if (closing !== undefined) this.#context.workEnding(this.instance, record.environment.run(closing))
    return closing
  }
}

const isNeededIn = ({ needsOwner, status }: InstanceRecord): boolean => needsOwner && status === "running"
