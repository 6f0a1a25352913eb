/** How an engine behaves. Everything has a default. */
import * as Duration from "effect/Duration"
import type { WorkerOptions } from "../command/WorkerConfig.ts"
import type { LeaderConfig } from "./LeaderElection.ts"

export interface SweeperOptions {
  /** How long to wait between sweeps where nothing comes due earlier; 5 seconds unless told. */
  readonly interval?: Duration.Input
  /** Up to this share of the interval is added at random, so that nodes do not sweep in step; 0.2 unless told. */
  readonly jitter?: number
  /** How many timers are claimed at once at most; 100 unless told. */
  readonly batchSize?: number
  /** How long a claimed timer is left to the node that claimed it; 30 seconds unless told. */
  readonly claimDuration?: Duration.Input
  /** Added to the wait after a sweep that found nothing; 10 seconds unless told. */
  readonly backoffOnEmpty?: Duration.Input
  /** How late a timer must be before the sweeper takes it: the node that has it in memory comes first. 200 milliseconds unless told. */
  readonly grace?: Duration.Input
  /** A timer that could not be fired so often is given up; 5 times unless told. */
  readonly maxAttempts?: number
  /** Only the elected node sweeps; every node does unless told. */
  readonly leader?: Omit<LeaderConfig, "nodeId">
}

export interface EngineOptions {
  /** Who this is, in claims, locks and elections; a name made at random at every start unless told. */
  readonly nodeId?: string
  /**
   * What happens to an event that met a newer sequence: the instance is read again and the event decided anew, or it fails;
   * `reload` unless told.
   */
  readonly onConflict?: "reload" | "fail"
  /** Instances that nobody used for so long leave memory; 5 minutes unless told. */
  readonly passivateAfter?: Duration.Input
  /** For how long a store that failed is asked again before senders are told; 10 seconds unless told. */
  readonly storeTimeout?: Duration.Input
  /**
   * How often the store is asked whether another process went on with instances that somebody waits for here, with `changes`,
   * `waitFor` or `awaitFinal`: 500 milliseconds unless told. One statement for all of them; none where nobody waits.
   */
  readonly followInterval?: Duration.Input
  /** How long a stop waits for what was accepted; 30 seconds unless told. */
  readonly drainTimeout?: Duration.Input
  readonly sweeper?: SweeperOptions
  /** How the effects are executed that instances request; `false` leaves them to other processes. */
  readonly worker?: WorkerOptions | false
  /** `false`: an instance whose state has work goes on here when somebody asks for it, not because the process starts. */
  readonly resume?: boolean
  /** Only looks, beside a process that works: nothing is resumed, fired or executed here, and whatever is sent is refused. */
  readonly observe?: boolean
}

export interface EngineConfig {
  readonly nodeId: string
  readonly onConflict: "reload" | "fail"
  readonly passivateAfterMillis: number
  readonly storeTimeout: Duration.Duration
  readonly followMillis: number
  readonly drainTimeout: Duration.Duration
  readonly resume: boolean
  readonly sweeper: {
    readonly intervalMillis: number
    readonly jitter: number
    readonly batchSize: number
    readonly claimMillis: number
    readonly backoffMillis: number
    readonly graceMillis: number
    readonly maxAttempts: number
    readonly leader: Omit<LeaderConfig, "nodeId"> | undefined
  }
}

const millis = (duration: Duration.Input) => Duration.toMillis(Duration.fromInputUnsafe(duration))

export const engineConfig = (options: EngineOptions, nodeId: string): EngineConfig => ({
  nodeId: options.nodeId ?? nodeId,
  onConflict: options.onConflict ?? "reload",
  passivateAfterMillis: millis(options.passivateAfter ?? "5 minutes"),
  storeTimeout: Duration.fromInputUnsafe(options.storeTimeout ?? "10 seconds"),
  followMillis: millis(options.followInterval ?? "500 millis"),
  drainTimeout: Duration.fromInputUnsafe(options.drainTimeout ?? "30 seconds"),
  resume: options.resume ?? true,
  sweeper: {
    intervalMillis: millis(options.sweeper?.interval ?? "5 seconds"),
    jitter: options.sweeper?.jitter ?? 0.2,
    batchSize: options.sweeper?.batchSize ?? 100,
    claimMillis: millis(options.sweeper?.claimDuration ?? "30 seconds"),
    backoffMillis: millis(options.sweeper?.backoffOnEmpty ?? "10 seconds"),
    graceMillis: millis(options.sweeper?.grace ?? "200 millis"),
    maxAttempts: options.sweeper?.maxAttempts ?? 5,
    leader: options.sweeper?.leader,
  },
})
