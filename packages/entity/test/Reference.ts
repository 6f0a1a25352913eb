/**
 * Entity workflows as plainly as they can be interpreted: no machine, no events, no fibers. Processors with effects run where
 * they stand. What the compiled machine does is held against this.
 */
import type { WorkflowDefinition } from "../src/index.ts"
import type { Ticket } from "./tickets.ts"

export interface Tool {
  readonly effect: boolean
  /** How often it is tried. */
  readonly attempts: number
  readonly run: (entity: Ticket, attempt: number) => Ticket
}

export interface Tools {
  readonly processors: { readonly [name: string]: Tool }
  readonly criteria: { readonly [name: string]: (entity: Ticket) => boolean }
}

type Transition = WorkflowDefinition["transitions"][number]

interface Failure {
  readonly transition: string
  readonly processor?: string
  readonly criterion?: string
  readonly message: string
  readonly attempts: number
}

type Outcome =
  | { readonly _tag: "Taken"; readonly entity: Ticket }
  | { readonly _tag: "Unmet"; readonly criterion: string; readonly worked: boolean }
  | { readonly _tag: "Failed"; readonly failure: Failure; readonly worked: boolean }

/** The limit after which a run counts as endless. */
export class Endless extends Error {}

export class Reference {
  state: string
  entity: Ticket
  error: Failure | undefined = undefined
  /** What was called in the outside world. */
  readonly calls: Array<string> = []
  #tried = 0
  #steps = 0
  readonly #definition: WorkflowDefinition
  readonly #tools: Tools

  constructor(definition: WorkflowDefinition, tools: Tools, entity: Ticket) {
    this.#definition = definition
    this.#tools = tools
    this.state = definition.initial
    this.entity = entity
    this.#settle()
  }

  get isOver(): boolean {
    return !this.#definition.transitions.some(({ from }) => from === this.state || (Array.isArray(from) && from.includes(this.state)))
  }

  /** Whether it was accepted. */
  trigger(name: string): boolean {
    this.#steps = 0
    const transition = this.#leaving().find((one) => one.name === name && one.manual === true)
    if (transition === undefined) return false
    const before = this.error
    const outcome = this.#attempt(transition)
    if (outcome._tag === "Unmet" && !outcome.worked) return false
    if (outcome._tag !== "Failed" || outcome.worked) this.error = undefined
    else this.error = before
    this.#follow(transition, outcome, this.#tried)
    this.#settle()
    return true
  }

  update(amount: number): boolean {
    this.#steps = 0
    if (this.isOver) return false
    this.entity = { ...this.entity, amount }
    this.#tried = 0
    this.#settle()
    return true
  }

  #settle() {
    for (;;) {
      const automatic = this.isOver ? [] : this.#leaving().filter((one) => one.manual !== true && one.name !== this.#definition.failure)
      const position = automatic.findIndex((one, index) => index >= this.#tried && this.#isDue(one))
      const transition = automatic[position]
      if (transition === undefined) return
      if (this.#steps++ > 60) throw new Endless()
      this.#follow(transition, this.#attempt(transition), position + 1)
    }
  }

  /** Whether it is worth recording that it was tried. */
  #isDue(transition: Transition): boolean {
    if (this.#isEffectful(transition)) return transition.criteriaAfter === true || this.#unmet(transition, this.entity) === undefined
    return this.#attempt(transition)._tag !== "Unmet"
  }

  #follow(transition: Transition, outcome: Outcome, tried: number) {
    switch (outcome._tag) {
      case "Taken":
        return this.#arrive(transition.to, outcome.entity, undefined)
      case "Unmet": {
        const { criterion } = outcome
        const message = `${criterion} does not hold for the result of the processors`
        this.error = { transition: transition.name, criterion, message, attempts: 0 }
        this.#tried = tried
        return
      }
      case "Failed": {
        this.error = outcome.failure
        if (transition.manual !== true && transition.name !== this.#definition.failure) this.#tried = Number.MAX_SAFE_INTEGER
        this.#takeFailure(transition, outcome.failure)
      }
    }
  }

  #takeFailure(failed: Transition, failure: Failure) {
    const transition = this.#leaving().find((one) => one.name === this.#definition.failure)
    if (transition === undefined || transition === failed) return
    const outcome = this.#attempt(transition)
    if (outcome._tag === "Taken") return this.#arrive(transition.to, outcome.entity, failure)
    if (!outcome.worked) return
    const message =
      outcome._tag === "Failed" ? outcome.failure.message : `${outcome.criterion} does not hold for the result of the processors`
    this.error = { ...failure, message: `${failure.message}; then ${transition.name} failed as well: ${message}` }
  }

  #arrive(state: string, entity: Ticket, error: Failure | undefined) {
    this.state = state
    this.entity = entity
    this.error = error
    this.#tried = 0
  }

  #leaving(): ReadonlyArray<Transition> {
    if (this.isOver) return []
    const { transitions, failure } = this.#definition
    return transitions.filter(({ name, from, to, manual }) => {
      if (from !== "*") return from === this.state || from.includes(this.state)
      return manual === true || name === failure || to !== this.state
    })
  }

  #unmet({ criteria = [] }: Transition, entity: Ticket): string | undefined {
    return criteria.find((name) => this.#tools.criteria[name]?.(entity) !== true)
  }

  #isEffectful({ processors = [] }: Transition): boolean {
    return processors.some((name) => this.#tools.processors[String(name)]?.effect === true)
  }

  #attempt(transition: Transition): Outcome {
    const worked = this.#isEffectful(transition)
    const before = transition.criteriaAfter === true ? undefined : this.#unmet(transition, this.entity)
    if (before !== undefined) return { _tag: "Unmet", criterion: before, worked: false }
    let draft = this.entity
    for (const name of (transition.processors ?? []).map(String)) {
      const tool = this.#tools.processors[name] as Tool
      for (let attempt = 1; ; attempt++) {
        if (tool.effect) this.calls.push(`${transition.name} ${name} ${attempt}`)
        try {
          draft = tool.run(draft, attempt)
          break
        } catch (error) {
          if (attempt < tool.attempts) continue
          const failure = { transition: transition.name, processor: name, message: (error as Error).message, attempts: attempt }
          return { _tag: "Failed", failure, worked }
        }
      }
    }
    const after = transition.criteriaAfter === true ? this.#unmet(transition, draft) : undefined
    return after === undefined ? { _tag: "Taken", entity: draft } : { _tag: "Unmet", criterion: after, worked }
  }
}
