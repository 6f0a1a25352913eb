/** Executes commands that application code enqueued, by the handler of their queue. */
import { type AsyncContext, RetryPolicy } from "@detent/machine"
import { callHandler, failedBecause, outcomeOf } from "@detent/machine/internal"
import type { ClaimedCommand, InstanceKey, Verdict } from "@detent/store"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { cut, type Execution, type Failure, type FindExecution, handedKey, selfInterrupted, traced, verdictOn } from "./Execution.ts"
import { millisOf, type WorkerConfig } from "./WorkerConfig.ts"

export interface QueueOptions<A> {
  readonly payload: Schema.Codec<A, unknown>
  /** How often a failed command is tried. Default: the worker's setting. */
  readonly retry?: RetryPolicy.RetryPolicy
  /** Which failures are worth another attempt. Default: all. */
  readonly retryable?: (error: unknown) => boolean
  /** How long one execution may take. Default: the worker's setting. */
  readonly timeout?: Duration.Input
}

/** The command that a handler executes, besides its payload. */
export interface QueueContext extends AsyncContext {
  /** The same for each execution of the command: pass it on as idempotency key. It is the key that the command was enqueued with. */
  readonly key: string
  /** The number of executions, this one included, since an operator last retried it. */
  readonly attempts: number
  /** How often an operator retried it after it had failed for good. */
  readonly round: number
  readonly instance: InstanceKey | undefined
  /** The group that it was enqueued with, such as a tenant. */
  readonly group: string | undefined
  readonly enqueuedAt: number
}

export const queueExecution = <A>(
  { retry, retryable, timeout }: QueueOptions<A>,
  config: WorkerConfig,
  context: Context.Context<never>,
  decode: (json: string) => A,
  handle: (payload: A, context: QueueContext) => Effect.Effect<unknown, unknown, unknown> | PromiseLike<unknown>,
): FindExecution => {
  const policy = retry ?? config.retry
  const timeoutMillis = timeout === undefined ? config.timeoutMillis : millisOf(timeout)
  const maxAttempts = RetryPolicy.maxAttempts(policy)
  const runFork = Effect.runForkWith(context)
  const run = ((effect: Effect.Effect<unknown, never>) => runFork(effect)) as unknown as Execution["run"]
  const judge = (failure: Failure, attempts: number) => {
    const isHopeless = failure.retryable && retryable !== undefined && !retryable(failure.error)
    return verdictOn(isHopeless ? { ...failure, retryable: false } : failure, {}, undefined, policy, attempts)
  }

  const execution = (command: ClaimedCommand): Effect.Effect<Verdict, never, unknown> =>
    Effect.suspend(() => {
      const { attempts, round, instance, group, enqueuedAt, queue, slot, parameters } = command
      let payload: A
      try {
        payload = decode(parameters)
      } catch (cause) {
        return judge(failedBecause("its payload does not fit the schema of its queue", false, cause), attempts)
      }
      const called = { machine: `queue ${queue}`, what: `the handler of ${slot}`, isFailure: () => true }
      const handled = callHandler(
        called,
        { key: handedKey(config.databaseId, command), attempts, round, instance, group, enqueuedAt },
        (context) => handle(payload, context as QueueContext),
      )
      return Effect.flatMap(Effect.exit(handled), (exit): Effect.Effect<Verdict> => {
        const outcome = outcomeOf(exit, undefined)
        switch (outcome._tag) {
          case "Done":
            return completed
          case "AlreadyExecuted":
            return Effect.succeed({ _tag: "Skipped", reason: cut(outcome.reason) })
          case "Interrupted":
            return judge(selfInterrupted, attempts)
          case "Failed":
            return judge(outcome, attempts)
        }
      })
    })

  return (command) => ({
    timeoutMillis,
    maxAttempts,
    run,
    execute: traced(context as Context.Context<unknown>, command, execution(command)),
    conclude: (failure) => judge(failure, command.attempts),
  })
}

const completed = Effect.succeed<Verdict>({ _tag: "Completed" })
