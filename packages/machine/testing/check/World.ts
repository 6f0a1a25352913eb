/**
 * One instance and everything around it as a graph: situations, and the steps from one to the next. Steps are events of senders,
 * timers that fire, results of effects, and the faults that an engine has to survive.
 */
import { timeoutEvent } from "../../src/decision/Timeout.ts"
import { isTimerOf } from "../../src/define/Compile.ts"
import type { Tagged } from "../../src/define/Declarations.ts"
import { CommandFailed, eventOf } from "../../src/effects/Command.ts"
import { describe } from "../../src/error/MachineError.ts"
import type { Decisions, Outcome, TakenOutcome } from "./Decisions.ts"
import type { EffectResult } from "./Domain.ts"
import type { Situation } from "./Property.ts"

export interface Faults {
  /** A process dies between a commit and the effects that it requested: they take place later, after other events and timers. */
  readonly crashes: boolean
  /** A process dies between an effect and the record of its result: the command is executed again, under the same key. */
  readonly repeatedEffects: boolean
  /** Events of one sender overtake those of another. Concerns `senders`. */
  readonly reorderedEvents: boolean
  /** A timer fires while effects that were requested before are still running. */
  readonly timerRaces: boolean
}

interface ArmedTimer {
  readonly timer: number
  /** Timers that were set in one step have the same rank, later ones a higher one. */
  readonly rank: number
  readonly millis: number
}

export interface Configuration {
  readonly state: number
  readonly ended: "running" | "final" | "stopped"
  /** Twice the number of the command; plus one if it has taken effect, and its result was lost. */
  readonly commands: ReadonlyArray<number>
  readonly timers: ReadonlyArray<ArmedTimer>
  /** Events that the machine sent itself, in order. */
  readonly raised: ReadonlyArray<number>
  /** Postponed events after a change of state, in order. */
  readonly released: ReadonlyArray<number>
  readonly postponed: ReadonlyArray<number>
  /** How many events each sender has sent. */
  readonly sent: ReadonlyArray<number>
  /** By the position of the slot. */
  readonly executed: ReadonlyArray<number>
  /** Slots whose result was lost, by position. */
  readonly lost: ReadonlyArray<number>
}

/** What happens between two situations. */
export type Action =
  | { readonly kind: "event"; readonly event: number; readonly sender: number | "work" | undefined }
  | { readonly kind: "raised" | "released"; readonly event: number }
  | { readonly kind: "timer"; readonly timer: number; readonly event: Tagged }
  | { readonly kind: "result"; readonly command: number; readonly result: EffectResult; readonly event: Tagged | undefined }
  | { readonly kind: "repeated"; readonly command: number }

export interface Step {
  readonly action: Action
  /** Undefined where the decision failed. */
  readonly to: Configuration | undefined
  readonly outcome: Outcome | undefined
  /** The step that must come sooner or later if it remains possible; undefined for what may never come. */
  readonly fair: string | undefined
  /** Steps that begin to wait anew: timers that it sets again. */
  readonly restarts: ReadonlyArray<string>
}

/** At most this many commands wait for their results, and events of senders for another state. */
const mostWaiting = 4
/** Self-sent events that wait: more are endless. */
const mostRaised = 100
/** Executions of a slot are counted up to here. */
const mostExecuted = 3

const nothing: ReadonlyArray<never> = []

export interface WorldOptions {
  readonly faults: Faults
  readonly senders: ReadonlyArray<ReadonlyArray<Tagged>> | undefined
  readonly awaited: ReadonlySet<string>
  readonly work: ((state: Tagged) => ReadonlyArray<Tagged>) | undefined
  readonly results: (slot: string) => ReadonlyArray<EffectResult>
}

export class World {
  readonly decisions: Decisions
  /** Why some steps were left out. */
  readonly notes = new Set<string>()
  readonly #options: WorldOptions
  readonly #senders: ReadonlyArray<ReadonlyArray<number>> | undefined
  readonly #slots: ReadonlyArray<string>

  constructor(decisions: Decisions, options: WorldOptions) {
    this.decisions = decisions
    this.#options = options
    this.#senders = options.senders?.map((events) => events.map((event) => decisions.events.number(event)))
    this.#slots = Object.keys(decisions.compiled.declarations.effectSlots)
  }

  /** The first situation of an instance. */
  start(outcome: TakenOutcome): Configuration {
    const empty: Configuration = {
      state: outcome.state,
      ended: "running",
      commands: nothing,
      timers: nothing,
      raised: nothing,
      released: nothing,
      postponed: nothing,
      sent: this.#senders?.map(() => 0) ?? nothing,
      executed: nothing,
      lost: nothing,
    }
    return this.#take(empty, outcome) ?? empty
  }

