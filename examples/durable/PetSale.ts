/**
 * How a transition publishes a domain event: it requests an effect, and the effect's handler writes the event. The request is
 * stored with the transition, so the event is written even if the process dies in between. It may be written twice: then the
 * handler of the event refuses the second.
 *
 * Run it: `npx node examples/durable/PetSale.ts`
 */
import { Engine } from "@detent/durable"
import { CommandResult, Event, Machine, Slot, State } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as EventLog from "effect/eventlog/EventLog"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { PetLog, petStore, report } from "./PetStore.ts"

const S = State({ Offered: { pet: Schema.String }, Sold: { pet: Schema.String, to: Schema.String } })
const E = Event({ Buy: { to: Schema.String } })
const effects = Slot.Effects({ tell: { pet: Schema.String, to: Schema.String } })

export const Sale = Machine.make({ name: "sale", state: S, event: E, effects, initial: S.Offered })
  .on(
    S.Offered,
    E.Buy,
    S.Sold,
    ({ state, event, effects }) => {
      effects.tell({ pet: state.pet, to: event.to })
      return S.Sold.derive(state, { to: event.to })
    },
    { requests: ["tell"] },
  )
  .final(S.Sold)
  .build({
    tell: (sold) =>
      Effect.gen(function* () {
        const write = yield* EventLog.makeClient(PetLog)
        yield* write({ event: "PetSold", payload: sold }).pipe(
          Effect.catchTag("NotForSale", () => CommandResult.alreadyExecuted("it is sold already")),
        )
        // A journal that does not answer fails the command, which the worker retries.
      }).pipe(Effect.orDie),
  })

/** Instances, commands and domain events in one file. */
export const saleStore = (filename: string) => Engine.layer().pipe(Layer.provideMerge(petStore(filename)))

const main = Effect.gen(function* () {
  const write = yield* EventLog.makeClient(PetLog)
  yield* write({ event: "PetCreated", payload: { pet: "p1", name: "Rex" } })
  const sale = yield* (yield* Engine).start(Sale, "sale-1", { pet: "p1" })
  yield* sale.send(E.Buy({ to: "Ann" }))
  // The command is executed a moment after the transition.
  yield* Effect.sleep("200 millis")
  yield* report
})

if (import.meta.main) await Effect.runPromise(main.pipe(Effect.provide(saleStore(":memory:"))))
