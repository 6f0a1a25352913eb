/** What a machine is told when one of its timeouts is due. It is journaled like any other event. */
import * as Schema from "effect/Schema"
import { describe } from "../MachineError.ts"

export interface TimeoutEvent {
  readonly _tag: "@timeout"
  /** The name given with `.timeout(..., { name })`. */
  readonly name: string
}

export const TimeoutEvent: Schema.Codec<TimeoutEvent, TimeoutEvent> = Schema.Struct({ _tag: Schema.tag("@timeout"), name: Schema.String })

export const timeoutEvent = (name: string): TimeoutEvent => ({ _tag: "@timeout", name })

export const isTimeoutEvent = (event: { readonly _tag: string }): event is TimeoutEvent => event._tag === "@timeout"

/** Names in parentheses are the machine's own: timeouts, and what its work tells it. Nobody is offered to send them. */
export const isOwnEvent = (tag: string): boolean => tag.startsWith("(")

/** How an event is called in errors, traces and diagrams. */
export const eventLabel = (event: { readonly _tag: string }): string => (isTimeoutEvent(event) ? `(${describe(event.name)})` : event._tag)
