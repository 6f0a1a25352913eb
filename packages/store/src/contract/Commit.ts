/**
 * A commit of one instance: the events it accepted, with their snapshot, timers and commands. A commit is all or nothing. A store
 * gets many commits together, and one that fails does not affect the others.
 */
import type { PersistenceFailed } from "@detent/machine"

/** The key of an instance. Two machines may use the same id. */
export interface InstanceKey {
  readonly machine: string
  readonly id: string
}

/** Selects instances by shard, a number computed from machine and id. `held` are the selected shards, out of `count`. */
export interface ShardFilter {
  readonly count: number
  readonly held: ReadonlyArray<number>
}

/** JSON text, made and read by the codecs of the machine: a store never looks inside. */
export type Json = string

/** An accepted event as it is journaled. */
export interface EventRecord {
  readonly sequence: number
  /** When it was accepted, in milliseconds since 1970. */
  readonly at: number
  /** The event's tag, or `(name)` for a timeout, as lists and histories show it. */
  readonly tag: string
  readonly body: Json
  /** The idempotency key of this event: a repeated one returns the first result. */
  readonly dedupeId: string | undefined
  /** The sender made the id for this event and uses it for the first time: the store need not look for it. Default: false. */
  readonly isFirst?: boolean | undefined
}

/** The state at a sequence number, so that recovery need not start at the first event. */
export interface SnapshotRecord {
  readonly sequence: number
  readonly at: number
  /** The version of the machine whose codec wrote it. */
  readonly version: number
  readonly body: Json
}

/** A deadline of a state. There is one per instance and name; setting it again replaces it. */
export interface TimerRecord {
  readonly name: string
  /** The sequence at which the deadline was set: tells an old firing from a current one. */
  readonly entry: number
  /** Milliseconds since 1970. */
  readonly due: number
}

/** A requested effect, to be executed by a worker. */
export interface CommandRecord {
  /** The idempotency key: the same key again refers to the first command. */
  readonly key: string
  readonly slot: string
  readonly parameters: Json
  readonly sequence: number
  /** The queue it waits in. Default: the name of the machine. */
  readonly queue?: string
  /** Higher is executed first. Default: 0. */
  readonly priority?: number
  /** It waits until all earlier ordered commands of its instance have ended. */
  readonly ordered?: boolean
}

/** `held`: an event no longer fits the definition; nothing is accepted until it is repaired. */
export type InstanceStatus = "running" | "final" | "stopped" | "held"

/** The record of an instance, which is read without a replay. */
export interface InstanceSummary {
  readonly tag: string
  readonly status: InstanceStatus
  /** Why the instance was stopped or is held. */
  readonly reason: string | undefined
  readonly version: number
  /** Whether it runs and its state has work, which one node must run, also after a restart. */
  readonly needsOwner: boolean
  /**
   * The node that runs the work of its state. In a commit: the node that becomes the owner; undefined keeps the owner that it has, for as
   * long as it needs one. In a record: undefined where it needs none, and while no node has taken it over.
   */
  readonly owner: string | undefined
  /** Whether it is an execution that has ended and whose parents may not have been notified. */
  readonly owes: boolean
}

/**
 * Proof of holding a lease: a store refuses a commit whose token is not the newest. Commits of one batch that share one fence are
 * checked together, at the cost of one lookup.
 */
export interface Fence {
  readonly lease: string
  readonly token: number
}

export interface Commit extends InstanceKey {
  /** The sequence that the stored instance must be at; -1 for an instance that does not exist yet. */
  readonly expected: number
  /**
   * When the instance was started, if it exists. A store refuses the commit if that instance was removed since, even if another one
   * of the same id is at the expected sequence. Undefined: the commit is for any instance of that id.
   */
  readonly startedAt?: number | undefined
  /**
   * The revision of the journal that the commit was decided on. With `startedAt`, a store refuses the commit if an event was rewritten
   * since. Default: 0, no event was rewritten.
   */
  readonly revision?: number | undefined
  /** The sequence of the instance after the commit. */
  readonly sequence: number
  readonly at: number
  readonly summary: InstanceSummary
  /** For a new instance: its input or first state. */
  readonly origin: Json | undefined
  readonly events: ReadonlyArray<EventRecord>
  readonly snapshot: SnapshotRecord | undefined
  /** Names of timers that end with this commit; `all` clears every timer that is not set anew. */
  readonly clearTimers: "all" | ReadonlyArray<string>
  readonly setTimers: ReadonlyArray<TimerRecord>
  readonly commands: ReadonlyArray<CommandRecord>
  readonly fence: Fence | undefined
  /** The values of its indexed fields by name, as JSON, where they have changed. Undefined: they stay as they are. */
  readonly fields?: Json | undefined
}

/** The outcome of one commit. If several apply, `Fenced` comes before `Duplicate`, and `Duplicate` before `Conflict`. */
export type CommitOutcome =
  | { readonly _tag: "Stored" }
  /**
   * Another commit was stored since, or an event was rewritten: `actual` is the stored sequence (-1: there is no such instance, or one that
   * was started later).
   */
  | { readonly _tag: "Conflict"; readonly actual: number }
  /** One of the dedupe ids is already journaled, at `sequence`. */
  | { readonly _tag: "Duplicate"; readonly dedupeId: string; readonly sequence: number }
  /** The fence's token is not, or no longer, the newest of its lease. */
  | { readonly _tag: "Fenced"; readonly newest: number }
  /** The store refuses the content of this commit; the others of the batch are not affected. */
  | PersistenceFailed