  /** All steps out of a situation. */
  steps(from: Configuration): ReadonlyArray<Step> {
    const steps: Array<Step> = []
    const [raised] = from.raised
    const [released] = from.released
    if (raised !== undefined) {
      this.#deliver(steps, { ...from, raised: from.raised.slice(1) }, raised, { kind: "raised", event: raised }, "its own event")
    } else if (released !== undefined) {
      this.#deliver(steps, { ...from, released: from.released.slice(1) }, released, { kind: "released", event: released }, "its own event")
    } else {
      this.#results(steps, from)
      const waits = from.commands.length > 0
      if (from.ended !== "running" || (waits && !this.#options.faults.crashes)) return steps
      if (!waits || this.#options.faults.timerRaces) this.#timers(steps, from)
      this.#work(steps, from)
      this.#sends(steps, from)
    }
    return steps
  }

  situation(from: Configuration): Situation<unknown> {
    return new Seen(this.decisions, this.#slots, from)
  }

  #results(steps: Array<Step>, from: Configuration) {
    const { crashes, repeatedEffects } = this.#options.faults
    const seen = new Set<number>()
    let ordered = false
    for (const [index, pending] of from.commands.entries()) {
      if (index > 0 && !crashes) return
      const number = pending >> 1
      const command = this.decisions.commands.value(number)
      const isOrdered = this.#settings(command.slot)?.ordered === true
      if ((isOrdered && ordered) || seen.has(pending)) continue
      ordered ||= isOrdered
      seen.add(pending)
      const isDone = (pending & 1) === 1
      const others = from.commands.filter((_, other) => other !== index)
      if (repeatedEffects && !isDone) {
        const commands = from.commands.map((other, position) => (position === index ? pending | 1 : other))
        steps.push({
          action: { kind: "repeated", command: number },
          to: this.#count({ ...from, commands }, command.slot),
          outcome: undefined,
          fair: undefined,
          restarts: nothing,
        })
      }
      // A handler that fails with a declared error says that its effect has not taken place.
      const isPossible = (result: EffectResult) => !isDone || "value" in result || result.failure instanceof CommandFailed
      const possible = this.#options.results(command.slot).filter(isPossible)
      for (const result of possible) {
        const took = "value" in result && !isDone
        const rest = took ? this.#count({ ...from, commands: others }, command.slot) : { ...from, commands: others }
        this.#result(steps, rest, number, result)
      }
    }
  }

  #settings(slot: string) {
    return this.decisions.compiled.declarations.commands?.[slot]
  }

  #count(from: Configuration, slot: string): Configuration {
    const position = this.#slots.indexOf(slot)
    const executed = this.#slots.map((_, index) => Math.min(mostExecuted, (from.executed[index] ?? 0) + (index === position ? 1 : 0)))
    return { ...from, executed }
  }

  #result(steps: Array<Step>, rest: Configuration, number: number, result: EffectResult) {
    const { slot, parameters } = this.decisions.commands.value(number)
    const { commands, effectSlots } = this.decisions.compiled.declarations
    const fair = `the result of ${slot} ${number}`
    const base = { kind: "result", command: number, result } as const
    let event: Tagged | undefined
    try {
      const executed = { slot, id: "checked", key: `${slot}/${number}`, parameters, attempts: 1 }
      event = eventOf({ ...(commands === undefined ? {} : { commands }), effectSlots }, executed, outcomeOf(slot, result))
    } catch (cause) {
      const problem = `the function that makes the event of ${slot} threw: ${describe(cause)}`
      steps.push({ action: { ...base, event: undefined }, to: undefined, outcome: { _tag: "Failed", problem }, fair, restarts: nothing })
      return
    }
    const action: Action = { ...base, event }
    if (event === undefined) steps.push({ action, to: rest, outcome: undefined, fair, restarts: nothing })
    else if (rest.ended !== "running")
      steps.push({ action, to: this.#lose(rest, slot), outcome: { _tag: "Refused" }, fair, restarts: nothing })
    else this.#deliver(steps, rest, this.decisions.events.number(event), action, fair, slot)
  }

  #lose(from: Configuration, slot: string): Configuration {
    const lost = [...new Set([...from.lost, this.#slots.indexOf(slot)])].sort((a, b) => a - b)
    return { ...from, lost }
  }

  #timers(steps: Array<Step>, from: Configuration) {
    for (const armed of from.timers) {
      if (from.timers.some((other) => isDueBefore(other, armed))) continue
      const { name, event: delayed } = this.decisions.timers.value(armed.timer)
      const event = delayed === undefined ? timeoutEvent(name) : this.decisions.events.value(delayed)
      const number = delayed ?? this.decisions.events.number(event)
      const rest = { ...from, timers: from.timers.filter((other) => other !== armed) }
      this.#deliver(steps, rest, number, { kind: "timer", timer: armed.timer, event }, timerFairness(name))
    }
  }

  /** The work of a state sends one of its events sooner or later. */
  #work(steps: Array<Step>, from: Configuration) {
    const { work } = this.#options
    if (work === undefined) return
    const state = this.decisions.states.value(from.state)
    for (const sent of work(state)) {
      const event = this.decisions.events.number(sent)
      this.#deliver(steps, from, event, { kind: "event", event, sender: "work" }, `the work of ${state._tag}`)
    }
  }

  #sends(steps: Array<Step>, from: Configuration) {
    if (this.#senders === undefined) {
      for (const event of this.decisions.acceptedIn(from.state)) {
        this.#deliver(steps, from, event, { kind: "event", event, sender: undefined }, this.#awaited(event))
      }
      return
    }
    for (const [sender, events] of this.#senders.entries()) {
      const sent = from.sent[sender] ?? 0
      const event = events[sent]
      if (event === undefined) continue
      const rest = { ...from, sent: from.sent.map((count, index) => (index === sender ? count + 1 : count)) }
      this.#deliver(steps, rest, event, { kind: "event", event, sender }, `sender ${sender + 1}`)
      // Without reordering one sender sends all of its events before the next one begins.
      if (!this.#options.faults.reorderedEvents) return
    }
  }

  #awaited(event: number): string | undefined {
    const tag = this.decisions.events.value(event)._tag
    return this.#options.awaited.has(tag) ? `the event ${tag}` : undefined
  }

  /** Adds a step for each thing that an event may do. */
  #deliver(steps: Array<Step>, from: Configuration, event: number, action: Action, fair: string | undefined, slot?: string) {
    for (const outcome of this.decisions.of(from.state, event)) {
      const to = this.#follow(from, event, outcome, slot)
      if (to !== "left out") steps.push({ action, to, outcome, fair, restarts: this.#restarted(from, outcome) })
    }
  }

  #restarted(from: Configuration, outcome: Outcome): ReadonlyArray<string> {
    if (from.timers.length === 0 || outcome._tag !== "Taken") return nothing
    return outcome.timers.filter(({ timer }) => from.timers.some((armed) => armed.timer === timer)).map(({ name }) => timerFairness(name))
  }

  #follow(from: Configuration, event: number, outcome: Outcome, slot: string | undefined): Configuration | undefined | "left out" {
    switch (outcome._tag) {
      case "Failed":
        return undefined
      case "Refused":
        return slot === undefined ? from : this.#lose(from, slot)
      case "Deferred": {
        const { _tag: state } = this.decisions.states.value(from.state)
        this.notes.add(`${state} × ${this.decisions.events.value(event)._tag}: its decision is an Effect, which is not run`)
        return "left out"
      }
      case "Postponed": {
        if (from.postponed.length < mostWaiting) return { ...from, postponed: [...from.postponed, event] }
        this.notes.add(`more than ${mostWaiting} postponed events`)
        return "left out"
      }
      case "Taken": {
        if (from.raised.length + outcome.sends.length > mostRaised) return undefined
        const to = this.#take(from, outcome)
        if (to === undefined) this.notes.add(`more than ${mostWaiting} commands without a result`)
        return to ?? "left out"
      }
    }
  }

