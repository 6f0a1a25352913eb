/** An actor at rest: where it stands, where it has been, how it ended, and who follows it. */
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { Taken } from "../decide/Decision.ts"
import type { Compiled, Node } from "../define/Compile.ts"
import type { Tagged } from "../define/Declarations.ts"
import type { MachineStopped } from "../MachineError.ts"
import type { ActorEnd, Snapshot } from "./Actor.ts"
import { endingReason, guarded, stopped } from "./ActorReport.ts"
import { changesOf, type Listener, waitFor, watch } from "./Changes.ts"
import type { Environment, Host } from "./Host.ts"

/** So many states before the current one are remembered. */
const historyLimit = 100

export class ActorState {
  readonly id: string
  readonly compiled: Compiled
  readonly host: Host
  readonly environment: Environment
  readonly startedAt: number
  currentState: Tagged
  protected node: Node
  protected lastTransitionAt: number
  protected ending: ActorEnd<Tagged> | undefined = undefined
  protected sequence = 0
  protected past: Array<Tagged> | undefined = undefined
  private listeners: Set<Listener> | undefined = undefined

  constructor(id: string, compiled: Compiled, host: Host, environment: Environment, state: Tagged, at: number) {
    this.id = id
    this.compiled = compiled
    this.host = host
    this.environment = environment
    this.startedAt = at
    this.currentState = state
    this.node = compiled.nodes.get(state._tag) as Node
    this.lastTransitionAt = at
  }

  /** Takes over what a decision led to. Tells whether the state is another than before. */
  protected advance(decision: Taken<Tagged, Tagged>, at: number): boolean {
    const changed = this.currentState !== decision.state || decision._tag === "Goto"
    this.sequence++
    this.lastTransitionAt = at
    if (decision._tag === "Goto" || (decision._tag === "Stop" && decision.state !== decision.from)) {
      this.remember(decision.from)
      for (const state of decision.through) this.remember(state)
      this.node = this.compiled.nodes.get(decision.state._tag) as Node
    }
    this.currentState = decision.state
    return changed
  }

  protected remember(state: Tagged) {
    this.past ??= []
    this.past.push(state)
    if (this.past.length > historyLimit * 2) this.past = this.past.slice(-historyLimit)
  }

  protected tellState() {
    if (this.listeners === undefined) return
    for (const listener of [...this.listeners]) guarded(this, () => listener.next(this.currentState))
  }

  protected tellEnd(ending: ActorEnd<Tagged>) {
    const listeners = this.listeners
    this.listeners = undefined
    for (const listener of listeners ?? []) guarded(this, () => listener.end(ending))
  }

  listen(listener: Listener): () => void {
    if (this.ending !== undefined) {
      listener.end(this.ending)
      return () => undefined
    }
    this.listeners ??= new Set()
    this.listeners.add(listener)
    return () => this.listeners?.delete(listener)
  }

  /** Puts the actor where a journal says it is, and has been. */
  protected place(state: Tagged, past: ReadonlyArray<Tagged>) {
    this.currentState = state
    this.node = this.compiled.nodes.get(state._tag) as Node
    this.past = past.length === 0 ? undefined : past.slice(-historyLimit)
  }

  /** Somebody inspects the system: on hot paths nothing is put together for nobody. */
  get isInspected(): boolean {
    return this.host.inspectors.size > 0
  }

  /** Somebody listens. */
  get isFollowed(): boolean {
    return this.listeners !== undefined && this.listeners.size > 0
  }

  get machine(): string {
    return this.compiled.name
  }

  get isRunning(): boolean {
    return this.ending === undefined
  }

  get state(): Effect.Effect<Tagged> {
    return Effect.sync(() => this.currentState)
  }

  get snapshot(): Effect.Effect<Snapshot<Tagged>> {
    return Effect.sync(() => this.snapshotUnsafe())
  }

  get history(): Effect.Effect<ReadonlyArray<Tagged>> {
    return Effect.sync(() => this.snapshotUnsafe().history)
  }

  snapshotUnsafe(): Snapshot<Tagged> {
    return {
      state: this.currentState,
      previous: this.past?.at(-1),
      history: (this.past ?? []).slice(-historyLimit).reverse(),
      startedAt: this.startedAt,
      lastTransitionAt: this.lastTransitionAt,
      sequence: this.sequence,
      status: this.ending === undefined ? "running" : statusOf[this.ending._tag],
      reason: this.ending === undefined ? undefined : endingReason(this.ending),
    }
  }

  subscribe(listener: (state: Tagged) => void): () => void {
    return this.listen({ next: listener, end: () => undefined })
  }

  get changes(): Stream.Stream<Tagged> {
    return changesOf(this)
  }

  waitFor(predicate: (state: Tagged) => boolean): Effect.Effect<Tagged, MachineStopped> {
    return waitFor(this, predicate)
  }

  get watch(): Effect.Effect<ActorEnd<Tagged>> {
    return watch(this)
  }

  get awaitFinal(): Effect.Effect<Tagged, MachineStopped> {
    return Effect.flatMap(watch(this), (ending) =>
      ending._tag === "Final" ? Effect.succeed(ending.state) : Effect.fail(stopped(this, ending)),
    )
  }
}

const statusOf = { Final: "final", Stopped: "stopped", Failed: "failed" } as const
