/** Executes requested effects in memory. They continue when the state is left, and when the actor ends. */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type { Request } from "../decision/Decision.ts"
import { type CommandOutcome, callSlot, eventOf, failed, outcomeOf, retryDelay } from "../effects/Command.ts"
import * as RetryPolicy from "../effects/RetryPolicy.ts"
import type { ActorPort } from "./ActorPort.ts"
import { actionFailed, inspect, report } from "./ActorReport.ts"
import type { ActorState } from "./ActorState.ts"
import { selfOf } from "./SelfOf.ts"

export const execute = (actor: ActorPort, { slot, parameters }: Request, key: string, ended: () => void) => {
  const { record } = actor
  const { declarations } = record.compiled
  const { sequence } = record
  const context = { id: record.id, state: record.currentState, self: selfOf(actor, undefined), key, sequence }
  inspect(record, () => ({ _tag: "CommandStarted", slot }))
  let attempts = 1
  const run = (attempt: number) => callSlot(declarations, slot, parameters, { ...context, attempt })
  const command = record.environment.run(
    attempted(record, slot, run, (count) => {
      attempts = count
    }),
  )
  record.host.track(command)
  command.addObserver((exit) => {
    let outcome = exit._tag === "Success" ? exit.value : outcomeOf(exit, undefined)
    try {
      const event = eventOf(declarations, { slot, id: record.id, key, parameters, attempts }, outcome)
      if (event !== undefined) actor.sendInternal(event, undefined, undefined)
    } catch (cause) {
      outcome = failed(cause, false)
    }
    const error = outcome._tag === "Failed" ? actionFailed(record, "effect", effectError(slot, outcome), undefined) : undefined
    if (error !== undefined) report(record, error)
    inspect(record, () => ({ _tag: "CommandEnded", slot, error }))
    ended()
  })
}

const effectError = (slot: string, { problem, error }: { readonly problem: string; readonly error: unknown }): Error =>
  new Error(`${slot}: ${problem}`, { cause: error })

/** Runs a command as often as its retry policy says. Default: once. */
const attempted = (
  actor: ActorState,
  slot: string,
  run: (attempt: number) => Effect.Effect<unknown, unknown, unknown>,
  tried: (attempts: number) => void,
): Effect.Effect<CommandOutcome, never, unknown> =>
  Effect.gen(function* () {
    const { commands, effectSlots } = actor.compiled.declarations
    const { timeout, retry = RetryPolicy.none, ...settings } = commands?.[slot] ?? {}
    const limited = (attempt: number) =>
      timeout === undefined ? run(attempt) : Effect.timeoutOrElse(run(attempt), { duration: timeout, orElse: () => Effect.die(timedOut) })
    for (let attempts = 1; ; attempts++) {
      tried(attempts)
      const outcome = outcomeOf(yield* Effect.exit(limited(attempts)), effectSlots[slot])
      if (outcome._tag !== "Failed") return outcome
      const delay = retryDelay(outcome, settings, effectSlots[slot], retry, attempts, yield* Random.next)
      if (delay === undefined) return outcome
      yield* Effect.sleep(delay)
    }
  })

const timedOut = new Error("it took longer than its time-out allows")
