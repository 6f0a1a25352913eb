/** Starts an actor. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { unbuilt } from "../effects/Slot.ts"
import { type ActorExists, InvalidState, identified, idProblem, type SendError } from "../error/MachineError.ts"
import { compiledOf, firstState } from "../Machine.ts"
import type { Host } from "./Host.ts"
import { LocalActor } from "./LocalActor.ts"
import type { StateScope } from "./StateScope.ts"

export const startActor = (
  host: Host,
  id: string,
  machine: unknown,
  input: unknown,
  /** The actor ends with this scope. */
  scope?: StateScope,
): Effect.Effect<LocalActor, SendError | InvalidState | ActorExists> =>
  Effect.withFiber<LocalActor, SendError | InvalidState | ActorExists>((fiber) => {
    const compiled = compiledOf(machine)
    if (compiled.openSlot !== undefined) return Effect.die(unbuilt(compiled.name, compiled.openSlot))
    const problem = idProblem(id)
    if (problem !== undefined) return Effect.fail(new InvalidState({ machine: compiled.name, state: "(start)", problem }))
    const environment = host.environment(fiber.context as Context.Context<unknown>)
    const at = environment.clock.currentTimeMillisUnsafe()
    const beginning = firstState(compiled, input, at)
    if (beginning._tag === "Refused") return Effect.fail(identified(beginning.error, id))
    const actor = new LocalActor(id, compiled, host, environment, beginning.state, at)
    const taken = host.add(actor)
    if (taken !== undefined) return Effect.fail(taken)
    // Adopted before it begins: its first event may already end the state it belongs to.
    scope?.adopt(actor.record, actor)
    actor.begin(beginning)
    return Effect.succeed(actor)
  })
