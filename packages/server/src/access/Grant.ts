/** What a request may do: the role and the scope of the token that it was sent with. */
import type { IncomingMessage } from "node:http"

/** `read` only reads; `operate` may also change things. */
export type AccessRole = "read" | "operate"

/** One instance: its state, its events as they come, and the events that may be sent to it. */
export interface InstanceScope {
  readonly machine: string
  readonly id: string
  readonly read: boolean
  /** The tags of the events that may be sent. */
  readonly events: ReadonlyArray<string>
}

export interface Grant {
  readonly role: AccessRole
  /** Undefined: everything that the role may do. */
  readonly instance?: InstanceScope
  /** When the grant ends, in milliseconds since 1970. A stream that it opened is closed then. */
  readonly expiresAt?: number
}

/** Returns why a request for an address is outside the scope of its token, or undefined. The events that it sends are checked later. */
export const scopeRefusal = (grant: Grant, { method = "GET" }: Pick<IncomingMessage, "method">, path: string): string | undefined => {
  const { instance } = grant
  if (instance === undefined || isOfInstance(instance, method, path)) return undefined
  return `this token may only ${scopeText(instance)}; ask the server that made it for a token with another scope`
}

/** Returns why an event may not be sent, or undefined. */
export const eventRefusal = (grant: Grant | undefined, event: string): string | undefined => {
  const events = grant?.instance?.events
  if (events === undefined || events.includes(event)) return undefined
  return `this token may not send ${event}; it may send ${events.join(", ")}: ask the server that made the token for one with this event`
}

/** Reads of an instance by a token of its scope. */
const readable = new Set(["", "legal-events", "events"])

const isOfInstance = ({ machine, id, read, events }: InstanceScope, method: string, path: string): boolean => {
  const [, api, version, group, ofMachine, ofId, part = "", ...more] = path.split("/")
  if (api !== "api" || version !== "v1" || group !== "instances" || more.length > 0) return false
  if (ofMachine === undefined || ofId === undefined || decoded(ofMachine) !== machine || decoded(ofId) !== id) return false
  if (method === "GET" || method === "HEAD") return read && readable.has(part)
  return method === "POST" && part === "events" && events.length > 0
}

const decoded = (segment: string): string | undefined => {
  try {
    return decodeURIComponent(segment)
  } catch {
    // It throws for anything but percent-encoded UTF-8, which no token names.
    return undefined
  }
}

const scopeText = ({ machine, id, read, events }: InstanceScope): string =>
  [...(read ? ["read"] : []), ...(events.length === 0 ? [] : [`send ${events.join(", ")} to`])].join(" and ").concat(` ${machine}/${id}`)
