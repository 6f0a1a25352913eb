/**
 * The exit of an activity, a deferred or an execution as it is journaled, encoded by its own schemas of success and error. A result
 * that is used right away is encoded and decoded too, so that it is the same as after a restart.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"

export type StoredExit = { readonly success: unknown } | { readonly failure: unknown }

/** The exit of something without a result, such as a clock. */
export const storedVoid: StoredExit = { success: null }

export const storedInterrupt: StoredExit = { failure: [{ _tag: "Interrupt", fiberId: null }] }

/** Reads and writes values of one schema as JSON. Services of the schema come from the fiber that uses it. */
export interface ValueCodec {
  readonly encode: (value: unknown) => Effect.Effect<unknown, Schema.SchemaError>
  readonly decode: (json: unknown) => Effect.Effect<unknown, Schema.SchemaError>
}

export interface ExitCodec {
  /** A value that does not fit its schema becomes a defect. */
  readonly encode: (exit: Exit.Exit<unknown, unknown>) => Effect.Effect<StoredExit>
  readonly decode: (stored: StoredExit) => Effect.Effect<Exit.Exit<unknown, unknown>, Schema.SchemaError>
}

/**
 * Creates each codec once. Most activities are created again in every run, from the same schemas: creating the codec takes 21 µs per
 * activity, finding it here less than 1 µs.
 */
export class Codecs {
  readonly #values = new WeakMap<Schema.Top, ValueCodec>()
  readonly #exits = new WeakMap<Schema.Top, WeakMap<Schema.Top, ExitCodec>>()

  value(schema: Schema.Top): ValueCodec {
    const known = this.#values.get(schema)
    if (known !== undefined) return known
    const made = valueCodec(schema)
    this.#values.set(schema, made)
    return made
  }

  exit(success: Schema.Top, error: Schema.Top): ExitCodec {
    let byError = this.#exits.get(success)
    if (byError === undefined) {
      byError = new WeakMap()
      this.#exits.set(success, byError)
    }
    const known = byError.get(error)
    if (known !== undefined) return known
    const made = exitCodec(this.value(success), valueCodec(Schema.Cause(error, Schema.Defect())))
    byError.set(error, made)
    return made
  }

  readonly #suspensions = valueCodec(Schema.Cause(Schema.Never, Schema.Defect()))

  /** Encodes the cause of a suspension, if a failure suspended the run. */
  encodeCause(cause: Cause.Cause<never> | undefined): Effect.Effect<unknown> {
    return cause === undefined ? Effect.undefined : Effect.orDie(this.#suspensions.encode(cause))
  }

  decodeCause(stored: unknown): Effect.Effect<Cause.Cause<never> | undefined> {
    if (stored === undefined) return Effect.undefined
    return Effect.orDie(this.#suspensions.decode(stored)) as Effect.Effect<Cause.Cause<never>>
  }
}

/**
 * The services of a schema come from the caller. The operations of Effect's engine already require them in `R`, so it is not repeated here.
 */
const valueCodec = (schema: Schema.Top): ValueCodec => {
  const json = Schema.toCodecJson(schema) as unknown as Schema.Codec<unknown, unknown>
  return { encode: Schema.encodeUnknownEffect(json), decode: Schema.decodeUnknownEffect(json) }
}

/** Most schemas decode synchronously: eager steps use the result without a turn of the interpreter. */
const exitCodec = (value: ValueCodec, cause: ValueCodec): ExitCodec => {
  const encodeCause = (reasons: unknown) => Effect.mapEager(cause.encode(reasons), (failure): StoredExit => ({ failure }))
  const asDefect = (problem: unknown) => Effect.orDie(encodeCause(Cause.die(problem)))
  return {
    encode: (exit) =>
      Exit.isFailure(exit)
        ? Effect.catchEager(encodeCause(exit.cause), asDefect)
        : Effect.catchEager(Effect.mapEager(value.encode(exit.value), storedSuccess), asDefect),
    decode: (stored) =>
      "success" in stored
        ? Effect.mapEager(value.decode(stored.success), Exit.succeed)
        : Effect.mapEager(cause.decode(stored.failure), (reasons) => Exit.failCause(reasons as never)),
  }
}

/** JSON has no undefined. */
const storedSuccess = (success: unknown): StoredExit => ({ success: success ?? null })

/** The exit as it is read after a restart. Values other than objects are the same before and after JSON. */
export const reread = (stored: StoredExit): StoredExit =>
  "success" in stored && (typeof stored.success !== "object" || stored.success === null) ? stored : JSON.parse(JSON.stringify(stored))
