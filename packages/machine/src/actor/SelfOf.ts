/** The actor as its own work sees it. */
import * as Effect from "effect/Effect"
import type { Tagged } from "../define/Declarations.ts"
import type { ActorExists, InvalidState, SendError } from "../error/MachineError.ts"
import type { ActorPort } from "./ActorPort.ts"
import { asVoid, isMessage, outcome } from "./Mailbox.ts"
import type { StateScope } from "./StateScope.ts"

export interface SelfOf {
  readonly id: string
  readonly send: (event: Tagged) => Effect.Effect<void, SendError>
  readonly tell: (event: Tagged) => Effect.Effect<void>
  readonly spawn: (id: string, machine: unknown, input?: unknown) => Effect.Effect<unknown, SendError | InvalidState | ActorExists, unknown>
}

/** Once the scope's state is left, work that still sends something is interrupted: the event belongs to a state that has ended. */
export const selfOf = (actor: ActorPort, scope: StateScope | undefined): SelfOf => ({
  id: actor.record.id,
  send: (event) =>
    Effect.suspend(() => {
      if (scope?.closed === true) return Effect.interrupt
      const offered = actor.offer(event, true)
      if (isMessage(offered) && offered.result === undefined) scope?.queue(offered, undefined)
      return outcome(offered, asVoid)
    }),
  tell: (event) =>
    Effect.suspend(() => {
      if (scope?.closed === true) return Effect.interrupt
      actor.sendInternal(event, scope, undefined)
      return Effect.void
    }),
  spawn: (id, machine, input) =>
    Effect.suspend(() => {
      if (scope?.closed === true) return Effect.interrupt
      return actor.record.host.start(id, machine, input, scope)
    }),
})
