/** Carries out requested effects in memory. They go on when the state, or even the actor, is left. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { actionFailed, describeCause, inspect, report } from "./ActorReport.ts"
import type { Request } from "./Decision.ts"
import type { Living } from "./Living.ts"
import { selfOf } from "./SelfOf.ts"
import { asEffect } from "./SlotCalls.ts"

export const execute = (actor: Living, { slot, parameters }: Request, ended: () => void) => {
  const handler = actor.compiled.declarations.handlers?.[slot]
  const context = { id: actor.id, state: actor.currentState, self: selfOf(actor, undefined) }
  inspect(actor, () => ({ _tag: "CommandStarted", slot }))
  const command = actor.environment.run(Effect.suspend(() => asEffect(actor.machine, slot, handler?.(parameters, context))))
  actor.host.track(command)
  command.addObserver((exit) => {
    const failed = Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)
    const error = failed
      ? actionFailed(actor, "effect", new Error(`${slot}: ${describeCause(exit.cause)}`, { cause: Cause.squash(exit.cause) }), undefined)
      : undefined
    if (error !== undefined) report(actor, error)
    inspect(actor, () => ({ _tag: "CommandEnded", slot, error }))
    ended()
  })
}
