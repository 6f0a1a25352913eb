/** The context of one decision: the data its functions may read, and the list of their requests. */
import type * as Duration from "effect/Duration"
import { type DelayRequest, type Hook, none, type Request, type TimerRequest } from "../decision/Decision.ts"
import { durationMillis, latestDue } from "../decision/Timeout.ts"
import type { Compiled } from "../define/Compile.ts"
import type { Predicate, Tagged } from "../define/Declarations.ts"
import type { Recorder } from "../effects/Slot.ts"
import type { Phase } from "../error/MachineError.ts"
import { DefinitionError } from "../schema/DefinitionError.ts"

/** The answers of guards at the first decision on an event, in the order they were asked. */
export interface RecordedAnswers {
  readonly guardAnswers: ReadonlyArray<boolean>
  /** Not set by versions that recorded guard slots only, including those that inline guards asked. */
  readonly inlineGuards?: boolean | undefined
}

/** The guards that one decision has asked. */
class AskedGuards {
  readonly answers: Array<boolean> = []
  /** Whether an inline guard is among them. */
  inline = false
  /** Whether an inline guard is being asked. One that throws ends its decision. */
  insideInline = false
  /** The exception of the last guard that failed. */
  failure: { readonly cause: unknown } | undefined

  record(answer: boolean): boolean {
    this.answers.push(answer)
    return answer
  }

  run(guard: Predicate, context: unknown): boolean {
    try {
      return Boolean(guard(context))
    } catch (cause) {
      this.failure = { cause }
      throw cause
    }
  }
}

export class Frame implements Recorder {
  readonly state: Tagged
  readonly event: Tagged | undefined
  readonly at: number
  readonly compiled: Compiled
  /** Allocated on first use: most decisions request nothing. */
  requests: ReadonlyArray<Request> | Array<Request> = none
  sends: ReadonlyArray<Tagged> | Array<Tagged> = none
  hooks: ReadonlyArray<Hook> | Array<Hook> = none
  timers: ReadonlyArray<TimerRequest> = none
  delays: ReadonlyArray<DelayRequest<Tagged>> | Array<DelayRequest<Tagged>> = none
  /** Set once a guard is asked. */
  asked: AskedGuards | undefined
  /** The answers of the first decision on the event; set in a replay. */
  recorded: RecordedAnswers | undefined
  /** Whether hooks raised some of `sends`. */
  raisedByHooks = false
  /** How many groups around the state that is reached were not left. */
  kept = 0
  closed = false

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

  get after() {
    return (name: string, delay: Duration.Input, event: Tagged) => {
      const millis = Math.max(0, durationMillis(delay))
      if (Number.isFinite(millis) && this.at + millis > latestDue) {
        throw new RangeError(`the delayed event ${name} would be due after the year 9999`)
      }
      const problem = this.compiled.events.has(event?._tag)
        ? this.compiled.events.get(event._tag)?.(event)
        : "it is not an event of the machine"
      if (problem !== undefined) throw new Error(`after(${JSON.stringify(name)}, ...) cannot send ${String(event?._tag)}: ${problem}`)
      this.delay(name, millis, event)
    }
  }

  get cancel() {
    return (name: string) => this.delay(name, Number.POSITIVE_INFINITY, undefined)
  }

  private delay(name: string, millis: number, event: Tagged | undefined) {
    this.checkOpen(event === undefined ? "cancel" : "after")
    if (this.delays === none) this.delays = []
    ;(this.delays as Array<DelayRequest<Tagged>>).push({ name, millis, event: millis === Number.POSITIVE_INFINITY ? undefined : event })
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
    this.asked ??= new AskedGuards()
    const { asked } = this
    if (asked.insideInline) return asked.run(answer, undefined)
    return asked.record(this.recorded?.guardAnswers[asked.answers.length] ?? asked.run(answer, undefined))
  }

  /** Asks the guard of an `.on` or an `.always`. */
  askInline(guard: Predicate, context: unknown): boolean {
    const { recorded } = this
    this.asked ??= new AskedGuards()
    const { asked } = this
    // Journals of versions that recorded slots only: the guard runs again, and the slots it asks give their recorded answers.
    if (recorded !== undefined && recorded.inlineGuards !== true) return asked.run(guard, context)
    asked.inline = true
    const known = recorded?.guardAnswers[asked.answers.length]
    if (known !== undefined) return asked.record(known)
    asked.insideInline = true
    const answer = asked.run(guard, context)
    asked.insideInline = false
    return asked.record(answer)
  }

  /** The phase that is reported for a failure: `guard` where a guard has thrown it. */
  phaseOf(cause: unknown, phase: Phase): Phase {
    const failure = this.asked?.failure
    return failure !== undefined && failure.cause === cause ? "guard" : phase
  }

  addHook(hook: Hook) {
    if (this.hooks === none) this.hooks = []
    ;(this.hooks as Array<Hook>).push(hook)
  }

  /** The context of an automatic transition from `state`. Its requests belong to the same decision. */
  from(state: Tagged): StepContext {
    return new StepContext(this, state, undefined)
  }

  /** The context of `enter` and `exit`. */
  hook(state: Tagged, other: Tagged | undefined): StepContext {
    return new StepContext(this, state, other)
  }

  private checkOpen(what: string) {
    if (!this.closed) return
    throw new DefinitionError({
      machine: this.compiled.name,
      problem: `${what} was called after its decision had ended`,
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

  get after() {
    return this.#frame.after
  }

  get cancel() {
    return this.#frame.cancel
  }

  request(slot: string, parameters: object) {
    this.#frame.request(slot, parameters)
  }

  askGuard(name: string, answer: () => boolean): boolean {
    return this.#frame.askGuard(name, answer)
  }
}
