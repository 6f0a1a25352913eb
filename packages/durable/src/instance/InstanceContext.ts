/** What an instance needs of the engine that keeps it. */
import type { EventReplayError, PersistenceFailed, Taken } from "@detent/machine"
import type { Host, Tagged } from "@detent/machine/internal"
import type * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import type { LockHolder } from "../engine/InstanceLock.ts"
import type { RegisteredMachine } from "../engine/MachineRegistry.ts"
import type { Tracing } from "../engine/Tracing.ts"
import type { GroupCommit } from "../runtime/GroupCommit.ts"
import type { InstanceKey, TimerRecord } from "../store/Commit.ts"
import type { JournalService, OpenedInstance } from "../store/Journal.ts"
import type { InstanceLife } from "./InstanceLife.ts"
import type { Recovered } from "./Replay.ts"

/** An instance as the journal has it now. */
export interface Reloaded {
  readonly opened: OpenedInstance
  readonly recovered: Recovered
}

/** What an event that was sent under an id came to. */
export interface FirstOutcome {
  readonly sequence: number
  readonly taken: Taken<Tagged, Tagged>
}

export interface InstanceContext {
  readonly host: Host
  readonly committer: GroupCommit
  /** Nothing is started here any more, or ever was: the engine has stopped, or only observes. */
  readonly isClosed: boolean
  /** What an event that met a newer sequence does. */
  readonly onConflict: "reload" | "fail"
  readonly journal: JournalService
  /** For how long a store that cannot be written is asked again before senders are told. */
  readonly storeTimeoutMillis: number
  /** How often and how long a store that failed is asked again. */
  readonly doubt: Schedule.Schedule<unknown>
  /** Who is told of what happens here; undefined where nobody is. */
  readonly tracing: Tracing | undefined
  /** When work is started again that the store stood in the way of. */
  readonly outage: Schedule.Schedule<unknown>
  /** Takes the lock of an instance; undefined where instances are not locked. */
  readonly lock: ((key: InstanceKey) => LockHolder) | undefined
  readonly reload: (
    registered: RegisteredMachine,
    key: InstanceKey,
  ) => Effect.Effect<Reloaded | undefined, EventReplayError | PersistenceFailed>
  /** What the event of a dedupe id came to, if it is journaled. */
  readonly firstOutcome: (
    registered: RegisteredMachine,
    key: InstanceKey,
    dedupeId: string,
  ) => Effect.Effect<FirstOutcome | undefined, EventReplayError | PersistenceFailed>
  /** The timers of an instance are now these. */
  readonly arm: (cell: InstanceLife, timers: ReadonlyMap<string, TimerRecord>) => void
  /** What a timer led to is stored. */
  readonly timerStored: (cell: InstanceLife, timer: TimerRecord) => void
  readonly timerStale: (key: InstanceKey, timer: TimerRecord) => void
  readonly timerRefused: (key: InstanceKey, timer: TimerRecord) => void
  /** Events that a snapshot covers are no longer wanted; those up to `after` are gone already. */
  readonly prune: (key: InstanceKey, through: number, after: number, pruned: () => void) => void
  /** Something was stored or has come to its end: whoever waits for that looks again. */
  readonly settled: () => void
  /** The instance is no longer in memory. */
  readonly gone: (cell: InstanceLife) => void
  /** It had to leave memory because of the store, and has something to go on with: it is brought back when the store answers. */
  readonly bringBack: (key: InstanceKey) => void
}
