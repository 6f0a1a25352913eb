/** Databases that refuse items, and time that passes quickly. */
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

const trigger = (condition: string) =>
  `create trigger no_more_items before insert on detent_upload_items ${condition} begin select raise(abort, 'no_more_items'); end`

const constraint = (allowed: string) => `alter table detent.upload_items add constraint no_more_items check (${allowed})`

/** Keeps items, or those with larger ids, from being written, and lets them be written again. */
export const breaking: Readonly<Record<string, { readonly break: string; readonly breakLater: string; readonly repair: string }>> = {
  SQLite: { break: trigger(""), breakLater: trigger("when cast(new.id as integer) > 5000"), repair: "drop trigger no_more_items" },
  PostgreSQL: {
    break: constraint("id::bigint < 0"),
    breakLater: constraint("id::bigint <= 5000"),
    repair: "alter table detent.upload_items drop constraint no_more_items",
  },
}

/** Lets time pass until something is done. */
export const hurrying = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.raceFirst(
    effect,
    Effect.forever(
      Effect.andThen(
        TestClock.adjust("100 millis"),
        Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 2))),
      ),
    ),
  )
