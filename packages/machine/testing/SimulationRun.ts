/**
 * The run behind `simulate`. It handles events in the same order as an actor: raised events first, then postponed ones, then
 * those of the test.
 *
 * It is a generator that yields the decisions that are Effects: the caller runs them or fails.
 */

import { Mailbox } from "../src/actor/Mailbox.ts"
import { queryIn } from "../src/actor/Query.ts"
import { beginTrace, type Trace, type TraceStep, traceStep } from "../src/actor/Trace.ts"
import { begin, decide } from "../src/decide/Decide.ts"
import type { Decision, Deferred, Request, Taken } from "../src/decision/Decision.ts"
import { eventLabel, timeoutEvent } from "../src/decision/Timeout.ts"
import type { Compiled, Node } from "../src/define/Compile.ts"
import type { Tagged } from "../src/define/Declarations.ts"
import { describe, MachineStopped, type SendError } from "../src/error/MachineError.ts"
import { eventProblem, initialState } from "../src/Machine.ts"
import { DefinitionError } from "../src/schema/DefinitionError.ts"
import { SimulationFailed } from "./SimulationFailed.ts"
import type { AnyMachine } from "./Subject.ts"
import { VirtualTimers } from "./VirtualTimers.ts"

type Settled = Exclude<Decision<Tagged, Tagged>, { readonly _tag: "Deferred" }>

export type Steps = Generator<Deferred<Tagged, Tagged>, void, Settled>

export class SimulationRun {
  readonly visited: Array<Tagged> = []
  readonly decisions: Array<Taken<Tagged, Tagged>> = []
  readonly requests: Array<Request> = []
  readonly refusals: Array<{ readonly event: Tagged; readonly state: Tagged; readonly error: SendError; readonly at: number }> = []
  state: Tagged
  now: number
  ended: { readonly status: "final" | "stopped"; readonly reason: string } | undefined = undefined
  postponed: Array<Tagged> = []
  readonly #waiting = new Mailbox<Tagged>()
  readonly #fired = new WeakSet<Tagged>()
  #steps = 0
  readonly #machine: AnyMachine
  readonly #compiled: Compiled
  readonly #limit: number
  readonly #timers = new VirtualTimers()
  readonly #start: Trace
  readonly #traced: Array<TraceStep> = []

  constructor(machine: AnyMachine, compiled: Compiled, start: unknown, at: number, id: string, limit: number) {
    this.#machine = machine
    this.#compiled = compiled
    this.#limit = limit
    this.now = at
    this.state = this.#initial(start)
    const beginning = begin(compiled, this.state, at)
    if (beginning._tag === "Refused")
      throw this.#failure(undefined, beginning.error.message, "pass another input or state", beginning.error)
    this.state = beginning.state
    this.#start = beginTrace(machine, id, beginning.state, at)
    this.visited.push(...beginning.through, beginning.state)
    this.requests.push(...beginning.requests)
    this.#enter(beginning.state, beginning.sends, 0)
    if (this.ended === undefined) this.#timers.delay(beginning.delays, at)
  }

  /** Handles an event and the events that follow from it. Without an event, handles those that the start has raised. */
  *handle(event: Tagged | undefined): Steps {
    if (event !== undefined) this.#waiting.push(this.#compiled.declarations.readEvent?.(event) ?? event)
    for (;;) {
      yield* this.#handleWaiting()
      const due = this.#timers.takeDue(this.now)
      if (due === undefined) return
      this.#waiting.push(due.event ?? this.#fire(due.name))
    }
  }

  /** Lets time pass. Timeouts fire in the order of their deadlines, each at its own time. */
  *advance(millis: number): Steps {
    const until = this.now + millis
    for (;;) {
      const due = this.#timers.takeDue(until)
      if (due === undefined) break
      this.now = Math.max(this.now, due.deadline)
      yield* this.handle(due.event ?? this.#fire(due.name))
    }
    this.now = until
  }

  /** Only timers send timeouts: the simulation refuses a timeout event that the test sends. */
  #fire(name: string): Tagged {
    const event = timeoutEvent(name)
    this.#fired.add(event)
    return event
  }

