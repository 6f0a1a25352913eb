/**
 * What a definition has collected so far, before it is compiled. Everything here is immutable: building on a
 * definition twice gives two machines.
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import type { UntypedCommandSettings } from "../effects/CommandSettings.ts"
import type { UntypedEffectSlot } from "../effects/Slot.ts"
import type { UntypedUnion } from "../schema/Union.ts"
import type { Fields } from "../schema/Variant.ts"
import type { Blueprint } from "./Blueprint.ts"
import type { Persistence } from "./Persistence.ts"

export interface Tagged {
  readonly _tag: string
}

export type Work = (context: unknown) => Effect.Effect<unknown, unknown, unknown>
export type HookFunction = (context: unknown) => unknown
export type Predicate = (context: unknown) => boolean

/** A target by tag: a state's, `(stay)` or `(stop)`. */
export interface TargetDeclaration {
  readonly tag: string
  readonly reason: string | undefined
}

/** Where in the user's source something was declared. The text is only made when an error asks for it. */
export interface Place {
  readonly stack?: string
}

interface Declared {
  /** Position among all declarations, for output in declaration order. */
  readonly order: number
  readonly place: Place
}

export interface TransitionDeclaration extends Declared {
  readonly from: string
  readonly event: string
  readonly targets: ReadonlyArray<TargetDeclaration>
  readonly decide: ((context: unknown) => unknown) | undefined
  readonly guard: Predicate | undefined
  readonly guardName: string | undefined
  readonly description: string | undefined
  readonly kind: "on" | "reenter" | "postpone"
}

export interface TimeoutDeclaration extends Declared {
  readonly from: string
  readonly name: string
  readonly idle: boolean
  readonly after: Duration.Input | ((state: Tagged) => Duration.Input)
  readonly targets: ReadonlyArray<TargetDeclaration>
  readonly decide: ((context: unknown) => unknown) | undefined
}

export interface AlwaysDeclaration extends Declared {
  readonly from: string
  readonly guard: Predicate
  readonly targets: ReadonlyArray<TargetDeclaration>
  readonly decide: ((context: unknown) => unknown) | undefined
}

export interface HookDeclaration {
  readonly phase: "enter" | "exit"
  readonly state: string
  readonly hook: HookFunction
}

export interface WorkDeclaration {
  readonly state: string
  readonly work: Work
  /** Whether there is anything to do with what the state holds. Work begins on entering: what makes this true must enter anew. */
  readonly when?: (state: Tagged) => boolean
  readonly outcomes:
    | {
        readonly onSuccess: (value: unknown, context: object) => Tagged
        readonly onFailure: (error: unknown, context: object) => Tagged
      }
    | undefined
}

/** What transitions are declared under. A separator that no name should have keeps pairs apart. */
export const pairKey = (state: string, event: string): string => `${state}\u0000${event}`

export interface Declarations {
  readonly name: string
  readonly version: number
  readonly state: UntypedUnion
  readonly event: UntypedUnion
  readonly initial: Tagged | ((input: unknown) => Tagged)
  readonly guardSlots: { readonly [name: string]: Fields }
  readonly effectSlots: { readonly [name: string]: Fields | UntypedEffectSlot }
  readonly handlers: { readonly [name: string]: (parameters: object, context: unknown) => unknown } | undefined
  readonly processingTimeout: Duration.Input | undefined
  readonly supervision: Schedule.Schedule<unknown, unknown> | undefined
  readonly transitions: ReadonlyMap<string, TransitionDeclaration>
  readonly fallbacks: ReadonlyMap<string, TransitionDeclaration>
  readonly timeouts: ReadonlyMap<string, TimeoutDeclaration>
  readonly always: ReadonlyArray<AlwaysDeclaration>
  readonly hooks: ReadonlyArray<HookDeclaration>
  readonly works: ReadonlyArray<WorkDeclaration>
  readonly backgrounds: ReadonlyArray<Work>
  readonly finals: ReadonlySet<string>
  readonly persistence: Persistence<string> | undefined
  readonly commands?: UntypedCommandSettings
  /** How a machine that was compiled from another notation is drawn. Without it the declarations are. */
  readonly blueprint?: () => Blueprint
  /** How many declarations there have been. */
  readonly count: number
}
