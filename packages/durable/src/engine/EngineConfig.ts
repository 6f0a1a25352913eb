/** The options of an engine. Each has a default. */
import { RetryPolicy } from "@detent/machine"
import * as Duration from "effect/Duration"
import type { Limits } from "../machine/InstanceCommit.ts"
import type { LockConfig } from "../nodes/HeldLease.ts"
import { defaultLease, shortestLease } from "../nodes/Placement.ts"
import { atLeast, checkedNodeId } from "../runtime/Options.ts"

export interface SweeperOptions {
  /**
   * The wait between sweeps where no timer comes due earlier; after a sweep that found nothing, three times as long. Up to a fifth is
   * added at random, so that nodes do not sweep in step. Default: 5 seconds.
   */
  readonly interval?: Duration.Input
  /** How many timers are claimed in one statement. Default: 100. */
  readonly batchSize?: number
  /** How long a claimed timer belongs to the node that claimed it. Default: 30 seconds. */
  readonly claimDuration?: Duration.Input
  /**
   * How often a timer that fails to fire is tried; after the last attempt it is a dead letter. Default: `RetryPolicy.standard`, for about
   * a day.
   */
  readonly retry?: RetryPolicy.RetryPolicy
}

/** The options that concern instances. */
export interface InstanceOptions {
  /**
   * The name of this node in claims and locks, and as owner of state work. With the same name after a restart, a
   * process that was killed resumes its work immediately, on any host. Default: a name of this process.
   */
  readonly nodeId?: string
  /**
   * How long a node without a heartbeat keeps its work. After that other nodes take it over.
   * Default: 10 seconds.
   */
  readonly lease?: Duration.Input
  /**
   * Each instance is locked while it decides and stores events: `defaultLock`, `fastLock`, `longRunningLock`, or one of your own. Default:
   * no locks; a commit names the sequence it expects, and an event that meets a newer one is decided again.
   */
  readonly lock?: LockConfig
  /** Instances leave memory when they were not used for this long. Default: 5 minutes. */
  readonly passivateAfter?: Duration.Input
  /**
   * How long `start`, `ensure`, `get`, `restore` and senders wait for a failing store before they get the error, whether the instance
   * is in memory or not. Default: 10 seconds.
   */
  readonly storeTimeout?: Duration.Input
  /**
   * How often the store is asked whether another process has changed instances whose work runs here, in which events are postponed,
   * or that callers wait for with `changes`, `waitFor` or `awaitFinal`. One statement for all of them. Default: 500 milliseconds.
   */
  readonly followInterval?: Duration.Input
  /** How long a stop waits for accepted events. Default: 30 seconds. */
  readonly drainTimeout?: Duration.Input
  /** Of sizes and numbers. Larger events, parameters and first states are refused before anything is stored. */
  readonly limits?: {
    /** Characters of an event as JSON, and of the parameters of a command. Default: 4,000,000. */
    readonly eventSize?: number
    /** Characters of a first state as JSON. A larger snapshot of a later state is left out. Default: 4,000,000. */
    readonly stateSize?: number
    /** Events that wait for one instance. Default: 100,000. */
    readonly mailbox?: number
    /** Instances in memory. With more, those that were used least recently leave, unless they work or are followed. Default: 100,000. */
    readonly instances?: number
  }
  readonly sweeper?: SweeperOptions
  /** `false`: the work of an instance starts here when a caller uses the instance, not because the process starts. */
  readonly resume?: boolean
  /**
   * `false`: this process runs no state work, and is no node. A list: it only runs that of these machines. An instance of another
   * machine that enters a state with work here keeps the owner of the state before; without one, the next process that runs the
   * work takes it over. For a process that sends events and ends. Not for a node of a cluster. Default: the work of all machines.
   */
  readonly work?: boolean | ReadonlyArray<string>
  /** Only reads, beside a process that works: nothing is resumed, fired or executed here, and every write is refused. */
  readonly observe?: boolean
}

export interface EngineConfig {
  readonly nodeId: string
  readonly passivateAfterMillis: number
  readonly storeTimeout: Duration.Duration
  readonly followMillis: number
  readonly leaseMillis: number
  readonly drainTimeout: Duration.Duration
  readonly resume: boolean
  /** Whether this process runs the state work of a machine. */
  readonly runsWork: (machine: string) => boolean
  readonly limits: Limits
  readonly sweeper: {
    readonly intervalMillis: number
    readonly batchSize: number
    readonly claimMillis: number
    readonly retry: RetryPolicy.RetryPolicy
  }
}

const millis = (duration: Duration.Input) => Duration.toMillis(Duration.fromInputUnsafe(duration))

const workOf = (work: NonNullable<InstanceOptions["work"]>): EngineConfig["runsWork"] => {
  if (typeof work === "boolean") return () => work
  const machines = new Set(work)
  return (machine) => machines.has(machine)
}

/** Throws a `DefinitionError` for an option with which no engine could work. */
export const engineConfig = (options: InstanceOptions, nodeId: string): EngineConfig => ({
  nodeId: checkedNodeId(options.nodeId ?? nodeId),
  passivateAfterMillis: millis(options.passivateAfter ?? "5 minutes"),
  storeTimeout: Duration.fromInputUnsafe(options.storeTimeout ?? "10 seconds"),
  followMillis: millis(options.followInterval ?? "500 millis"),
  leaseMillis: atLeast(shortestLease, "lease (in milliseconds)", millis(options.lease ?? defaultLease)),
  drainTimeout: Duration.fromInputUnsafe(options.drainTimeout ?? "30 seconds"),
  resume: options.resume ?? true,
  runsWork: workOf(options.work ?? true),
  limits: {
    eventSize: atLeast(1, "limits.eventSize", options.limits?.eventSize ?? 4_000_000),
    stateSize: atLeast(1, "limits.stateSize", options.limits?.stateSize ?? 4_000_000),
    mailbox: atLeast(1, "limits.mailbox", options.limits?.mailbox ?? 100_000),
    instances: atLeast(1, "limits.instances", options.limits?.instances ?? 100_000),
  },
  sweeper: {
    intervalMillis: millis(options.sweeper?.interval ?? "5 seconds"),
    batchSize: atLeast(1, "sweeper.batchSize", options.sweeper?.batchSize ?? 100),
    claimMillis: millis(options.sweeper?.claimDuration ?? "30 seconds"),
    retry: options.sweeper?.retry ?? RetryPolicy.standard,
  },
})
