/** The decisions of a machine by the numbers of state and event. Each is made once: a decision is a pure function. */
import { decide } from "../../src/decide/Decide.ts"
import type { Beginning, Taken } from "../../src/decision/Decision.ts"
import { isTimeoutEvent } from "../../src/decision/Timeout.ts"
import type { Compiled } from "../../src/define/Compile.ts"
import type { Tagged } from "../../src/define/Declarations.ts"
import type { GuardScript } from "../GuardScript.ts"
import { related } from "./Domain.ts"
import { Intern, keyOf } from "./Intern.ts"

/** A timeout of a state or group, or a delayed event of the instance. */
export interface TimerKind {
  readonly name: string
  /** The number of the delayed event; undefined for a timeout. */
  readonly event: number | undefined
}

/** A timer that a decision sets. `Infinity` cancels the timer of its name. */
export interface SetTimer {
  readonly timer: number
  readonly name: string
  readonly delayed: boolean
  readonly millis: number
}

export interface TakenOutcome {
  readonly _tag: "Taken"
  readonly state: number
  readonly entered: boolean
  readonly ended: "running" | "final" | "stopped"
  readonly requests: ReadonlyArray<number>
  readonly sends: ReadonlyArray<number>
  readonly timers: ReadonlyArray<SetTimer>
  readonly kept: number
}

/** What an event does to a state. */
export type Outcome =
  | TakenOutcome
  | { readonly _tag: "Refused" }
  | { readonly _tag: "Postponed" }
  | { readonly _tag: "Deferred" }
  | { readonly _tag: "Failed"; readonly problem: string }

export interface RequestedCommand {
  readonly slot: string
  readonly parameters: object
}

const refused: Outcome = { _tag: "Refused" }
const refusedOnly: ReadonlyArray<Outcome> = [refused]
const postponedOnly: ReadonlyArray<Outcome> = [{ _tag: "Postponed" }]
const nothing: ReadonlyArray<never> = []

export class Decisions {
  /** How many decisions were made. */
  made = 0
  readonly compiled: Compiled
  readonly states: Intern<Tagged>
  readonly events = new Intern<Tagged>(keyOf)
  readonly timers = new Intern<TimerKind>(({ name, event }) => `${event ?? ""} ${name}`)
  readonly commands = new Intern<RequestedCommand>(({ slot, parameters }) => `${slot} ${keyOf(parameters)}`)
  readonly #script: GuardScript | undefined
  readonly #at: number
  readonly #domain: ReadonlyArray<Tagged>
  /** By the number of the state, then by that of the event. */
  readonly #outcomes: Array<Array<ReadonlyArray<Outcome>>> = []
  readonly #accepted: Array<ReadonlyArray<number>> = []
  readonly #candidates = new Map<string, { readonly fixed: ReadonlyArray<number>; readonly open: ReadonlyArray<number> }>()

  constructor(compiled: Compiled, script: GuardScript | undefined, domain: ReadonlyArray<Tagged>, at: number) {
    this.compiled = compiled
    this.#script = script
    this.#domain = domain
    this.#at = at
    const names = new Map([...compiled.declarations.state.$variants].map(([tag, variant]) => [tag, variant.fieldNames]))
    this.states = new Intern((state) => stateKey(state, names.get(state._tag) ?? [], compiled.remembers))
  }

  /** What an event may do to a state: more than one outcome where guards have no answers. */
  of(state: number, event: number): ReadonlyArray<Outcome> {
    this.#outcomes[state] ??= []
    const known = this.#outcomes[state] as Array<ReadonlyArray<Outcome>>
    let outcomes = known[event]
    if (outcomes === undefined) {
      outcomes = this.#decide(this.states.value(state), this.events.value(event))
      known[event] = outcomes
    }
    return outcomes
  }

