/**
 * A processor is one piece of work on an entity during a transition. A pure processor is a function that runs inside the decision, so
 * a chain of them needs one commit. A processor with effects runs after the commit while the entity is still in its state. It may run
 * again after a crash, and gets an idempotency key.
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
  /** The error that the failure transition handles; undefined in other transitions. */
  readonly error: EntityError | undefined
}

export interface PureContext extends ProcessorContext {
  /** When the transition was requested, in milliseconds since 1970: the same in every replay. */
  readonly at: number
}

export interface EffectContext extends ProcessorContext {
  /** The id of the instance. */
  readonly id: string
  /** The idempotency key: the same for every attempt of this processor in this run, also after a crash. */
  readonly key: string
  /** Counts from 1. */
  readonly attempt: number
}

/** A function of the entity. It fails by throwing, and is not retried, because it would fail again. */
export interface PureProcessor<in out A> {
  readonly _tag: "Pure"
  readonly run: (entity: A, context: PureContext) => A
}

/** Work with side effects. */
export interface EffectProcessor<in out A, out E, out R> {
  readonly _tag: "Effect"
  readonly run: (entity: A, context: EffectContext) => Effect.Effect<A, E, R>
  readonly retry: RetryPolicy
}

export type Processor<A, E = unknown, R = unknown> = PureProcessor<A> | EffectProcessor<A, E, R>

/** Makes a processor from a synchronous pure function, which throws to fail. */
export const pure = <A>(run: (entity: A, context: PureContext) => A): PureProcessor<A> => ({ _tag: "Pure", run })

const once: RetryPolicy = { attempts: 1 }

/** Makes a processor from an Effect. Default retry: one attempt. */
export const effect = <A, E, R>(
  run: (entity: A, context: EffectContext) => Effect.Effect<A, E, R>,
  options: { readonly retry?: RetryPolicy } = {},
): EffectProcessor<A, E, R> => ({ _tag: "Effect", run, retry: options.retry ?? once })

/** The services that processors need. */
export type ServicesOf<P> = { [K in keyof P]: P[K] extends EffectProcessor<infer _A, infer _E, infer R> ? R : never }[keyof P]
