/**
 * A trip is booked in three steps at three companies. When the last step fails, or the trip is cancelled, the compensations
 * cancel each booking once, the last one first: also when the process dies in between.
 *
 * Run it: `npx node examples/durable/Saga.ts trips.db`. Within five seconds stop it with Ctrl-C, and run it again: no step is
 * booked twice. There is no car, so both bookings are cancelled. Delete the file to start over.
 */
import { DurableWorkflow } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import * as Activity from "effect/workflow/Activity"
import * as DurableClock from "effect/workflow/DurableClock"
import * as Workflow from "effect/workflow/Workflow"

export class SoldOut extends Schema.TaggedError<SoldOut>()("SoldOut", { what: Schema.String }) {}

/** The companies. `book` returns the booking number; cancelling a booking twice has no effect. */
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
    // The car can only be booked the day before. Until then the trip is not in memory. By default Effect sleeps up to a minute
    // in memory, and such a sleep restarts after a crash. With a threshold of 0 it is a timer in the store, which keeps its
    // deadline.
    yield* DurableClock.sleep({ name: "the day before", duration: "5 seconds", inMemoryThreshold: 0 })
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
  // With `discard`, starts the trip, or finds the one that an earlier process started, and returns its id immediately.
  const trip = yield* Trip.execute({ traveller: "Ada" }, { discard: true })
  yield* Console.log("the trip is running; stop this with Ctrl-C and run it again: it resumes")
  // The same traveller has the same idempotency key: this call waits for the end of the same trip.
  const outcome = yield* Effect.exit(Trip.execute({ traveller: "Ada" }))
  yield* Console.log(outcome._tag === "Success" ? "the trip is booked" : "there is no car: the trip is off")
  for (const { sequence, tag } of yield* DurableWorkflow.history(Trip, trip)) yield* Console.log(`  ${sequence} ${tag}`)
})

if (import.meta.main) {
  const store = SqliteStore.layer({ filename: process.argv[2] ?? "trips.db" })
  // With a fixed node id, a restarted process resumes immediately.
  const engine = DurableWorkflow.layer({ nodeId: "travel-agency" }).pipe(Layer.provideMerge(store))
  await Effect.runPromise(main.pipe(Effect.provide(tripLayer.pipe(Layer.provide(companies), Layer.provideMerge(engine)))))
}
