/** Starts what a state asks for: timers and work. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { TimerRequest } from "../decide/Decision.ts"
import { timeoutEvent } from "../decide/Timeout.ts"
import type { Node } from "../define/Compile.ts"
import type { Tagged, Work, WorkDeclaration } from "../define/Declarations.ts"
import { runCalls } from "../effects/SlotRuns.ts"
import type { ActionFailed } from "../MachineError.ts"
import type { ActorPort } from "./ActorPort.ts"
import { inspect, stale } from "./ActorReport.ts"
import { selfOf } from "./SelfOf.ts"
import type { StateScope } from "./StateScope.ts"
import { nextDelay, type Supervisor } from "./Supervision.ts"

/** Hears of work that died, and how to start it again. */
export type WorkFailed = (cause: Cause.Cause<unknown>, again: () => void) => void

/** Whether anything of a state's work is to run with what the state holds. */
export const hasWork = ({ works }: Node, state: Tagged): boolean => works.length > 0 && works.some((declared) => isWanted(declared, state))

const isWanted = ({ when }: WorkDeclaration, state: Tagged): boolean => when === undefined || when(state)

export const startStateWork = (actor: ActorPort, node: Node, residence: StateScope, failed: WorkFailed) => {
  for (const declared of node.works) {
    if (!isWanted(declared, actor.currentState)) continue
    const start = () => {
      const context = { id: actor.id, state: actor.currentState, self: selfOf(actor, residence), effects: runCalls(actor, residence) }
      residence.start(
        actor.environment.run,
        Effect.suspend(() => declared.work(context)),
        (exit) => {
          const event = eventOf(exit, declared, actor.currentState)
          if (Exit.isFailure(event)) failed(event.cause, start)
          else if (event.value !== undefined) actor.sendInternal(event.value, residence, undefined)
        },
      )
    }
    start()
  }
}

/** Work that lasts as long as the actor. */
export const startBackground = (actor: ActorPort, works: ReadonlyArray<Work>, residence: StateScope, failed: WorkFailed) => {
  for (const work of works) {
    const context = { id: actor.id, self: selfOf(actor, residence), effects: runCalls(actor, residence) }
    const start = () =>
      residence.start(
        actor.environment.run,
        Effect.suspend(() => work(context)),
        (exit) => {
          if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) failed(exit.cause, start)
        },
      )
    start()
  }
}

/**
 * Starts work again when the schedule says so, or tells that it has come to its end. Events are handled meanwhile; leaving
 * the state calls the restart off.
 */
export const restartLater = (
  actor: ActorPort,
  supervisor: Supervisor,
  residence: StateScope,
  error: ActionFailed,
  again: () => void,
  giveUp: () => void,
) => {
  const pause = Effect.gen(function* () {
    const delay = yield* nextDelay(supervisor, error)
    if (delay === undefined) return false
    inspect(actor, () => ({ _tag: "Restarting", error, delay }))
    yield* Effect.sleep(delay)
    return true
  })
  residence.start(actor.environment.run, pause, (exit) => {
    if (Exit.isSuccess(exit) && exit.value) again()
    else giveUp()
  })
}

/** Arms timers of a state. */
export const armTimers = (actor: ActorPort, timers: ReadonlyArray<TimerRequest>, residence: StateScope) => {
  for (const { name, millis } of timers) {
    residence.arm(
      actor.environment.run,
      name,
      millis,
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
