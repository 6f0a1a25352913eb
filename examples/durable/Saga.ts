/**
 * A trip is booked in three steps that belong to three companies. When the last one fails, or the trip is cancelled,
 * what was booked is cancelled, last first and once: also when the process dies in the middle of it.
 *
 * Run it: `npx node examples/durable/Saga.ts trips.db`. Within five seconds stop it with Ctrl-C, and run it again: what was booked
 * is not booked again. There is no car, so both bookings are cancelled. Delete the file to start anew.
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
    // The car is only to be had the day before. Nothing of the trip is in memory until then: Effect sleeps up to a minute in
    // memory by default, and such a sleep begins anew in a process that was killed. With a threshold of 0 it is a timer in
    // the store, and ends when it would have ended.
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
  // With `discard` it is started, or found where an earlier process started it, and its id is returned at once.
  const trip = yield* Trip.execute({ traveller: "Ada" }, { discard: true })
  yield* Console.log("the trip is under way; stop this with Ctrl-C and run it again, and it resumes")
  // The same traveller is the same trip: this one waits for its end.
  const outcome = yield* Effect.exit(Trip.execute({ traveller: "Ada" }))
  yield* Console.log(outcome._tag === "Success" ? "the trip is booked" : "there is no car: the trip is off")
  for (const { sequence, tag } of yield* DurableWorkflow.history(Trip, trip)) yield* Console.log(`  ${sequence} ${tag}`)
})

if (import.meta.main) {
  const store = SqliteStore.layer({ filename: process.argv[2] ?? "trips.db" })
  // With a name of its own the process resumes at once where it was killed.
  const engine = DurableWorkflow.layer({ nodeId: "travel-agency" }).pipe(Layer.provideMerge(store))
  await Effect.runPromise(main.pipe(Effect.provide(tripLayer.pipe(Layer.provide(companies), Layer.provideMerge(engine)))))
}
