/** Decisions that change nothing, and the error that says why. */
import type { Compiled, Node } from "../define/Compile.ts"
import type { Tagged } from "../define/Declarations.ts"
import { ActionFailed, EndlessTransition, InvalidTransition, MachineStopped, type Phase, TransitionRefused } from "../MachineError.ts"
import type { Postponed, Refused } from "./Decision.ts"
import type { Frame } from "./Frame.ts"
import { eventLabel, isOwnEvent } from "./Timeout.ts"

/** Runs a user's function; what it throws becomes a decision that changes nothing. */
export const attempt = <A>(compiled: Compiled, frame: Frame, event: Tagged, phase: Phase, run: () => A): A | Refused<Tagged, Tagged> => {
  try {
    return run()
  } catch (cause) {
    return failed(compiled, frame.state, event, frame.phaseOf(cause, phase), cause)
  }
}

export const unhandled = (
  compiled: Compiled,
  node: Node,
  state: Tagged,
  event: Tagged,
): Refused<Tagged, Tagged> | Postponed<Tagged, Tagged> => {
  if (node.postponed.has(event._tag)) return { _tag: "Postponed", from: state, event }
  if (!node.final) return invalid(compiled, state, event)
  return {
    _tag: "Refused",
    from: state,
    event,
    error: new MachineStopped({ machine: compiled.name, state: state._tag, reason: `${state._tag} is a final state` }),
  }
}

export const invalid = (compiled: Compiled, state: Tagged, event: Tagged): Refused<Tagged, Tagged> => {
  const node = compiled.nodes.get(state?._tag)
  const accepted = node === undefined ? [] : [...node.on.keys(), ...node.postponed].filter((tag) => !isOwnEvent(tag))
  const error = new InvalidTransition({ machine: compiled.name, state: String(state?._tag), event: eventLabel(event), accepted })
  return { _tag: "Refused", from: state, event, error }
}

export const refused = (compiled: Compiled, state: Tagged, event: Tagged, reason: string): Refused<Tagged, Tagged> => ({
  _tag: "Refused",
  from: state,
  event,
  error: new TransitionRefused({ machine: compiled.name, state: state._tag, event: eventLabel(event), reason }),
})

export const failed = (compiled: Compiled, state: Tagged, event: Tagged, phase: Phase, cause: unknown): Refused<Tagged, Tagged> => ({
  _tag: "Refused",
  from: state,
  event,
  error: new ActionFailed({ machine: compiled.name, phase, state: state._tag, event: eventLabel(event), committed: false, cause }),
})

export const endless = (compiled: Compiled, frame: Frame, event: Tagged, through: ReadonlyArray<Tagged>): Refused<Tagged, Tagged> => ({
  _tag: "Refused",
  from: frame.state,
  event,
  error: new EndlessTransition({
    machine: compiled.name,
    state: frame.state._tag,
    event: eventLabel(event),
    path: through.slice(-6).map((state) => state._tag),
  }),
})
