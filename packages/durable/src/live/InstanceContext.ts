/** The parts of the engine that a live instance uses. */

import type { EventReplayError, PersistenceFailed, SendError, Taken } from "@detent/machine"
import type { Host, Tagged } from "@detent/machine/internal"
import type { InstanceKey, InstanceRecord, OpenedInstance, TimerRecord } from "@detent/store"
import type { InstanceLife } from "@detent/store/internal"
import type * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Schedule from "effect/Schedule"
import type { Envelope } from "../machine/Envelope.ts"
import type { CommitContext } from "../machine/InstanceCommit.ts"
import type { RegisteredMachine } from "../machine/MachineRegistry.ts"
import type { Recovered } from "../machine/Replay.ts"
import type { AcquireLock } from "../nodes/HeldLease.ts"
import type { Tracing } from "../runtime/Telemetry.ts"

/** An instance as the journal has it now. */
export interface Reloaded {
  readonly opened: OpenedInstance
  readonly recovered: Recovered
}

/** The outcome of the event that was first sent under an id. */
export interface FirstOutcome {
  readonly sequence: number
  readonly taken: Taken<Tagged, Tagged>
}

/** The interface of a live instance for the parts of the engine that it calls. */
export interface InstanceEntry {
  readonly key: InstanceKey
  /** `instanceName(key)`, made once. */
  readonly name: string
}

export interface InstanceContext extends CommitContext {
  readonly host: Host
  /** Whether the engine has stopped, or only observes: nothing is started. */
  readonly isClosed: () => boolean
  /** Whether the instance is placed on this node. An instance of another node is only read here. */
  readonly isLocal: (key: InstanceKey) => boolean
  /**
   * Whether this is the instance that the node decides and works with. One that was read while another node had it is not, even after its key
   * has come to this node: it only shows its callers what the journal has.
   */
  readonly isKept: (instance: InstanceEntry) => boolean
  /** How long callers wait for a failing store before they get the error. */
  readonly storeTimeoutMillis: number
  /** The schedule on which state work is started again after it failed because of the store. */
  readonly outageRetry: Schedule.Schedule<unknown>
  /** The same after a failure of its own, for machines without supervision. A durable instance must not lose its work for good. */
  readonly workRetry: Schedule.Schedule<unknown>
  readonly tracing: Tracing | undefined
  /** Makes this node the owner of an instance that is being opened, if its owner is not alive. Returns the owner after that. */
  readonly claimWork: (record: InstanceRecord) => Effect.Effect<string | undefined, PersistenceFailed>
  /** Takes the lock of an instance; undefined where instances are not locked. */
  readonly lock: AcquireLock | undefined
  readonly loader: {
    readonly reload: (
      machine: RegisteredMachine,
      key: InstanceKey,
    ) => Effect.Effect<Reloaded | undefined, EventReplayError | PersistenceFailed>
    /** The outcome of the event of a dedupe id, if it is journaled. */
    readonly firstOutcome: (
      machine: RegisteredMachine,
      key: InstanceKey,
      dedupeId: string,
    ) => Effect.Effect<FirstOutcome | undefined, EventReplayError | PersistenceFailed>
  }
  readonly timers: {
    /** Replaces the armed timers of an instance. */
    readonly arm: (instance: InstanceEntry, timers: ReadonlyMap<string, TimerRecord>) => void
    /** The event of a timer is stored. */
    readonly stored: (name: string, timer: TimerRecord) => void
    readonly stale: (key: InstanceLife, timer: TimerRecord) => void
    /** No self-sent event of this timer row has to be handled any more. */
    readonly handled: (key: InstanceLife, timer: TimerRecord) => void
    readonly refused: (key: InstanceLife, timer: TimerRecord, error: SendError) => void
  }
  /** Removes events that a snapshot covers. Events up to `after` are removed already. */
  readonly prune: (key: InstanceKey, through: number, after: number, pruned: () => void) => void
  /** A commit has ended, or the instance is idle again. */
  readonly settled: () => void
  /** The instance is no longer in memory. */
  readonly gone: (instance: InstanceEntry) => void
  /** Opens an instance again when the store answers: it left memory in an outage and still has work or self-sent events. */
  readonly bringBack: (key: InstanceKey) => void
  /** Asks the owner node to open the instance, because it has work to do there. */
  readonly wake: (key: InstanceKey) => void
  /** Delivers events to the instance that has the id now. If there is none, their senders get the error. */
  readonly sendOn: (key: InstanceKey, envelopes: ReadonlyArray<Envelope>, error: SendError) => void
  /** Work of the instance has started or ended here. While it runs, this node must notice commits of other nodes. */
  readonly working: (instance: InstanceEntry, isWorking: boolean) => void
  /** Events of the instance are postponed here, or no longer. While they are, this node must notice commits of other nodes. */
  readonly postponing: (instance: InstanceEntry, isPostponing: boolean) => void
  /** Work of the instance was stopped and takes time to end. The instance may leave memory before that. */
  readonly workEnding: (instance: InstanceEntry, ending: Fiber.Fiber<void>) => void
  /** This node changed an instance whose work runs on another node. */
  readonly changedForeign: (key: InstanceKey) => void
}
