/** The outcome of an effect in a worker, as plain data, with its typed errors. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

export type Outcome<A> =
  | { readonly _tag: "Success"; readonly value: A }
  /** Encoded by the schema of the task's errors. */
  | { readonly _tag: "Failure"; readonly error: unknown }

/** Runs an effect in the worker. A defect rejects. */
export const outcomeOf = <A, E>(errors: Schema.Codec<E, unknown>, effect: Effect.Effect<A, E>): Promise<Outcome<A>> =>
  Effect.runPromise(
    Effect.map(
      Effect.result(effect),
      (result): Outcome<A> =>
        Result.isSuccess(result)
          ? { _tag: "Success", value: result.success }
          : { _tag: "Failure", error: Schema.encodeSync(errors)(result.failure) },
    ),
  )

/** The effect again, on the side of the pool. */
export const fromOutcome = <A, E>(errors: Schema.Codec<E, unknown>, outcome: Outcome<A>): Effect.Effect<A, E> =>
  outcome._tag === "Success"
    ? Effect.succeed(outcome.value)
    : Effect.flatMap(Effect.orDie(Schema.decodeUnknownEffect(errors)(outcome.error)), (error) => Effect.fail(error))
