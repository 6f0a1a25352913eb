/** The context of one decision: what its functions may look at, and where what they ask for is collected. */
import type { Compiled } from "../define/Compile.ts"
import type { Predicate, Tagged } from "../define/Declarations.ts"
import type { Recorder } from "../effects/SlotCalls.ts"
import { DefinitionError, type Phase } from "../MachineError.ts"
import type { Hook, Request, TimerRequest } from "./Decision.ts"

const none: ReadonlyArray<never> = Object.freeze([])

/** What guards answered when an event was first decided on, in the order they were asked. */
export interface RecordedAnswers {
  readonly guardAnswers: ReadonlyArray<boolean>
  /** Where this is not set, guard slots alone were recorded, those that inline guards asked among them. */
  readonly inlineGuards?: boolean | undefined
}

export class Frame implements Recorder {
  readonly state: Tagged
  readonly event: Tagged | undefined
  readonly at: number
  readonly compiled: Compiled
  /** Made only when used: most decisions request nothing. */
  requests: ReadonlyArray<Request> | Array<Request> = none
  sends: ReadonlyArray<Tagged> | Array<Tagged> = none
  hooks: ReadonlyArray<Hook> | Array<Hook> = none
  timers: ReadonlyArray<TimerRequest> = none
  guardAnswers: ReadonlyArray<boolean> | Array<boolean> = none
  /** Whether `guardAnswers` has the answer of an inline guard. */
  inlineGuards = false
  /** The answers of the first decision on the event; set in a replay. */
  recorded: RecordedAnswers | undefined
  /** What the last guard that failed has thrown. */
  guardFailure: { readonly cause: unknown } | undefined
  closed = false
  #insideInlineGuard = false

  constructor(compiled: Compiled, state: Tagged, event: Tagged | undefined, at: number) {
    this.compiled = compiled
    this.state = state
    this.event = event
    this.at = at
  }

  get guards(): object {
    return this.compiled.guards(this)
  }

  get effects(): object {
    return this.compiled.effects(this)
  }

  get self() {
    return { send: (event: Tagged) => this.send(event) }
  }

  send(event: Tagged) {
    this.checkOpen("self.send")
    if (this.sends === none) this.sends = []
    ;(this.sends as Array<Tagged>).push(event)
  }

  request(slot: string, parameters: object) {
    this.checkOpen(`effects.${slot}`)
    if (this.requests === none) this.requests = []
    ;(this.requests as Array<Request>).push({ slot, parameters })
  }

  /** Asks a guard slot. Inside an inline guard it is not recorded: the inline guard's own answer is. */
  askGuard(_name: string, answer: () => boolean): boolean {
    if (this.#insideInlineGuard) return this.#guarded(answer)
    return this.#record(this.recorded?.guardAnswers[this.guardAnswers.length] ?? this.#guarded(answer))
  }

  /** Asks the guard of an `.on` or an `.always`. */
  askInline(guard: Predicate, context: unknown): boolean {
    const { recorded } = this
    // Journals of versions that recorded slots only: the guard runs again, and the slots it asks give their recorded answers.
    if (recorded !== undefined && recorded.inlineGuards !== true) return this.#guarded(() => guard(context))
    this.inlineGuards = true
    const known = recorded?.guardAnswers[this.guardAnswers.length]
    if (known !== undefined) return this.#record(known)
    this.#insideInlineGuard = true
    try {
      return this.#record(this.#guarded(() => guard(context)))
    } finally {
      this.#insideInlineGuard = false
    }
  }

  /** The phase that is reported for a failure: `guard` where a guard has thrown it. */
  phaseOf(cause: unknown, phase: Phase): Phase {
    return this.guardFailure !== undefined && this.guardFailure.cause === cause ? "guard" : phase
  }

  #record(answer: boolean): boolean {
    if (this.guardAnswers === none) this.guardAnswers = []
    ;(this.guardAnswers as Array<boolean>).push(answer)
    return answer
  }

  #guarded(ask: () => boolean): boolean {
    try {
      return Boolean(ask())
    } catch (cause) {
      this.guardFailure = { cause }
      throw cause
    }
  }

  addHook(hook: Hook) {
    if (this.hooks === none) this.hooks = []
    ;(this.hooks as Array<Hook>).push(hook)
  }

  /** The same collection seen from another state: automatic transitions go on from where the decision led. */
  from(state: Tagged): StepContext {
    return new StepContext(this, state, undefined)
  }

  /** As `enter` and `exit` see it. */
  hook(state: Tagged, other: Tagged | undefined): StepContext {
    return new StepContext(this, state, other)
  }

  private checkOpen(what: string) {
    if (!this.closed) return
    throw new DefinitionError({
      machine: this.compiled.name,
      problem: `${what} was called after its decision was over`,
      nextStep: "call it before the decision returns, or in spawn",
    })
  }
}

class StepContext implements Recorder {
  readonly state: Tagged
  readonly other: Tagged | undefined
  readonly #frame: Frame

  constructor(frame: Frame, state: Tagged, other: Tagged | undefined) {
    this.#frame = frame
    this.state = state
    this.other = other
  }

  get event() {
    return this.#frame.event
  }

  get at() {
    return this.#frame.at
  }

  get guards(): object {
    return this.#frame.compiled.guards(this)
  }

  get effects(): object {
    return this.#frame.effects
  }

  get self() {
    return this.#frame.self
  }

  request(slot: string, parameters: object) {
    this.#frame.request(slot, parameters)
  }

  askGuard(name: string, answer: () => boolean): boolean {
    return this.#frame.askGuard(name, answer)
  }
}
