/** The actor as its own work sees it. */
import * as Effect from "effect/Effect"
import type { Tagged } from "../define/Declarations.ts"
import type { ActorExists, InvalidState, SendError } from "../MachineError.ts"
import type { ActorPort } from "./ActorPort.ts"
import { asVoid, Message, outcome } from "./Mailbox.ts"
import { startActor } from "./StartActor.ts"
import type { StateScope } from "./StateScope.ts"

export interface SelfOf {
  readonly id: string
  readonly send: (event: Tagged) => Effect.Effect<void, SendError>
  readonly tell: (event: Tagged) => Effect.Effect<void>
  readonly spawn: (id: string, machine: unknown, input?: unknown) => Effect.Effect<unknown, SendError | InvalidState | ActorExists, unknown>
}

export const selfOf = (actor: ActorPort, residence: StateScope | undefined): SelfOf => ({
  id: actor.id,
  send: (event) =>
    Effect.suspend(() => {
      // Work whose state was left is on its way out: whatever it still sends belongs to a state that is no more.
      if (residence?.closed === true) return Effect.interrupt
      const offered = actor.offer(event, true)
      if (offered instanceof Message && offered.result === undefined) residence?.queue(offered, undefined)
      return outcome(offered, asVoid)
    }),
  tell: (event) =>
    Effect.suspend(() => {
      if (residence?.closed === true) return Effect.interrupt
      actor.sendInternal(event, residence, undefined)
      return Effect.void
    }),
  spawn: (id, machine, input) =>
    Effect.suspend(() => {
      if (residence?.closed === true) return Effect.interrupt
      return startActor(actor.host, id, machine, input, residence)
    }),
})