  #problemOf(event: Tagged): SendError | undefined {
    if (this.ended !== undefined) return this.#stoppedError(this.ended.reason)
    return this.#fired.has(event) ? undefined : eventProblem(this.#compiled, event)
  }

  *#handleWaiting(): Steps {
    for (;;) {
      const event = this.#waiting.shift()
      if (event === undefined) return
      this.#countStep(event)
      const query = this.ended?.status === "final" ? queryIn(this.#compiled, this.state, event, this.now) : undefined
      if (query !== undefined) {
        this.decisions.push(query)
        continue
      }
      const problem = this.#problemOf(event)
      if (problem !== undefined) this.#refuse(event, problem)
      else {
        const decision = decide(this.#compiled, this.state, event, this.now)
        this.#follow(decision._tag === "Deferred" ? yield decision : decision)
      }
    }
  }

  #follow(decision: Settled) {
    switch (decision._tag) {
      case "Postponed":
        this.postponed.push(decision.event)
        return
      case "Refused": {
        // A guard without an answer is a mistake of the test, not a refusal of the machine.
        const cause = decision.error._tag === "ActionFailed" ? decision.error.cause : undefined
        if (cause instanceof DefinitionError) throw this.#failure(decision.event, cause.problem, cause.nextStep, cause)
        return this.#refuse(decision.event, decision.error)
      }
      default:
        return this.#take(decision)
    }
  }

  #take(decision: Taken<Tagged, Tagged>) {
    this.decisions.push(decision)
    this.requests.push(...decision.requests)
    this.#traced.push(traceStep(this.#machine, this.decisions.length, decision, this.now))
    const moves = decision._tag === "Goto" || decision.state._tag !== this.state._tag
    const before = this.state
    this.state = decision.state
    if (moves) this.visited.push(...decision.through, decision.state)
    else this.visited[this.visited.length - 1] = decision.state
    if (decision._tag === "Goto") this.#enter(before, decision.sends, decision.kept ?? 0)
    else if (decision._tag === "Stop") this.#end("stopped", decision.reason)
    else {
      this.#timed(() => this.#timers.stay(this.#node, before, this.state, this.now))
      this.#waiting.raise(decision.sends)
    }
    if (this.ended === undefined) this.#timers.delay(decision.delays, this.now)
  }

  #enter(before: Tagged, sends: ReadonlyArray<Tagged>, kept: number) {
    if (this.#node.final) return this.#end("final", `${this.state._tag} is a final state`)
    this.#timed(() => this.#timers.enter(this.#node, before, this.state, this.now, kept))
    this.#waiting.unshift(this.postponed)
    this.#waiting.raise(sends)
    this.postponed = []
  }

  #end(status: "final" | "stopped", reason: string) {
    this.ended = { status, reason }
    this.#timers.clear()
    for (const event of [...this.postponed, ...this.#waiting.takeAll()]) this.#refuse(event, this.#stoppedError(reason))
    this.postponed = []
  }

  #refuse(event: Tagged, error: SendError) {
    this.refusals.push({ event, state: this.state, error, at: this.now })
  }

  #stoppedError(reason: string): SendError {
    return new MachineStopped({ machine: this.#machine.name, state: this.state._tag, reason })
  }

  get trace(): Trace {
    const stopped = this.ended?.status === "stopped" ? this.ended.reason : undefined
    return { ...this.#start, steps: this.#traced, current: this.state._tag, stopped }
  }

  get #node(): Node {
    return this.#compiled.nodes.get(this.state._tag) as Node
  }

  #initial(start: unknown): Tagged {
    try {
      return initialState(this.#compiled, start)
    } catch (cause) {
      this.state = { _tag: "(start)" }
      throw this.#failure(undefined, `initial failed: ${describe(cause)}`, "pass an input it accepts, or a state", cause)
    }
  }

  #timed(arm: () => void) {
    try {
      arm()
    } catch (cause) {
      throw this.#failure(undefined, `the duration of a timeout failed: ${describe(cause)}`, "let it return a duration", cause)
    }
  }

  #countStep(event: Tagged) {
    if (this.#steps++ < this.#limit) return
    const problem = `it handled ${this.#limit} events and more follow`
    throw this.#failure(event, problem, "look for events or timeouts that trigger each other, or raise { limit }", undefined)
  }

  #failure(event: Tagged | undefined, problem: string, nextStep: string, cause: unknown): SimulationFailed {
    const on = event === undefined ? {} : { event: eventLabel(event) }
    const why = cause === undefined ? {} : { cause }
    return new SimulationFailed({ machine: this.#machine.name, state: String(this.state?._tag), ...on, problem, nextStep, ...why })
  }
}
