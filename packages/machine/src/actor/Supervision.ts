/** Restarting an actor whose work failed, as often and as soon as a schedule says. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

type Step = Effect.Success<ReturnType<typeof Schedule.toStep<unknown, unknown, never, never>>>

export interface Supervisor {
  readonly schedule: Schedule.Schedule<unknown, unknown>
  /** Where in the schedule the actor is; there since its first failure. */
  step: Step | undefined
}

/** How many milliseconds to wait before the next start, or undefined when the schedule has come to its end. */
export const nextDelay = (supervisor: Supervisor, error: unknown): Effect.Effect<number | undefined> =>
  Effect.gen(function* () {
    const step = supervisor.step ?? (yield* Schedule.toStep(supervisor.schedule))
    supervisor.step = step
    const now = yield* Clock.currentTimeMillis
    return yield* Effect.match(step(now, error), {
      onFailure: () => undefined,
      onSuccess: ([, delay]) => Duration.toMillis(delay),
    })
  })
