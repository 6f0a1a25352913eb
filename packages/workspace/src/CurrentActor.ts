/**
 * Who acts: it is kept with what the operation changes. A server sets it for each request. Default: the user of the operating system, who
 * runs a command.
 */
import { userInfo } from "node:os"
import { type Actor, CurrentActor } from "@detent/durable"
import * as Effect from "effect/Effect"

const ownUser = (): Actor => {
  try {
    return { kind: "user", name: userInfo().username }
  } catch {
    // A container may run under an id that has no name.
    return { kind: "user", name: `${process.getuid?.() ?? "unknown"}` }
  }
}

export const actor: Effect.Effect<Actor> = Effect.map(CurrentActor, (current) => current ?? ownUser())
