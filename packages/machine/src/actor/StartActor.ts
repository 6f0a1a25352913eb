/** Brings an actor to life. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { begin } from "../decide/Decide.ts"
import { compiledOf, initialState } from "../define/Machine.ts"
import { unbuilt } from "../effects/Slot.ts"
import { ActionFailed, type ActorExists, type InvalidState, identified, type SendError } from "../MachineError.ts"
import type { Host } from "./Host.ts"
import { LocalActor } from "./LocalActor.ts"
import type { StateScope } from "./StateScope.ts"

export const startActor = (
  host: Host,
  id: string,
  machine: unknown,
  input: unknown,
  /** What the actor lives no longer than. */
  residence?: StateScope,
): Effect.Effect<LocalActor, SendError | InvalidState | ActorExists> =>
  Effect.withFiber<LocalActor, SendError | InvalidState | ActorExists>((fiber) => {
    const compiled = compiledOf(machine)
    if (compiled.openSlot !== undefined) return Effect.die(unbuilt(compiled.name, compiled.openSlot))
    const environment = host.environment(fiber.context as Context.Context<unknown>)
    const at = environment.clock.currentTimeMillisUnsafe()
    let initial: { readonly _tag: string }
    try {
      initial = initialState(compiled, input)
    } catch (cause) {
      return Effect.fail(new ActionFailed({ machine: compiled.name, id, phase: "decide", state: "(start)", committed: false, cause }))
    }
    const beginning = begin(compiled, initial, at)
    if (beginning._tag === "Refused") return Effect.fail(identified(beginning.error, id))
    const actor = new LocalActor(id, compiled, host, environment, beginning.state, at)
    const taken = host.add(actor)
    if (taken !== undefined) return Effect.fail(taken)
    // Adopted before it begins: its first event may already end the state it belongs to.
    residence?.adopt(actor)
    actor.begin(beginning)
    return Effect.succeed(actor)
  })
