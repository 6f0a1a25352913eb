/** What a request may do: the role and the scope of the token that it was sent with. */
import type { IncomingMessage } from "node:http"
import type { Actor } from "@detent/durable"
import type { AccessToken } from "@detent/workspace/AccessTokens"

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

/** Some machines: their instances and drawings. */
export interface MachineScope {
  readonly machines: ReadonlyArray<string>
  /** The tags of the events that may be sent, and nothing else may be changed. Undefined: everything that the role may do to an instance. */
  readonly events?: ReadonlyArray<string>
}

export interface Grant {
  readonly role: AccessRole
  /** Who sends the request: kept with what it changes. */
  readonly actor: Actor
  /** Undefined: everything that the role may do. */
  readonly instance?: InstanceScope
  readonly machines?: MachineScope
  /** When the grant ends, in milliseconds since 1970. A stream that it opened is closed then. */
  readonly expiresAt?: number
}

/** Returns why a request for an address is outside the scope of its token, or undefined. The events that it sends are checked later. */
export const scopeRefusal = (grant: Grant, { method = "GET" }: Pick<IncomingMessage, "method">, path: string): string | undefined => {
  const { instance, machines } = grant
  if (machines !== undefined && !isOfMachines(machines, method, path)) return `${machinesText(machines)}; ${askOperator}`
  if (instance === undefined || isOfInstance(instance, method, path)) return undefined
  return `this token may only ${scopeText(instance)}; ask the server that made it for a token with another scope`
}

/** The grant of a named token. */
export const grantOfToken = ({ name, role, machines, events, expiresAt }: AccessToken): Grant => ({
  role,
  actor: { kind: "token", name },
  ...(machines === undefined ? {} : { machines: { machines, ...(events === undefined ? {} : { events }) } }),
  ...(expiresAt === undefined ? {} : { expiresAt }),
})

const askOperator = "ask the operator of the server for a token with another scope"

/** Returns why an event may not be sent, or undefined. */
export const eventRefusal = (grant: Grant | undefined, event: string): string | undefined => {
  const ofMachines = grant?.machines?.events
  if (ofMachines !== undefined && !ofMachines.includes(event))
    return `this token may not send ${event}; it may send ${ofMachines.join(", ")}: ${askOperator}`
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

/**
 * Addresses of the instances of a machine, and of the machine itself. Lists of all machines, and requests that name the machine elsewhere,
 * are outside: only an address shows what a request is about.
 */
const isOfMachines = ({ machines, events }: MachineScope, method: string, path: string): boolean => {
  const [, api, version, group, ofMachine, , part = "", ...more] = path.split("/")
  const isReading = method === "GET" || method === "HEAD"
  // The address of a bulk send, which may be to any machine, also where a machine has this name.
  if (ofMachine === "bulk" && !isReading) return false
  if (api !== "api" || version !== "v1" || ofMachine === undefined || !machines.includes(decoded(ofMachine) ?? ""))
    return path === sessionPath
  if (group !== "instances") return group === "machines" && isReading
  return isReading || events === undefined || (method === "POST" && part === "events" && more.length === 0)
}

/** Shows the caller its own role. */
const sessionPath = "/api/v1/session"

const machinesText = ({ machines, events }: MachineScope): string => {
  const sending = events === undefined ? "" : `, and send ${events.join(", ")} to them`
  return `this token may only read instances of ${machines.join(", ")}${sending === "" ? " and what its role may do to them" : sending}`
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
