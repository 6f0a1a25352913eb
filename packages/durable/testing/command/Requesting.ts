/** A machine that requests effects, and engines that execute them. */
import { Event, Machine, RetryPolicy, Slot, State } from "@detent/machine"
import { Journal } from "@detent/store"
import type { StoreServices } from "@detent/store/testing/CommandKit"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import type { EngineOptions } from "../../src/Engine.ts"
import { Engine, type EngineService } from "../../src/Engine.ts"
import { brisk } from "./Working.ts"

export class Declined extends Schema.TaggedError<Declined>()("Declined", { reason: Schema.String }) {}

export const S = State({
  New: { total: Schema.Finite },
  Charging: { total: Schema.Finite },
  Paid: { total: Schema.Finite, receipt: Schema.String },
  Refused: { reason: Schema.String },
  Shipped: {},
})

export const E = Event({
  Pay: {},
  Charged: { receipt: Schema.String },
  Failed: { reason: Schema.String },
  Note: { text: Schema.String },
  Ship: {},
})

export const effects = Slot.Effects({
  charge: Slot.effect({ total: Schema.Finite, at: Schema.DateTimeUtc }, { success: Schema.String, failure: Declined }),
  mail: { text: Schema.String },
})

/** Charges when it is to be paid; the result comes back as an event. Each test has its own `name`. */
export const purchase = (name: string) =>
  Machine.make({ name, state: S, event: E, effects, initial: ({ total }: { readonly total: number }) => S.New({ total }) })
    .on(S.New, E.Pay, S.Charging, ({ state, effects, at }) => {
      effects.charge({ total: state.total, at: DateTime.makeUnsafe(at) })
      effects.mail({ text: "we charge you" })
      return S.Charging({ total: state.total })
    })
    .on(S.Charging, E.Charged, S.Paid)
    .on(S.Charging, E.Failed, S.Refused)
    .on([S.Charging, S.Paid], E.Note, S.Charging, () => S.Charging({ total: 0 }))
    .on(S.Paid, E.Ship, S.Shipped, ({ effects }) => {
      effects.mail({ text: "it is on its way" })
      return S.Shipped()
    })
    .final(S.Shipped, S.Refused)
    .commands({
      charge: {
        retry: RetryPolicy.fixed({ delay: 5, maxAttempts: 3 }),
        retryable: ({ reason }) => reason !== "no funds",
        onSuccess: (receipt) => E.Charged({ receipt }),
        onFailure: (error) => E.Failed({ reason: error._tag === "Declined" ? error.reason : error.problem }),
      },
    })

export interface Opened {
  readonly engine: EngineService
  readonly close: Effect.Effect<void>
}

/** An engine on the store of the test; it ends with the test at the latest. */
export const openEngine = (options: EngineOptions = {}): Effect.Effect<Opened, never, StoreServices | Scope.Scope> =>
  Effect.gen(function* () {
    const outer = yield* Effect.scope
    const scope = yield* Scope.fork(outer)
    const store = yield* Effect.context<StoreServices>()
    const worker = options.worker === false ? false : { ...brisk, ...options.worker }
    const layer = Engine.layer({ ...options, worker }).pipe(Layer.provide(Layer.succeedContext(store)))
    const context = yield* Layer.buildWithMemoMap(layer, Layer.makeMemoMapUnsafe(), scope)
    return { engine: Context.get(context, Engine), close: Scope.close(scope, Exit.void) }
  })

/** The tags of an instance's journaled events. */
export const journaled = (machine: string, id: string) =>
  Effect.flatMap(Journal, (journal) => Effect.map(journal.events({ machine, id }, 0, 1000), (events) => events.map(({ tag }) => tag)))
