/**
 * The events of an execution. The tag of the record says what happened and to what, so that a history can be read without its
 * bodies (`Activity/charge card`, `ClockSet/reminder`, `Suspended`, `Completed`); the body has the rest.
 */
import type { EventRecord, InstanceKey } from "@detent/store"
import type { StoredTrace } from "../runtime/StoredTrace.ts"
import type { StoredExit } from "./StoredExit.ts"

export type ExecutionEvent =
  /** The start of an execution that completing one of its deferreds has created. */
  | { readonly _tag: "Started"; readonly payload: unknown; readonly parent: InstanceKey | undefined }
  | {
      readonly _tag: "Activity"
      readonly name: string
      readonly attempt: number
      readonly exit: StoredExit
      /** When it was started. */
      readonly startedAt: number
    }
  | { readonly _tag: "Deferred"; readonly name: string; readonly exit: StoredExit }
  | { readonly _tag: "ClockSet"; readonly name: string; readonly due: number }
  | { readonly _tag: "ClockFired"; readonly name: string }
  /** Another execution sleeps until this one ends. */
  | { readonly _tag: "Awaited"; readonly by: InstanceKey }
  /**
   * This execution called another one, which retention may remove before this one ends. Without an exit, the other one was started and its
   * end is not awaited.
   */
  | { readonly _tag: "Called"; readonly name: string; readonly exit: StoredExit | undefined }
  | { readonly _tag: "Suspended"; readonly cause: unknown }
  /** A node runs the execution from now on. Commits of the previous owner conflict with this event. */
  | { readonly _tag: "Resumed"; readonly on: string }
  | { readonly _tag: "Interrupt" }
  | { readonly _tag: "Compensated"; readonly step: string; readonly index: number }
  | { readonly _tag: "Held"; readonly problem: string }
  | { readonly _tag: "Ended"; readonly ending: Ending; readonly exit: StoredExit }

export type Ending = "Completed" | "Failed" | "Interrupted"

/** The input of an execution. */
export interface Origin {
  readonly payload: unknown
  readonly parent?: InstanceKey
  /** The trace of the start, where a tracer is installed. */
  readonly trace?: StoredTrace
}

const endings: ReadonlySet<string> = new Set<Ending>(["Completed", "Failed", "Interrupted"])

/** The name of the deferred that a clock completes. */
export const clockDeferred = (clock: string): string => `DurableClock/${clock}`

/**
 * Whether the event shows that another node runs the execution. Any node may write the others: a completed deferred, a fired clock, an
 * interrupt, a waiting parent or the start.
 */
export const isForeign = (event: ExecutionEvent, owner: string): boolean => {
  switch (event._tag) {
    case "Deferred":
    case "ClockFired":
    case "Interrupt":
    case "Awaited":
    case "Started":
      return false
    case "Resumed":
      return event.on !== owner
    default:
      return true
  }
}

export const tagOf = (event: ExecutionEvent): string => {
  switch (event._tag) {
    case "Activity":
    case "Deferred":
    case "ClockSet":
    case "ClockFired":
    case "Called":
      return `${event._tag}/${event.name}`
    case "Compensated":
      return `Compensated/${event.step}`
    case "Ended":
      return event.ending
    default:
      return event._tag
  }
}

export const bodyOf = (event: ExecutionEvent): string => {
  switch (event._tag) {
    case "Started":
      return JSON.stringify({ payload: event.payload, parent: event.parent })
    case "Activity":
      return JSON.stringify({ attempt: event.attempt, exit: event.exit, startedAt: event.startedAt })
    case "Deferred":
    case "Called":
    case "Ended":
      return JSON.stringify({ exit: event.exit })
    case "ClockSet":
      return JSON.stringify({ due: event.due })
    case "Awaited":
      return JSON.stringify({ by: event.by })
    case "Suspended":
      return event.cause === undefined ? "{}" : JSON.stringify({ cause: event.cause })
    case "Resumed":
      return JSON.stringify({ on: event.on })
    case "Compensated":
      return JSON.stringify({ index: event.index })
    case "Held":
      return JSON.stringify({ problem: event.problem })
    default:
      return "{}"
  }
}

/** Throws an `Error` if the row is not an event. Checks the shape of the body and trusts its fields: only this file writes them. */
export const readEvent = ({ tag, body, sequence }: EventRecord): ExecutionEvent => {
  const slash = tag.indexOf("/")
  const kind = slash < 0 ? tag : tag.slice(0, slash)
  const name = tag.slice(slash + 1)
  const fields = readObject(body, `event ${sequence}`)
  if (endings.has(tag)) return { _tag: "Ended", ending: tag as Ending, exit: exitOf(fields, sequence) }
  switch (kind) {
    case "Started":
      return { _tag: "Started", payload: fields["payload"], parent: fields["parent"] as InstanceKey | undefined }
    case "Activity":
      return {
        _tag: "Activity",
        name,
        attempt: Number(fields["attempt"]),
        exit: exitOf(fields, sequence),
        startedAt: Number(fields["startedAt"]),
      }
    case "Deferred":
      return { _tag: "Deferred", name, exit: exitOf(fields, sequence) }
    case "ClockSet":
      return { _tag: "ClockSet", name, due: Number(fields["due"]) }
    case "ClockFired":
      return { _tag: "ClockFired", name }
    case "Awaited":
      return { _tag: "Awaited", by: fields["by"] as InstanceKey }
    case "Called":
      return { _tag: "Called", name, exit: "exit" in fields ? exitOf(fields, sequence) : undefined }
    case "Suspended":
      return { _tag: "Suspended", cause: fields["cause"] }
    case "Resumed":
      return { _tag: "Resumed", on: String(fields["on"]) }
    case "Interrupt":
      return { _tag: "Interrupt" }
    case "Compensated":
      return { _tag: "Compensated", step: name, index: Number(fields["index"]) }
    case "Held":
      return { _tag: "Held", problem: String(fields["problem"]) }
    default:
      throw new Error(`event ${sequence} is a ${tag}, which no execution writes`)
  }
}

export const readOrigin = (origin: string): Origin => readObject(origin, "the origin") as unknown as Origin

const readObject = (json: string, what: string): Readonly<Record<string, unknown>> => {
  const value: unknown = JSON.parse(json)
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error(`${what} is not an object`)
  return value as Record<string, unknown>
}

const exitOf = (fields: Readonly<Record<string, unknown>>, sequence: number): StoredExit => {
  const exit = fields["exit"]
  if (typeof exit === "object" && exit !== null && ("success" in exit || "failure" in exit)) return exit as StoredExit
  throw new Error(`event ${sequence} holds no exit`)
}
