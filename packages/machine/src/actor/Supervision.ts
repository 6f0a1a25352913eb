/** Restarts an actor whose work failed, by a schedule. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

type Step = Effect.Success<ReturnType<typeof Schedule.toStep<unknown, unknown, never, never>>>

export interface Supervisor {
  readonly schedule: Schedule.Schedule<unknown, unknown>
  /** The actor's position in the schedule; set at its first failure. */
  step: Step | undefined
}

/** How many milliseconds to wait before the next start, or undefined when the schedule has ended. */
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