  /** The events that any sender may send to a state and that are not refused there. */
  acceptedIn(state: number): ReadonlyArray<number> {
    const known = this.#accepted[state]
    if (known !== undefined) return known
    const value = this.states.value(state)
    const { fixed, open } = this.#candidatesFor(value._tag)
    const numbers = open.length === 0 ? fixed : [...new Set([...fixed, ...open.map((event) => this.#related(value, event))])]
    const accepted = numbers.filter((event) => this.of(state, event)[0]?._tag !== "Refused" || this.of(state, event).length > 1)
    this.#accepted[state] = accepted
    return accepted
  }

  /** The decision behind an outcome, made again. */
  decisionOf(state: number, event: number, outcome: TakenOutcome): Taken<Tagged, Tagged> | undefined {
    const wanted = this.of(state, event).indexOf(outcome)
    const made: Array<ReturnType<typeof decide>> = []
    const again = () => made.push(decide(this.compiled, this.states.value(state), this.events.value(event), this.#at))
    if (this.#script === undefined) again()
    else this.#script.inEveryWay(again)
    const decision = made[wanted]
    return decision !== undefined && "requests" in decision ? decision : undefined
  }

  #related(state: Tagged, event: number): number {
    return this.events.number(related(this.compiled, state, this.events.value(event)))
  }

  /** Events of the domain that a state of this tag handles, and those of them that have a field in common with it. */
  #candidatesFor(tag: string) {
    let candidates = this.#candidates.get(tag)
    if (candidates === undefined) {
      const fields = new Set(this.compiled.declarations.state.$variants.get(tag)?.fieldNames)
      const node = this.compiled.nodes.get(tag)
      const handled = this.#domain.filter(({ _tag }) => node?.on.has(_tag) === true || node?.postponed.has(_tag) === true)
      const isOpen = ({ _tag }: Tagged) =>
        this.compiled.declarations.event.$variants.get(_tag)?.fieldNames.some((name) => fields.has(name)) === true
      const number = (event: Tagged) => this.events.number(event)
      candidates = { fixed: handled.map(number), open: handled.filter(isOpen).map(number) }
      this.#candidates.set(tag, candidates)
    }
    return candidates
  }

  /** The outcome of a beginning. */
  beginning(begun: Beginning<Tagged, Tagged>): TakenOutcome {
    const decision = { ...begun, _tag: "Goto", from: begun.state, event: begun.state, answer: undefined, guardAnswers: [] } as const
    return this.#taken(decision)
  }

  #decide(state: Tagged, event: Tagged): ReadonlyArray<Outcome> {
    if (!isTimeoutEvent(event)) {
      const node = this.compiled.nodes.get(state._tag)
      // An error with its list of accepted events is not needed.
      if (node?.on.has(event._tag) !== true) return node?.postponed.has(event._tag) === true ? postponedOnly : refusedOnly
    }
    if (this.#script === undefined) return [this.#make(state, event)]
    const outcomes: Array<Outcome> = []
    this.#script.inEveryWay(() => outcomes.push(this.#make(state, event)))
    return outcomes
  }

  #make(state: Tagged, event: Tagged): Outcome {
    this.made++
    return this.#outcomeOf(decide(this.compiled, state, event, this.#at))
  }

  #outcomeOf(decision: ReturnType<typeof decide>): Outcome {
    switch (decision._tag) {
      case "Postponed":
      case "Deferred":
        return { _tag: decision._tag }
      case "Refused": {
        const { error } = decision
        return error._tag === "ActionFailed" || error._tag === "EndlessTransition" ? { _tag: "Failed", problem: error.message } : refused
      }
      default: {
        const problem = this.#problemOf(decision.state)
        return problem ?? this.#taken(decision)
      }
    }
  }

  /** The engine refuses an event whose new state does not fit its schema. */
  #problemOf(state: Tagged): Outcome | undefined {
    const problem = this.compiled.states.get(state._tag)?.(state)
    return problem === undefined
      ? undefined
      : { _tag: "Failed", problem: `the new state ${state._tag} does not fit its schema: ${problem}` }
  }

  #taken(decision: Taken<Tagged, Tagged>): TakenOutcome {
    const isFinal = this.compiled.nodes.get(decision.state._tag)?.final === true
    const { requests, sends, timers, delays } = decision
    return {
      _tag: "Taken",
      state: this.states.number(decision.state),
      entered: decision._tag === "Goto",
      ended: decision._tag === "Stop" ? "stopped" : isFinal ? "final" : "running",
      requests: requests.length === 0 ? nothing : requests.map((request) => this.commands.number(request)),
      sends: sends.length === 0 ? nothing : sends.map((event) => this.events.number(event)),
      timers:
        timers.length + delays.length === 0
          ? nothing
          : [
              ...timers.map(({ name, millis }) => this.#set(name, undefined, millis)),
              ...delays.map(({ name, millis, event }) => this.#set(name, event, millis, true)),
            ],
      kept: decision.kept ?? 0,
    }
  }

  #set(name: string, event: Tagged | undefined, millis: number, delayed = false): SetTimer {
    const number = event === undefined ? undefined : this.events.number(event)
    return { timer: this.timers.number({ name, event: number }), name, delayed, millis }
  }
}

const stateKey = (state: Tagged, names: ReadonlyArray<string>, remembers: boolean): string => {
  if (remembers) return keyOf(state)
  let text = state._tag
  for (const name of names) {
    const value = (state as unknown as { readonly [name: string]: unknown })[name]
    text += typeof value === "number" ? `,${value}` : `,${keyOf(value)}`
  }
  return text
}
