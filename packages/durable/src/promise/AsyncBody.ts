/**
 * One run of an async function as the body of an Effect workflow. Each durable operation runs on a fiber of its own and settles a
 * Promise of the function. An operation that must wait, for a deadline or an event, suspends the run: the function stops where it
 * is, its Promises never settle, and the next run starts it again from its beginning.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { WorkflowEngine, WorkflowInstance } from "effect/workflow/WorkflowEngine"

type Services = WorkflowEngine | WorkflowInstance

/** Starts a durable operation and returns its result as a Promise. */
export type Operate = <A, E>(operation: Effect.Effect<A, E, Services>) => Promise<A>

/** Runs the function. A rejection for which `isFailure` is true is a failure, any other a defect. */
export const asyncBody = <A>(
  body: (operate: Operate) => PromiseLike<A>,
  isFailure: (reason: unknown) => boolean,
): Effect.Effect<A, unknown, Services> =>
  Effect.contextWith((context: Context.Context<Services>) =>
    Effect.callback<A, unknown>((resume) => {
      const operations = new Operations(context, (exit) => resume(exit))
      runAsync(() => body((operation) => operations.start(operation))).then(
        (value) => operations.end(Exit.succeed(value)),
        (reason) => operations.end(isFailure(reason) ? Exit.fail(reason) : Exit.die(reason)),
      )
      return Effect.suspend(() => operations.interrupt())
    }),
  )

/** A function that throws before it returns a Promise is rejected, too. */
const runAsync = async <A>(run: () => PromiseLike<A>): Promise<A> => run()

/** The operations in progress. `over`: the run has ended, and nothing more starts or settles. */
class Operations {
  readonly #context: Context.Context<Services>
  readonly #ended: (exit: Exit.Exit<never, unknown>) => void
  readonly #fibers = new Set<Fiber.Fiber<unknown, unknown>>()
  #over = false

  constructor(context: Context.Context<Services>, ended: (exit: Exit.Exit<never, unknown>) => void) {
    this.#context = context
    this.#ended = ended
  }

  start<A, E>(operation: Effect.Effect<A, E, Services>): Promise<A> {
    const started = new Promise<A>((resolve, reject) => {
      if (this.#over) return
      const fiber = Effect.runForkWith(this.#context)(operation)
      this.#fibers.add(fiber)
      fiber.addObserver((exit) => {
        this.#fibers.delete(fiber)
        if (this.#over) return
        if (Exit.isSuccess(exit)) resolve(exit.value)
        // The operation waits, or this process no longer runs the execution.
        else if (Cause.hasInterruptsOnly(exit.cause)) this.end(Exit.failCause(exit.cause as Cause.Cause<never>))
        else reject(Cause.squash(exit.cause))
      })
    })
    // The failure is in the journal. A failure that the function never awaits must not end the process.
    started.catch(() => undefined)
    return started
  }

  end(exit: Exit.Exit<unknown, unknown>) {
    if (this.#over) return
    this.#over = true
    for (const fiber of this.#fibers) fiber.interruptUnsafe()
    this.#ended(exit as Exit.Exit<never, unknown>)
  }

  interrupt(): Effect.Effect<void> {
    this.#over = true
    return Fiber.interruptAll(this.#fibers)
  }
}
