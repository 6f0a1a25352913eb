/**
 * A trip is booked in three steps that belong to three companies. When the last one fails, or somebody calls the trip off,
 * what was booked is cancelled, last first and once: also when the process dies in the middle of it.
 *
 * Run it: `npx node examples/durable/Saga.ts trips.db`. Stop it with Ctrl-C while it waits, and run it again.
 */
import { DurableWorkflow } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import * as Activity from "effect/unstable/workflow/Activity"
import * as DurableClock from "effect/unstable/workflow/DurableClock"
import * as Workflow from "effect/unstable/workflow/Workflow"

export class SoldOut extends Schema.TaggedError<SoldOut>()("SoldOut", { what: Schema.String }) {}

/** The companies. A booking is known by a number of theirs; cancelling one that is cancelled does nothing. */
export class Companies extends Context.Service<
  Companies,
  {
    readonly book: (what: string, trip: string) => Effect.Effect<string, SoldOut>
    readonly cancel: (booking: string) => Effect.Effect<void>
  }
>()("examples/Companies") {}

export const Trip = Workflow.make("Trip", {
  payload: { traveller: Schema.String },
  success: Schema.Array(Schema.String),
  error: SoldOut,
  idempotencyKey: ({ traveller }) => traveller,
})

const book = (what: string, trip: string) =>
  Activity.make({
    name: `book ${what}`,
    success: Schema.String,
    error: SoldOut,
    execute: Effect.flatMap(Companies, (companies) => companies.book(what, trip)),
  }).pipe(Trip.withCompensation((booking) => Effect.flatMap(Companies, (companies) => companies.cancel(booking))))

export const tripLayer = Trip.toLayer((_, trip) =>
  Effect.gen(function* () {
    const flight = yield* book("flight", trip)
    const hotel = yield* book("hotel", trip)
    // The car is only to be had the day before. Nothing of the trip is in memory until then.
    yield* DurableClock.sleep({ name: "the day before", duration: "3 seconds", inMemoryThreshold: 0 })
    const car = yield* book("car", trip)
    return [flight, hotel, car]
  }),
)

const companies = Layer.succeed(Companies, {
  book: (what) =>
    what === "car"
      ? Effect.fail(new SoldOut({ what }))
      : Effect.andThen(
          Console.log(`booked a ${what}`),
          Effect.map(Random.nextIntBetween(100, 999), (number) => `${what}-${number}`),
        ),
  cancel: (booking) => Console.log(`cancelled ${booking}`),
})

const main = Effect.gen(function* () {
  const trip = yield* Trip.execute({ traveller: "Ada" }, { discard: true })
  const outcome = yield* Effect.exit(Trip.execute({ traveller: "Ada" }))
  yield* Console.log(outcome._tag === "Success" ? "the trip is booked" : "there is no car: the trip is off")
  for (const { sequence, tag } of yield* DurableWorkflow.history(Trip, trip)) yield* Console.log(`  ${sequence} ${tag}`)
})

if (import.meta.main) {
  const store = SqliteStore.layer({ filename: process.argv[2] ?? "trips.db" })
  // With a name of its own the process goes on at once where it was killed.
  const engine = DurableWorkflow.layer({ nodeId: "travel-agency" }).pipe(Layer.provideMerge(store))
  await Effect.runPromise(main.pipe(Effect.provide(tripLayer.pipe(Layer.provide(companies), Layer.provideMerge(engine)))))
}