  /** The situation after a transition; undefined where too many commands would wait. */
  #take(from: Configuration, outcome: TakenOutcome): Configuration | undefined {
    const commands = outcome.requests.length === 0 ? from.commands : this.#withRequests(from.commands, outcome.requests)
    if (commands.length > mostWaiting) return undefined
    if (outcome.ended !== "running") {
      return { ...from, ...outcomeState(outcome), commands, timers: nothing, raised: nothing, released: nothing, postponed: nothing }
    }
    const raised = outcome.sends.length === 0 ? from.raised : [...from.raised, ...outcome.sends]
    const timers = this.#armed(from.timers, outcome)
    if (!outcome.entered || from.postponed.length === 0) return { ...from, ...outcomeState(outcome), commands, timers, raised }
    return {
      ...from,
      ...outcomeState(outcome),
      commands,
      timers,
      raised,
      released: [...from.postponed, ...from.released],
      postponed: nothing,
    }
  }

  #withRequests(commands: ReadonlyArray<number>, requests: ReadonlyArray<number>): ReadonlyArray<number> {
    const all = [...commands, ...requests.map((command) => command << 1)]
    const isAnyOrdered = all.some((command) => this.#settings(this.decisions.commands.value(command >> 1).slot)?.ordered === true)
    return isAnyOrdered || !this.#options.faults.crashes ? all : all.sort((a, b) => a - b)
  }

  #armed(before: ReadonlyArray<ArmedTimer>, outcome: TakenOutcome): ReadonlyArray<ArmedTimer> {
    if (before.length === 0 && outcome.timers.length === 0) return nothing
    const groups = this.decisions.compiled.nodes.get(this.decisions.states.value(outcome.state)._tag)?.groups.slice(0, outcome.kept) ?? []
    const lasts = ({ timer }: ArmedTimer) => {
      const { name, event } = this.decisions.timers.value(timer)
      const isReplaced = outcome.timers.some((set) => set.name === name && set.delayed === (event !== undefined))
      return !isReplaced && (event !== undefined || !outcome.entered || groups.some((group) => isTimerOf(group, name)))
    }
    const rank = before.reduce((highest, timer) => Math.max(highest, timer.rank), -1) + 1
    // A later entry of the same name replaces an earlier one.
    const set = new Map(outcome.timers.map((one) => [`${one.delayed} ${one.name}`, one]))
    const begun = [...set.values()].filter(({ millis }) => millis !== Number.POSITIVE_INFINITY)
    return ranked([...before.filter(lasts), ...begun.map(({ timer, millis }) => ({ timer, rank, millis }))])
  }
}

