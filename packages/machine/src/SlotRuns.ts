/** Effect slots as `spawn`, `task` and `background` see them: calling one runs it there and then. */
import * as Effect from "effect/Effect"
import type { Living } from "./Living.ts"
import type { Residence } from "./Residence.ts"
import { selfOf } from "./SelfOf.ts"
import { asEffect } from "./SlotCalls.ts"

export const runCalls = (actor: Living, residence: Residence): object => {
  const { effectSlots, handlers } = actor.compiled.declarations
  const self = selfOf(actor, residence)
  return Object.fromEntries(
    Object.keys(effectSlots).map((slot) => [
      slot,
      (parameters: object = {}) =>
        Effect.suspend(() =>
          asEffect(actor.machine, slot, handlers?.[slot]?.(parameters, { id: actor.id, state: actor.currentState, self })),
        ),
    ]),
  )
}
