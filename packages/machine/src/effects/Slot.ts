/**
 * Slots are the named holes of a definition: guards (yes or no) and effects (work in the outside world). The
 * definition says what each is called with; `build` says what each does. So a machine can be drawn, simulated and
 * tested without the services it will run with.
 *
 * ```ts
 * const guards = Slot.Guards({ inStock: { orderId: Schema.String } })
 * const effects = Slot.Effects({ chargeCard: { amount: Schema.Number } })
 * ```
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Self } from "../actor/Self.ts"
import type { Fields } from "../schema/Variant.ts"

type Parameters<F extends Fields> = keyof F extends never ? [parameters?: Record<never, never>] : [parameters: Schema.Struct.Type<F>]

/** Guard slots by name, with what each is asked. */
export interface Guards<D> {
  readonly slots: D
  /** How a decision asks; types only. */
  readonly "~calls": { readonly [K in keyof D]: D[K] extends Fields ? (...parameters: Parameters<D[K]>) => boolean : never }
}

/** An effect slot whose outcome has a type. */
export interface EffectSlot<F, A, E> {
  readonly parameters: F
  readonly success: Schema.Schema<A>
  readonly failure: Schema.Schema<E>
}

type Outline<X> =
  X extends EffectSlot<infer F, infer A, infer E>
    ? { readonly fields: F; readonly success: A; readonly failure: E }
    : { readonly fields: X; readonly success: void; readonly failure: never }

/** Effect slots by name, with what each is given. */
export interface Effects<D> {
  readonly slots: D
  /** How a decision, an `enter` or an `exit` requests; types only. */
  readonly "~requests": {
    readonly [K in keyof D]: Outline<D[K]>["fields"] extends infer F extends Fields ? (...parameters: Parameters<F>) => void : never
  }
  /** How `spawn`, `task` and `background` run it; types only. */
  readonly "~runs": {
    readonly [K in keyof D]: Outline<D[K]> extends {
      readonly fields: infer F extends Fields
      readonly success: infer A
      readonly failure: infer E
    }
      ? (...parameters: Parameters<F>) => Effect.Effect<A, E>
      : never
  }
}

/** What a guard may look at. */
export interface GuardContext<S, E> {
  readonly state: S
  /** Not there while the initial state or a timeout is decided on. */
  readonly event: E | undefined
  readonly at: number
}

/** What an effect knows of the machine it works for. */
export interface EffectContext<S, E> {
  readonly id: string
  /** The state in which it was asked for. */
  readonly state: S
  readonly self: Self<E>
  /**
   * Tells one execution from another, for whoever does the work: the same when a command is executed again, and another for
   * every other command. Pass it on as the idempotency key of a payment or a mail.
   */
  readonly key: string
}

export type GuardHandlers<D, S, E> = {
  readonly [K in keyof D]: (parameters: D[K] extends Fields ? Schema.Struct.Type<D[K]> : never, context: GuardContext<S, E>) => boolean
}

export type EffectHandlers<D, S, E> = {
  readonly [K in keyof D]: Outline<D[K]> extends {
    readonly fields: infer F extends Fields
    readonly success: infer A
    readonly failure: infer Failure
  }
    ? (parameters: Schema.Struct.Type<F>, context: EffectContext<S, E>) => Effect.Effect<A, Failure, unknown>
    : never
}

/** The services that handlers need. */
export type HandlerServices<H> = {
  [K in keyof H]: H[K] extends (...args: never) => infer Returned ? ServicesOfEffect<Returned> : never
}[keyof H]

/** A handler that only throws returns `never`, from which any service could be inferred. */
type ServicesOfEffect<X> = [X] extends [never] ? never : X extends Effect.Effect<infer _A, infer _E, infer R> ? R : never

/** The run-time side of an effect slot. */
export interface UntypedEffectSlot {
  readonly parameters: Fields
  readonly success: Schema.Constraint
  readonly failure: Schema.Constraint
}

export const Slot: {
  /** Declares guards: synchronous predicates. */
  Guards<const D extends { readonly [name: string]: Fields }>(slots: D): Guards<D>
  /** Declares effects. */
  Effects<const D extends { readonly [name: string]: Fields | EffectSlot<Fields, unknown, unknown> }>(slots: D): Effects<D>
  /** An effect slot that succeeds or fails with a value of a schema. */
  effect<const F extends Fields, A = void, E = never>(
    parameters: F,
    outcome: { readonly success?: Schema.Schema<A>; readonly failure?: Schema.Schema<E> },
  ): EffectSlot<F, A, E>
} = {
  Guards: (slots) => ({ slots }) as never,
  Effects: (slots) => ({ slots }) as never,
  effect: (parameters, outcome) =>
    ({ parameters, success: outcome.success ?? Schema.Void, failure: outcome.failure ?? Schema.Never }) as never,
}

/** Whether a slot was declared with {@link Slot.effect}. */
export const isEffectSlot = (slot: unknown): slot is UntypedEffectSlot =>
  typeof slot === "object" &&
  slot !== null &&
  "parameters" in slot &&
  "success" in slot &&
  "failure" in slot &&
  Schema.isSchema(slot.success)