/** A configuration as properties see it. Most properties read one or two fields. */
class Seen implements Situation<unknown> {
  readonly #decisions: Decisions
  readonly #slots: ReadonlyArray<string>
  readonly #from: Configuration

  constructor(decisions: Decisions, slots: ReadonlyArray<string>, from: Configuration) {
    this.#decisions = decisions
    this.#slots = slots
    this.#from = from
  }

  get state() {
    return this.#decisions.states.value(this.#from.state)
  }

  get status() {
    return this.#from.ended
  }

  get pending() {
    return this.#from.commands.map((command) => this.#decisions.commands.value(command >> 1))
  }

  get executed() {
    return Object.fromEntries(this.#slots.map((slot, index) => [slot, this.#from.executed[index] ?? 0]))
  }

  get lostResults() {
    return this.#from.lost.map((index) => this.#slots[index] as string)
  }

  get timers() {
    return this.#from.timers.map(({ timer }) => this.#decisions.timers.value(timer).name)
  }

  get postponed() {
    return this.#from.postponed.map((event) => this.#decisions.events.value(event)._tag)
  }
}

const timerFairness = (name: string): string => `the timer ${name}`

const outcomeState = ({ state, ended }: TakenOutcome) => ({ state, ended })

const outcomeOf = (slot: string, result: EffectResult) => {
  if ("value" in result) return { _tag: "Done", value: result.value } as const
  return { _tag: "Failed", error: result.failure, problem: `${slot} failed`, retryable: false, afterMillis: undefined } as const
}

/** The failure of a command that was given up: any slot may end so. */
export const givenUp = (slot: string): EffectResult => ({
  failure: new CommandFailed({ slot, key: `${slot}/0`, attempts: 1, problem: "given up" }),
})

/** Set no later, and for no longer: its deadline comes first, however much time passed between the two. */
const isDueBefore = (one: ArmedTimer, other: ArmedTimer): boolean =>
  one.rank <= other.rank && one.millis <= other.millis && (one.rank < other.rank || one.millis < other.millis)

/** The same timers with the smallest ranks, in a fixed order: only the order of setting matters. */
const ranked = (timers: ReadonlyArray<ArmedTimer>): ReadonlyArray<ArmedTimer> => {
  const ranks = [...new Set(timers.map(({ rank }) => rank))].sort((a, b) => a - b)
  return timers.map((timer) => ({ ...timer, rank: ranks.indexOf(timer.rank) })).sort((a, b) => a.timer - b.timer)
}

/** Whether it is nothing but the state of a running instance. */
export const isPlain = (one: Configuration): boolean =>
  one.ended === "running" &&
  one.commands.length + one.timers.length + one.raised.length + one.released.length === 0 &&
  one.postponed.length + one.sent.length + one.executed.length + one.lost.length === 0

/** A text that equal situations share. */
export const configurationKey = (configuration: Configuration): string => {
  const { state, ended, commands, timers, raised, released, postponed, sent, executed, lost } = configuration
  let text = `${state}${ended}`
  if (commands.length > 0) text += `c${commands.join()}`
  for (const { timer, rank, millis } of timers) text += `t${timer},${rank},${millis}`
  if (raised.length > 0) text += `r${raised.join()}`
  if (released.length > 0) text += `l${released.join()}`
  if (postponed.length > 0) text += `p${postponed.join()}`
  if (sent.length > 0) text += `s${sent.join()}`
  if (executed.length > 0) text += `e${executed.join()}`
  return lost.length > 0 ? `${text}x${lost.join()}` : text
}
