/** Effect slots inside `spawn`, `task` and `background`: calling one runs it there. */
import * as Effect from "effect/Effect"
import type { ActorPort } from "../actor/ActorPort.ts"
import { selfOf } from "../actor/SelfOf.ts"
import type { StateScope } from "../actor/StateScope.ts"
import { commandKey } from "./Command.ts"
import { asEffect } from "./Slot.ts"

export const runCalls = (actor: ActorPort, scope: StateScope): object => {
  const { record } = actor
  const { effectSlots, handlers } = record.compiled.declarations
  const self = selfOf(actor, scope)
  const { sequence } = record
  let calls = 0
  return Object.fromEntries(
    Object.keys(effectSlots).map((slot) => [
      slot,
      (parameters: object = {}) =>
        Effect.suspend(() => {
          const key = `${commandKey(record.machine, `${record.id}@${record.startedAt}`, sequence, calls++)}/${slot}`
          return asEffect(record.machine, slot, handlers?.[slot]?.(parameters, { id: record.id, state: record.currentState, self, key }))
        }),
    ]),
  )
}
