/** Values to explore a machine with: generated from its schemas, the same for the same seed. */

import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type { Compiled } from "../src/define/Compile.ts"
import type { Tagged } from "../src/define/Declarations.ts"
import { describe } from "../src/error/MachineError.ts"
import { eventProblem } from "../src/Machine.ts"
import { schemaOfVariant } from "../src/schema/EffectSchema.ts"
import type { UntypedVariant } from "../src/schema/Variant.ts"
import type { NotExplored } from "./ExploreReport.ts"

/** Times to decide at: long ago, now, and a while apart, for decisions that compare times. */
const times = [0, 3_600_000, 86_400_000, 1_767_225_600_000, 1_798_761_600_000]

export class Samples {
  readonly states: ReadonlyMap<string, ReadonlyArray<Tagged>>
  readonly events: ReadonlyMap<string, ReadonlyArray<Tagged>>
  readonly missing: Array<NotExplored> = []
  readonly #compiled: Compiled
  readonly #random: (typeof Random.Random)["Service"]

  constructor(compiled: Compiled, seed: string | number, count: number) {
    this.#compiled = compiled
    this.#random = Effect.runSync(Random.withSeed(Effect.service(Random.Random), seed))
    const generate = (kind: string, variants: ReadonlyMap<string, UntypedVariant>) =>
      new Map([...variants].map(([tag, variant]) => [tag, this.#generate(kind, variant, `${seed} ${kind} ${tag}`, count)] as const))
    this.states = generate("state", compiled.declarations.state.$variants)
    this.events = generate("event", compiled.declarations.event.$variants)
  }

  pick<A>(values: ReadonlyArray<A>): A | undefined {
    return values[this.index(values.length)]
  }

  index(length: number): number {
    return Math.floor(this.#random.nextDoubleUnsafe() * length)
  }

  time(): number {
    return this.pick(times) ?? 0
  }

  /**
   * An event for a state. Every other event copies the fields it has in common with the state: a random event would
   * hardly ever concern the same order as the state.
   */
  eventFor(state: Tagged, tag: string): Tagged | undefined {
    const event = this.pick(this.events.get(tag) ?? [])
    if (event === undefined || this.index(2) === 0) return event
    const names = this.#compiled.declarations.event.$variants.get(tag)?.fieldNames.filter((name) => name in state) ?? []
    const related = { ...event, ...Object.fromEntries(names.map((name) => [name, state[name as keyof Tagged]])) }
    return eventProblem(this.#compiled, related) === undefined ? related : event
  }

  #generate(kind: string, variant: UntypedVariant, seed: string, count: number): ReadonlyArray<Tagged> {
    try {
      return Effect.runSync(Arbitrary.sampleEffect(Arbitrary.schema(schemaOfVariant(variant)), { count, seed }))
    } catch (cause) {
      const why = describe(cause)
      this.missing.push({ what: `${kind} ${variant.tag}`, why: `no values can be generated from its schema: ${why}` })
      return []
    }
  }
}
