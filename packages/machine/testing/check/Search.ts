/** Visits every situation that can be reached, the nearest first, so that the first counterexample is a shortest one. */
import { type Configuration, configurationKey, isPlain, type Step, type World } from "./World.ts"

/** One step on the way to a situation. */
export interface WayStep {
  readonly step: Step
  readonly to: Configuration | undefined
}

/** A decision that fails. */
export interface Failure {
  readonly from: number
  readonly step: number
  readonly problem: string
}

const none = -1
const nothing: ReadonlyArray<never> = []

export class Search {
  readonly configurations: Array<Configuration> = []
  /** The first decision that fails. */
  failure: Failure | undefined
  /** The first situation that is not the end of the instance and has no way out. */
  stuck: number | undefined
  /** Whether the limit was reached before everything was visited. */
  isCutOff = false
  steps = 0
  readonly #world: World
  readonly #limit: number
  readonly #keepsEdges: boolean
  readonly #numbers = new Numbers()
  readonly #parents: Array<number> = []
  /** Which step of the parent led here. */
  readonly #parentSteps: Array<number> = []
  /** By the number of the situation: where its edges begin in the two lists. */
  readonly #firstEdge: Array<number> = []
  readonly #targets: Array<number> = []
  readonly #fair: Array<number> = []
  /** By the position of the edge. */
  readonly #restarts = new Map<number, ReadonlyArray<number>>()
  readonly #fairNumbers = new Map<string, number>()

  constructor(world: World, limit: number, keepsEdges: boolean) {
    this.#world = world
    this.#limit = limit
    this.#keepsEdges = keepsEdges
  }

  /** Visits everything, and calls `visit` once for each situation. */
  run(starts: ReadonlyArray<Configuration>, visit: (configuration: Configuration, number: number) => void) {
    for (const start of starts) this.#reach(start, none, none, visit)
    for (let from = 0; from < this.configurations.length; from++) {
      this.#firstEdge.push(this.#targets.length)
      if (this.configurations.length > this.#limit) {
        this.isCutOff = true
        continue
      }
      this.#expand(from, visit)
    }
    this.#firstEdge.push(this.#targets.length)
  }

  #expand(from: number, visit: (configuration: Configuration, number: number) => void) {
    const configuration = this.configurations[from] as Configuration
    const steps = this.#world.steps(configuration)
    this.steps += steps.length
    let leads = false
    for (const [index, step] of steps.entries()) {
      if (step.to === undefined) {
        leads = true
        this.failure ??= { from, step: index, problem: problemOf(step) }
        continue
      }
      const to = this.#reach(step.to, from, index, visit)
      if (to !== from) leads = true
      if (!this.#keepsEdges) continue
      this.#targets.push(to)
      if (step.restarts.length > 0)
        this.#restarts.set(
          this.#fair.length,
          step.restarts.map((name) => this.#fairNumber(name)),
        )
      this.#fair.push(step.fair === undefined ? 0 : this.#fairNumber(step.fair))
    }
    if (!leads && configuration.ended === "running") this.stuck ??= from
  }

  #reach(to: Configuration, parent: number, step: number, visit: (configuration: Configuration, number: number) => void): number {
    const number = this.configurations.length
    const known = this.#numbers.register(to, number)
    if (known !== undefined) return known
    this.configurations.push(to)
    this.#parents.push(parent)
    this.#parentSteps.push(step)
    visit(to, number)
    return number
  }

  #fairNumber(name: string): number {
    const known = this.#fairNumbers.get(name)
    if (known !== undefined) return known
    const next = this.#fairNumbers.size + 1
    this.#fairNumbers.set(name, next)
    return next
  }

  /**
   * Calls `edge` for each step out of a situation that was visited. `fair` is 0 for a step that may never come; `restarts` are the
   * steps that begin to wait anew.
   */
  forEdges(from: number, edge: (to: number, fair: number, restarts: ReadonlyArray<number>) => void) {
    const end = this.#firstEdge[from + 1] as number
    for (let index = this.#firstEdge[from] as number; index < end; index++) {
      edge(this.#targets[index] as number, this.#fair[index] as number, this.#restarts.get(index) ?? nothing)
    }
  }

  /** The first situation of the way to this one. */
  rootOf(number: number): Configuration {
    let at = number
    while (this.#parents[at] !== none) at = this.#parents[at] as number
    return this.configurations[at] as Configuration
  }

  /** A shortest way from a start. */
  wayTo(number: number): ReadonlyArray<WayStep> {
    const way: Array<WayStep> = []
    for (let at = number; this.#parents[at] !== none; at = this.#parents[at] as number) {
      const parent = this.#parents[at] as number
      way.push(this.stepOf(parent, this.#parentSteps[at] as number))
    }
    return way.reverse()
  }

  stepOf(from: number, index: number): WayStep {
    const step = this.#world.steps(this.configurations[from] as Configuration)[index] as Step
    return { step, to: step.to }
  }

  /** A step from one situation to the other; to itself, the one for whose sake it does not rest. */
  stepBetween(from: number, to: number): WayStep {
    const key = configurationKey(this.configurations[to] as Configuration)
    const steps = this.#world.steps(this.configurations[from] as Configuration)
    const leading = steps.filter((one) => one.to !== undefined && configurationKey(one.to) === key)
    const step = (leading.find(({ fair, restarts }) => fair !== undefined || restarts.length > 0) ?? leading[0]) as Step
    return { step, to: step.to }
  }
}

/** Situations by their numbers. */
class Numbers {
  /** Of a running instance with nothing around it, by its state: the common case in large machines. */
  readonly #plain: Array<number> = []
  readonly #others = new Map<string, number>()

  /** The number of a situation that is known; otherwise undefined, and it gets this one. */
  register(configuration: Configuration, number: number): number | undefined {
    if (isPlain(configuration)) {
      const known = this.#plain[configuration.state]
      if (known === undefined) this.#plain[configuration.state] = number
      return known
    }
    const key = configurationKey(configuration)
    const known = this.#others.get(key)
    if (known === undefined) this.#others.set(key, number)
    return known
  }
}

const problemOf = ({ outcome }: Step): string =>
  outcome?._tag === "Failed" ? outcome.problem : "the events that the machine sends itself do not end"
