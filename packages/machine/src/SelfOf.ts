/** The actor as its own work sees it. */
import * as Effect from "effect/Effect"
import type { ActorCell } from "./ActorCell.ts"
import type { Tagged } from "./Declarations.ts"
import type { ActorExists, SendError } from "./MachineError.ts"
import { asVoid, Message, outcome } from "./Mailbox.ts"
import type { Residence } from "./Residence.ts"
import { startActor } from "./StartActor.ts"

export interface SelfOf {
  readonly id: string
  readonly send: (event: Tagged) => Effect.Effect<void, SendError>
  readonly spawn: (id: string, machine: unknown, input?: unknown) => Effect.Effect<unknown, SendError | ActorExists, unknown>
}

export const selfOf = (actor: ActorCell, residence: Residence | undefined): SelfOf => ({
  id: actor.id,
  send: (event) =>
    Effect.suspend(() => {
      // Work whose state was left is on its way out: whatever it still sends belongs to a state that is no more.
      if (residence?.closed === true) return Effect.interrupt
      const offered = actor.offer(event, true)
      if (offered instanceof Message && offered.result === undefined) residence?.queue(offered, undefined)
      return outcome(offered, asVoid)
    }),
  spawn: (id, machine, input) =>
    Effect.suspend(() => {
      if (residence?.closed === true) return Effect.interrupt
      return Effect.tap(startActor(actor.host, id, machine, input), (child) => Effect.sync(() => residence?.adopt(child)))
    }),
})
