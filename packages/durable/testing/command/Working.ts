/** Workers for tests: on a clock that can stand still, and on a store that can fail. */
import { PersistenceFailed } from "@detent/machine"
import { Commands, type CommandsService } from "@detent/store"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as CommandQueue from "../../src/outbox/CommandQueue.ts"
import * as CommandWorker from "../../src/outbox/CommandWorker.ts"
import type { WorkerOptions } from "../../src/outbox/WorkerConfig.ts"

/** Short enough for a test, long enough for a slow store. */
export const brisk: WorkerOptions = { claimDuration: "2 seconds", pollInterval: "100 millis", drainTimeout: "2 seconds" }

export const Job = Schema.Struct({ name: Schema.String })

export type Handle = (name: string, context: CommandQueue.QueueContext) => Effect.Effect<unknown, unknown>

export const jobs = (queue: string, options: Partial<CommandQueue.QueueOptions<typeof Job.Type>> = {}) =>
  CommandQueue.make(queue, { payload: Job, ...options })

export interface Started {
  /** Stops it as a process does on SIGTERM. */
  readonly stop: Effect.Effect<void>
}

/** Starts a worker for a queue of {@link Job}s; it ends with the test at the latest. */
export const startWorker = (
  queue: CommandQueue.CommandQueue<typeof Job.Type>,
  handle: Handle,
  options: WorkerOptions = {},
): Effect.Effect<Started, never, Commands | Scope.Scope> =>
  Effect.gen(function* () {
    const outer = yield* Effect.scope
    const scope = yield* Scope.fork(outer)
    const handler = queue.handler(({ name }, context) => handle(name, context))
    const commands = yield* Commands
    const layer = CommandWorker.layer([handler], { ...brisk, ...options }).pipe(Layer.provide(Layer.succeed(Commands, commands)))
    yield* Layer.buildWithMemoMap(layer, Layer.makeMemoMapUnsafe(), scope)
    return { stop: Scope.close(scope, Exit.void) }
  })

/** A clock that stands still: a sleep never ends. */
export const frozen = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Clock.Clock, (clock) => {
    const now = clock.currentTimeMillisUnsafe()
    const still: Clock.Clock = {
      ...clock,
      currentTimeMillisUnsafe: () => now,
      currentTimeMillis: Effect.succeed(now),
      currentTimeNanosUnsafe: () => BigInt(Math.floor(now)) * 1_000_000n,
      currentTimeNanos: Effect.succeed(BigInt(Math.floor(now)) * 1_000_000n),
      monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
      monotonicTimeNanos: clock.monotonicTimeNanos,
      sleep: () => Effect.never,
    }
    return Effect.provideService(effect, Clock.Clock, still)
  })

/** The same store, with some operations replaced. */
export const onStore = <A, E, R>(
  change: (commands: CommandsService) => Partial<CommandsService>,
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R | Commands> =>
  Effect.flatMap(Commands, (commands) =>
    Effect.provideContext(effect as Effect.Effect<A, E, never>, Context.make(Commands, { ...commands, ...change(commands) })),
  )

export const outage = new PersistenceFailed({ machine: "store", operation: "exchange", cause: new Error("the store does not answer") })
