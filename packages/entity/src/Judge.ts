/** Decides whether a transition is taken, and with which entity: checks its criteria and runs its pure processors. */
import { schemaProblem } from "@detent/machine/internal"
import * as Schema from "effect/Schema"
import { failureMessage } from "./EntityError.ts"
import type { PlannedTransition, UntypedRegistry } from "./Plan.ts"
import type { PureContext } from "./Processor.ts"

export type Verdict =
  /** The transition is taken, with this entity. */
  | { readonly _tag: "Taken"; readonly entity: object }
  /** The transition is taken once its processors are done. */
  | { readonly _tag: "Work" }
  /** This criterion does not hold. */
  | { readonly _tag: "Unmet"; readonly criterion: string }
  | { readonly _tag: "Failed"; readonly processor: string; readonly message: string }

/** Evaluates a criterion inside a decision. The answer is recorded, and a replay uses it. */
export type Ask = (criterion: string, entity: object) => boolean

const work: Verdict = { _tag: "Work" }

export type Judge = (transition: PlannedTransition, entity: object, ask: Ask, context: PureContext) => Verdict

export const makeJudge = (check: EntityCheck): Judge => {
  return (transition, entity, ask, context) => {
    const { criteriaAfter, effectful, steps } = transition
    if (!criteriaAfter) {
      const criterion = firstUnmet(transition, entity, ask)
      if (criterion !== undefined) return { _tag: "Unmet", criterion }
    }
    if (effectful) return work
    if (steps.length === 0 && !criteriaAfter) return { _tag: "Taken", entity }
    // A copy, because a processor that mutates its argument must not change the stored entity.
    let draft: object = { ...entity }
    for (const { name, processor } of steps) {
      if (processor._tag !== "Pure") continue
      try {
        draft = processor.run(draft, context)
      } catch (failure) {
        return { _tag: "Failed", processor: name, message: failureMessage(failure) }
      }
    }
    const problem = steps.length === 0 ? undefined : check(draft)
    if (problem !== undefined) return { _tag: "Failed", processor: steps.at(-1)?.name ?? "", message: misfit(problem) }
    const criterion = criteriaAfter ? firstUnmet(transition, draft, ask) : undefined
    return criterion === undefined ? { _tag: "Taken", entity: draft } : { _tag: "Unmet", criterion }
  }
}

/** The first criterion of a transition that does not hold. */
export const firstUnmet = ({ criteria }: PlannedTransition, entity: object, ask: Ask): string | undefined => {
  for (const criterion of criteria) if (!ask(criterion, entity)) return criterion
  return undefined
}

/** Returns the problem with an entity; undefined where it fits. */
export type EntityCheck = (entity: unknown) => string | undefined

export const makeCheck = (entity: UntypedRegistry["entity"]): EntityCheck => {
  const schema = entity as unknown as Schema.Codec<object, unknown>
  const is = Schema.is(schema)
  const decode = Schema.decodeUnknownResult(Schema.toType(schema))
  return (value) => {
    try {
      if (is(value)) return undefined
      const result = decode(value)
      return result._tag === "Failure" ? schemaProblem(schema, result.failure) : "it does not fit its schema"
    } catch (failure) {
      // A processor may return a value that throws when it is read.
      return `it cannot be read: ${failureMessage(failure)}`
    }
  }
}

export const misfit = (problem: string): string => failureMessage(`its result is not a valid entity: ${problem}`)
