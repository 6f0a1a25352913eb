/**
 * A processor is one piece of work on an entity during a transition. A pure one is a function and runs inside the decision,
 * so a chain of them costs one commit. One with effects runs after the commit while the entity is still in its state; it may
 * run again after a crash, and gets an idempotency key.
 *
 * ```ts
 * Processor.pure((invoice, { at }) => ({ ...invoice, receivedAt: at }))
 * Processor.effect((invoice, { key }) => book(invoice, key), { retry: { attempts: 5, backoff: "exponential" } })
 * ```
 */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { EntityError } from "./EntityError.ts"
import type { RetryPolicy } from "./WorkflowDefinition.ts"

interface ProcessorContext {
  /** The argument of a manual transition. */
  readonly argument: Schema.Json | undefined
  /** For the processors of the failure transition: the error. */
  readonly error: EntityError | undefined
}

export interface PureContext extends ProcessorContext {
  /** When the transition was requested, in milliseconds since 1970: the same in every replay. */
  readonly at: number
}

export interface EffectContext extends ProcessorContext {
  /** The instance whose entity it is. */
  readonly id: string
  /** The same for every attempt at this piece of work, also after a crash; another one for every other piece of work. */
  readonly key: string
  /** Counts from 1. */
  readonly attempt: number
}

/** A function of the entity. It fails by throwing, and is not retried: it would fail again. */
export interface PureProcessor<in out A> {
  readonly _tag: "Pure"
  readonly run: (entity: A, context: PureContext) => A
}

/** Work in the outside world. */
export interface EffectProcessor<in out A, out E, out R> {
  readonly _tag: "Effect"
  readonly run: (entity: A, context: EffectContext) => Effect.Effect<A, E, R>
  readonly retry: RetryPolicy
}

export type Processor<A, E = unknown, R = unknown> = PureProcessor<A> | EffectProcessor<A, E, R>

/** Makes a processor of a synchronous pure function, which throws where it fails. */
export const pure = <A>(run: (entity: A, context: PureContext) => A): PureProcessor<A> => ({ _tag: "Pure", run })

const once: RetryPolicy = { attempts: 1 }

/** Makes a processor of an Effect. Default: it is tried once. */
export const effect = <A, E, R>(
  run: (entity: A, context: EffectContext) => Effect.Effect<A, E, R>,
  options: { readonly retry?: RetryPolicy } = {},
): EffectProcessor<A, E, R> => ({ _tag: "Effect", run, retry: options.retry ?? once })

/** The services that processors need. */
export type ServicesOf<P> = { [K in keyof P]: P[K] extends EffectProcessor<infer _A, infer _E, infer R> ? R : never }[keyof P]
