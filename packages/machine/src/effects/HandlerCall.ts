/**
 * Calls a function of the user that returns an Effect or a Promise: a slot's handler, the work of a state. A Promise becomes an
 * Effect, so the actor or worker that runs the function handles only Effects. `signal`, `run` and `engine`, for async code, are made when
 * the function reads them: a handler that returns an Effect does not pay for them.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { CurrentEngine, type HandlerEngine } from "../contract/HandlerEngine.ts"
import { DefinitionError } from "../schema/DefinitionError.ts"

/** The context of async code. */
export interface AsyncContext {
  /** Aborted when the call is interrupted: its state was left, it took too long, or the process stops. Give it to `fetch`. */
  readonly signal: AbortSignal
  /**
   * Runs an Effect, such as a call of a slot or of `self`, in async code: `await run(self.send(event))`. It is interrupted with
   * the call. The Promise is rejected with the Effect's own error.
   */
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
  /**
   * Starts and uses other instances, and executions of workflows, with Promises. It is that of `openEngine`, `detent dev`, `serve` and
   * `worker`. Handlers that run without one get an error when they read it.
   */
  readonly engine: HandlerEngine
}

/** The function that is called, for errors, and how a rejected Promise is treated. */
export interface Called {
  readonly machine: string
  /** As in "the handler of chargeCard". */
  readonly what: string
  /** Whether the reason of a rejection is a failure of the function. Otherwise it is a defect. */
  readonly isFailure: (reason: unknown) => boolean
}

/** The context of one call: the given fields, and those of {@link AsyncContext}, created when they are read. */
class CallContext implements AsyncContext {
  readonly #services: Context.Context<never>
  #controller: AbortController | undefined

  constructor(fields: object, services: Context.Context<never>) {
    Object.assign(this, fields)
    this.#services = services
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    return this.#controller.signal
  }

  get run(): AsyncContext["run"] {
    return (effect) => Effect.runPromiseWith(this.#services)(effect, { signal: this.signal })
  }

  get engine(): HandlerEngine {
    const engine = Context.get(this.#services, CurrentEngine)
    if (engine !== undefined) return engine
    throw new DefinitionError({
      problem: "a handler reads engine, and runs without one",
      nextStep: "open one with openEngine or detent.config.ts; a handler that runs on Engine.layer uses the service Engine in an Effect",
    })
  }

  static abortOnInterrupt<A, E, R>(context: CallContext, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    const controller = context.#controller
    return controller === undefined ? effect : Effect.onInterrupt(effect, () => Effect.sync(() => controller.abort()))
  }
}

/** Calls the function with a context of these fields. */
export const callHandler = (
  called: Called,
  fields: object,
  invoke: (context: object) => unknown,
): Effect.Effect<unknown, unknown, unknown> =>
  Effect.withFiber((fiber) => {
    const context = new CallContext(fields, fiber.context)
    const returned = invoke(context)
    if (Effect.isEffect(returned)) return CallContext.abortOnInterrupt(context, returned as Effect.Effect<unknown, unknown, unknown>)
    if (isPromiseLike(returned)) return CallContext.abortOnInterrupt(context, settled(called, returned))
    return refused(called, `returned ${String(returned)}`, "return an Effect or a Promise")
  })

const isPromiseLike = (returned: unknown): returned is PromiseLike<unknown> =>
  typeof returned === "object" && returned !== null && "then" in returned && typeof returned.then === "function"

const settled = (called: Called, promise: PromiseLike<unknown>): Effect.Effect<unknown, unknown> =>
  Effect.callback<unknown, unknown>((resume) => {
    promise.then(
      (value) =>
        resume(
          Effect.isEffect(value)
            ? refused(
                called,
                "is async and returned an Effect",
                "await run(effect) in it, or return the Effect from a function that is not async",
              )
            : Effect.succeed(value),
        ),
      (reason) => resume(called.isFailure(reason) ? Effect.fail(reason) : Effect.die(reason)),
    )
  })

const refused = ({ machine, what }: Called, did: string, nextStep: string): Effect.Effect<never> =>
  Effect.die(new DefinitionError({ machine, problem: `${what} ${did}`, nextStep }))
