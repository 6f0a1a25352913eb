/** Runs what `enter` and `exit` returned, after the commit. */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Hook } from "../decide/Decision.ts"
import { ActionFailed, ProcessingTimeout } from "../MachineError.ts"
import type { ActorPort } from "./ActorPort.ts"

/** What went wrong in hooks, if anything did. */
export type HookError = ActionFailed | ProcessingTimeout

/** Runs hooks one after the other. All of them run; the first failure is the result. */
export const runHooks = (
  actor: ActorPort,
  hooks: ReadonlyArray<Hook>,
  event: string,
): Effect.Effect<HookError | undefined, never, unknown> => {
  if (hooks.length === 0) return Effect.succeed(undefined)
  return Effect.map(
    Effect.forEach(hooks, (hook) => runHook(actor, hook, event)),
    (errors) => errors.find((error) => error !== undefined),
  )
}

const runHook = (actor: ActorPort, { phase, state, effect }: Hook, event: string): Effect.Effect<HookError | undefined, never, unknown> =>
  Effect.matchCause(limited(actor, effect, event), {
    onSuccess: () => undefined,
    onFailure: (cause) => {
      const error = Cause.squash(cause)
      if (error instanceof ProcessingTimeout) return error
      return new ActionFailed({ machine: actor.machine, id: actor.id, phase, state, event, committed: true, cause: error })
    },
  })

/** Waits for something no longer than the machine allows; it goes on by itself. */
export const limitedWait = (actor: ActorPort, wait: Effect.Effect<void>, event: string): Effect.Effect<HookError | undefined> =>
  Effect.matchEffect(limited(actor, wait, event), {
    onSuccess: () => Effect.succeed(undefined),
    onFailure: (error) => Effect.succeed(error),
  }) as Effect.Effect<HookError | undefined>

/**
 * Gives an Effect no more time than the machine allows. It runs beside whoever waits: one that cannot be interrupted, or
 * takes long to end, goes on by itself, and nobody hears of it any more.
 */
export const limited = <A, E>(
  actor: ActorPort,
  effect: Effect.Effect<A, E, unknown>,
  event: string,
): Effect.Effect<A, E | ProcessingTimeout, unknown> => {
  const duration = actor.compiled.processingTimeout
  if (duration === undefined) return effect
  const { machine, id } = actor
  const tooLong = () =>
    Effect.fail(new ProcessingTimeout({ machine, id, state: actor.currentState._tag, event, duration: Duration.format(duration) }))
  return Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.forkDetach(effect, { startImmediately: true }), (fiber) =>
      Effect.onExit(restore(Effect.timeoutOrElse(Fiber.join(fiber), { duration, orElse: tooLong })), () =>
        Effect.sync(() => fiber.interruptUnsafe()),
      ),
    ),
  )
}
