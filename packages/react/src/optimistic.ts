/**
 * Decides events in the page by the machine itself, which the page then loads. Separate from the hooks, so that a page without it does not
 * pay for it.
 */
// A page decides with its own clock; the server decides with the recorded time.
// @effect-diagnostics globalDate:off
import type { EventOf, StateOf } from "@detent/client"
import { Machine, schemaOf } from "@detent/machine"
import { compiledOf } from "@detent/machine/internal"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { Decide } from "./InstanceStore.ts"

type AnyDefinition = Machine.Definition<unknown, unknown, never, unknown, unknown>

const unknown = { _tag: "Unknown" } as const

/** A machine whose guards are built in. */
export const optimistic = <M extends AnyDefinition>(machine: M): Decide<StateOf<M>, EventOf<M>> => {
  const { declarations } = compiledOf(machine)
  const states = Schema.toCodecJson(schemaOf(declarations.state as never)) as unknown as Schema.Codec<never, unknown>
  const events = Schema.toCodecJson(schemaOf(declarations.event as never)) as unknown as Schema.Codec<never, unknown>
  const decodeState = Schema.decodeUnknownResult(states)
  const decodeEvent = Schema.decodeUnknownResult(events)
  const encodeState = Schema.encodeUnknownResult(states)
  return (state, event) => {
    const from = decodeState(state)
    const sent = decodeEvent(event)
    // A sensitive field is hidden from the page, so that only the server can decide.
    if (Result.isFailure(from)) return unknown
    if (Result.isFailure(sent)) return { _tag: "Refused", message: String(sent.failure) }
    const decision = Machine.decide(
      machine as unknown as Machine.Definition<never, never, never, never>,
      from.success,
      sent.success,
      Date.now(),
    )
    switch (decision._tag) {
      case "Goto":
      case "Stay":
      case "Stop": {
        const reached = encodeState(decision.state)
        return Result.isFailure(reached) ? unknown : { _tag: "Taken", state: reached.success as StateOf<M> }
      }
      case "Refused":
        return { _tag: "Refused", message: decision.error.message }
      default:
        return unknown
    }
  }
}
