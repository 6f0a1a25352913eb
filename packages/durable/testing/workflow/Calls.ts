/** Records what activities and compensations of a test did, in order, so that tests can count how often each ran. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Activity from "effect/workflow/Activity"

export class Calls {
  readonly all: Array<string> = []

  /** Records a call. */
  note(what: string): Effect.Effect<void> {
    return Effect.sync(() => {
      this.all.push(what)
    })
  }

  of(what: string): number {
    return this.all.filter((call) => call === what).length
  }

  /** An activity that records its name and returns a text. */
  activity(name: string, result = name) {
    return Activity.make({ name, success: Schema.String, execute: Effect.as(this.note(name), result) })
  }

  /** An activity that never ends by itself. */
  stuck(name: string) {
    return Activity.make({ name, execute: Effect.andThen(this.note(name), Effect.never) })
  }
}
