/** The findings of `explore`. Lists are in declaration order; the same seed gives the same report. */

/** Where an event led from a state: tags of states, `(stay)`, `(stop)`, or `(refuse)`. */
export interface ObservedTargets {
  readonly state: string
  /** The event's tag, `(name)` for a timeout, `(always)` for an automatic transition. */
  readonly event: string
  readonly targets: ReadonlyArray<{ readonly target: string; readonly times: number }>
}

/** The state and event of a decision. */
export interface Sample {
  readonly state: { readonly _tag: string }
  /** Undefined at the start. */
  readonly event: { readonly _tag: string } | undefined
  /** State and event as text, without the values of sensitive fields. */
  readonly text: string
}

export interface Throwing {
  readonly state: string
  readonly event: string
  /** Which of the user's functions threw: a decision, a hook, the guard of an automatic transition ... */
  readonly phase: string
  readonly message: string
  readonly times: number
  /** The first sample; preferably one that was reached from the start. */
  readonly sample: Sample
  /** Whether the sample's state was reached from the start, or only fits its schema. */
  readonly reached: boolean
}

/** `certain`: follows from the declarations. Otherwise it was observed, and more samples may disprove it. */
export interface StateFinding {
  readonly state: string
  readonly certain: boolean
}

export interface NeverProduced {
  readonly states: ReadonlyArray<string>
  readonly events: ReadonlyArray<string>
  readonly target: string
}

export interface ConstantGuard {
  /** The slot, or the transition and the name of its guard. */
  readonly guard: string
  /** Its only answer; undefined when it was never asked. */
  readonly answer: boolean | undefined
  readonly asked: number
}

export interface EndlessAlways {
  readonly state: string
  readonly event: string
  /** The states of the last rounds. */
  readonly path: ReadonlyArray<string>
  readonly sample: Sample
}

/** Slots that are used and not declared: diagrams do not show them. */
export interface UndeclaredSlots {
  /** The transition or hook. */
  readonly where: string
  readonly slots: ReadonlyArray<string>
}

export interface NotExplored {
  readonly what: string
  readonly why: string
}

export interface ExploreReport {
  readonly machine: string
  readonly version: number
  readonly seed: string | number
  /** How many decisions were made. */
  readonly decisions: number
  readonly observedTargets: ReadonlyArray<ObservedTargets>
  readonly throwing: ReadonlyArray<Throwing>
  readonly endlessAlways: ReadonlyArray<EndlessAlways>
  /** States that were never reached from the start. */
  readonly unreachable: ReadonlyArray<StateFinding>
  /** States that are not final and have no way out. */
  readonly deadEnds: ReadonlyArray<StateFinding>
  /** Events that no state handles. */
  readonly unhandledEvents: ReadonlyArray<string>
  /** Targets that are declared and that no decision returned. */
  readonly neverProduced: ReadonlyArray<NeverProduced>
  readonly constantGuards: ReadonlyArray<ConstantGuard>
  readonly undeclaredSlots: ReadonlyArray<UndeclaredSlots>
  readonly notExplored: ReadonlyArray<NotExplored>
}

/** The number of findings that are mistakes, or very likely so. Targets never produced and constant guards are hints. */
export const problemsIn = (report: ExploreReport): number =>
  report.throwing.length + report.endlessAlways.length + report.unreachable.length + report.deadEnds.length + report.unhandledEvents.length
