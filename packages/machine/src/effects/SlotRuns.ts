/** Effect slots as `spawn`, `task` and `background` see them: calling one runs it there and then. */
import * as Effect from "effect/Effect"
import type { ActorPort } from "../actor/ActorPort.ts"
import { selfOf } from "../actor/SelfOf.ts"
import type { StateScope } from "../actor/StateScope.ts"
import { commandKey } from "./Command.ts"
import { asEffect } from "./Slot.ts"

export const runCalls = (actor: ActorPort, residence: StateScope): object => {
  const { effectSlots, handlers } = actor.compiled.declarations
  const self = selfOf(actor, residence)
  const { sequence } = actor.snapshotUnsafe()
  let calls = 0
  return Object.fromEntries(
    Object.keys(effectSlots).map((slot) => [
      slot,
      (parameters: object = {}) =>
        Effect.suspend(() => {
          const key = `${commandKey(actor.machine, `${actor.id}@${actor.startedAt}`, sequence, calls++)}/${slot}`
          return asEffect(actor.machine, slot, handlers?.[slot]?.(parameters, { id: actor.id, state: actor.currentState, self, key }))
        }),
    ]),
  )
}
