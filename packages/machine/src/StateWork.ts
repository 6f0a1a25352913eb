/** Starts what a state asks for: timers and work. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { stale } from "./ActorReport.ts"
import type { Node } from "./Compile.ts"
import type { TimerRequest } from "./Decision.ts"
import type { Tagged, Work, WorkDeclaration } from "./Declarations.ts"
import type { Living } from "./Living.ts"
import type { Residence } from "./Residence.ts"
import { selfOf } from "./SelfOf.ts"
import { runCalls } from "./SlotRuns.ts"
import { timeoutEvent } from "./Timeout.ts"

/** Hears of work that died. */
export type WorkFailed = (cause: Cause.Cause<unknown>) => void

export const startStateWork = (actor: Living, node: Node, residence: Residence, failed: WorkFailed) => {
  for (const declared of node.works) {
    const context = { id: actor.id, state: actor.currentState, self: selfOf(actor, residence), effects: runCalls(actor, residence) }
    residence.start(
      actor.environment.run,
      Effect.suspend(() => declared.work(context)),
      (exit) => {
        const event = eventOf(exit, declared, actor.currentState)
        if (Exit.isFailure(event)) failed(event.cause)
        else if (event.value !== undefined) actor.sendInternal(event.value, residence, undefined)
      },
    )
  }
}

/** Work that lasts as long as the actor. */
export const startBackground = (actor: Living, works: ReadonlyArray<Work>, residence: Residence, failed: WorkFailed) => {
  for (const work of works) {
    const context = { id: actor.id, self: selfOf(actor, residence), effects: runCalls(actor, residence) }
    residence.start(
      actor.environment.run,
      Effect.suspend(() => work(context)),
      (exit) => {
        if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) failed(exit.cause)
      },
    )
  }
}

/** Arms timers of a state that has lasted for `elapsed` milliseconds. */
export const armTimers = (actor: Living, timers: ReadonlyArray<TimerRequest>, residence: Residence, elapsed: number) => {
  for (const { name, millis } of timers) {
    residence.arm(
      actor.environment.run,
      name,
      Math.max(0, millis - elapsed),
      () => stale(actor, `(${name})`),
      () => actor.sendInternal(timeoutEvent(name), residence, name),
    )
  }
}

/** The event that the end of work means, if any. */
const eventOf = (
  exit: Exit.Exit<unknown, unknown>,
  { outcomes }: WorkDeclaration,
  state: Tagged,
): Exit.Exit<Tagged | undefined, unknown> => {
  if (outcomes === undefined) {
    return Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause) ? Exit.failCause(exit.cause) : Exit.succeed(undefined)
  }
  try {
    if (Exit.isSuccess(exit)) return Exit.succeed(outcomes.onSuccess(exit.value, { state }))
    const error = Cause.findErrorOption(exit.cause)
    return error._tag === "Some" ? Exit.succeed(outcomes.onFailure(error.value, { state })) : Exit.failCause(exit.cause)
  } catch (defect) {
    return Exit.die(defect)
  }
}
