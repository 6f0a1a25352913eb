/** The state of an actor, the states before, how it ended, and its listeners. One object per live actor or instance. */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Stream from "effect/Stream"
import type { ActorEnd, Snapshot } from "../contract/Actor.ts"
import type { Taken } from "../decision/Decision.ts"
import type { Compiled, Node } from "../define/Compile.ts"
import type { Tagged } from "../define/Declarations.ts"
import { explainWithFrames, MachineStopped } from "../error/MachineError.ts"
import type { Environment, Host } from "./Host.ts"
import { listening } from "./Listening.ts"

/** How many states before the current one are kept. */
const historyLimit = 100

/** Receives every new state, then the end. */
export interface Listener {
  readonly next: (state: Tagged) => void
  readonly end: (ending: ActorEnd<Tagged>) => void
}

export class ActorState {
  readonly id: string
  readonly compiled: Compiled
  readonly host: Host
  readonly environment: Environment
  readonly startedAt: number
  currentState: Tagged
  node: Node
  lastTransitionAt: number
  ending: ActorEnd<Tagged> | undefined = undefined
  /** The number of events that changed or confirmed the state. */
  sequence = 0
  past: Array<Tagged> | undefined = undefined
  #listeners: Set<Listener> | undefined = undefined

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

  get machine(): string {
    return this.compiled.name
  }

  get isRunning(): boolean {
    return this.ending === undefined
  }

  /** Whether an inspector is registered. Hot paths build no inspection when there is none. */
  get isInspected(): boolean {
    return this.host.inspectors.size > 0
  }

  get isFollowed(): boolean {
    return this.#listeners !== undefined && this.#listeners.size > 0
  }

  /** Applies a decision. Returns whether the state changed or was entered again. */
  advance(decision: Taken<Tagged, Tagged>, at: number): boolean {
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

  remember(state: Tagged) {
    this.past ??= []
    this.past.push(state)
    if (this.past.length > historyLimit * 2) this.past = this.past.slice(-historyLimit)
  }

  /** Sets the state and the states before it from a journal. */
  place(state: Tagged, past: ReadonlyArray<Tagged>) {
    this.currentState = state
    this.node = this.compiled.nodes.get(state._tag) as Node
    this.past = past.length === 0 ? undefined : past.slice(-historyLimit)
  }

  notifyState() {
    if (this.#listeners === undefined) return
    for (const listener of [...this.#listeners]) guarded(this, () => listener.next(this.currentState))
  }

  /** Notifies every listener of the end, once. */
  notifyEnd(ending: ActorEnd<Tagged>) {
    const listeners = this.#listeners
    this.#listeners = undefined
    for (const listener of listeners ?? []) guarded(this, () => listener.end(ending))
  }

  listen(listener: Listener): () => void {
    if (this.ending !== undefined) {
      listener.end(this.ending)
      return () => undefined
    }
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
    return () => this.#listeners?.delete(listener)
  }

  snapshot(): Snapshot<Tagged> {
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

  /** The current state, then every new one. Ends with the actor. A reader that falls far behind misses the oldest states. */
  get changes(): Stream.Stream<Tagged> {
    return listening((queue) => {
      Queue.offerUnsafe(queue, this.currentState)
      return this.listen({ next: (state) => Queue.offerUnsafe(queue, state), end: () => Queue.endUnsafe(queue) })
    })
  }

  waitFor(predicate: (state: Tagged) => boolean): Effect.Effect<Tagged, MachineStopped> {
    return Effect.callback((resume) => {
      if (predicate(this.currentState)) return resume(Effect.succeed(this.currentState))
      const unlisten = this.listen({
        next: (state) => {
          if (!predicate(state)) return
          unlisten()
          resume(Effect.succeed(state))
        },
        end: (ending) => resume(Effect.fail(stopped(this, ending))),
      })
      return Effect.sync(unlisten)
    })
  }

  get watch(): Effect.Effect<ActorEnd<Tagged>> {
    return Effect.callback((resume) => {
      const unlisten = this.listen({ next: () => undefined, end: (ending) => resume(Effect.succeed(ending)) })
      return Effect.sync(unlisten)
    })
  }

  get awaitFinal(): Effect.Effect<Tagged, MachineStopped> {
    return Effect.flatMap(this.watch, (ending) =>
      ending._tag === "Final" ? Effect.succeed(ending.state) : Effect.fail(stopped(this, ending)),
    )
  }
}

const statusOf = { Final: "final", Stopped: "stopped", Failed: "failed" } as const

/** Calls a listener. If it throws, the error is logged and the actor continues. */
export const guarded = (actor: ActorState, notify: () => void) => {
  try {
    notify()
  } catch (cause) {
    actor.environment.run(Effect.logError(`a listener of ${actor.machine} ${actor.id} threw: ${explainWithFrames(cause)}`))
  }
}

export const stopped = (actor: ActorState, ending: ActorEnd<Tagged> | undefined): MachineStopped =>
  new MachineStopped({
    machine: actor.machine,
    id: actor.id,
    state: actor.currentState._tag,
    reason: ending === undefined ? "it takes no more events" : endingReason(ending),
  })

const endingReason = (ending: ActorEnd<Tagged>): string => {
  switch (ending._tag) {
    case "Final":
      return `${ending.state._tag} is a final state`
    case "Stopped":
      return ending.reason
    case "Failed":
      return ending.error.message
  }
}
