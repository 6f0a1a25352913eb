/** What the execution of a command came to, and what follows from that: another attempt, an event, nothing. */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import type { Declarations, Tagged } from "../define/Declarations.ts"
import { describe } from "../MachineError.ts"
import type { SlotSettings } from "./CommandSettings.ts"
import * as RetryPolicy from "./RetryPolicy.ts"
import { isEffectSlot } from "./Slot.ts"

export type CommandOutcome =
  | { readonly _tag: "Done"; readonly value: unknown }
  | { readonly _tag: "AlreadyExecuted"; readonly reason: string }
  | CommandFailure
  /** Somebody stopped it; it came to nothing. */
  | { readonly _tag: "Interrupted" }

export interface CommandFailure {
  readonly _tag: "Failed"
  readonly error: unknown
  /** In words. */
  readonly problem: string
  readonly retryable: boolean
  /** Set where a handler asked for a pause of its own. */
  readonly afterMillis: number | undefined
}

type Settings = SlotSettings<object, unknown, unknown, Tagged>
type EffectSlot = Declarations["effectSlots"][string]

/** Carries an outcome past the typed failures of a handler. */
export class Verdict {
  readonly outcome: CommandOutcome
  constructor(outcome: CommandOutcome) {
    this.outcome = outcome
  }
}

export const failed = (error: unknown, retryable: boolean): CommandFailure => ({
  _tag: "Failed",
  error,
  problem: problemOf(error),
  retryable,
  afterMillis: undefined,
})

/** A slot that declares its success gets nothing else. */
export const outcomeOf = (exit: Exit.Exit<unknown, unknown>, slot: EffectSlot | undefined): CommandOutcome => {
  if (Exit.isSuccess(exit)) {
    const fits = !isEffectSlot(slot) || Schema.is(slot.success as unknown as Schema.Schema<unknown>)(exit.value)
    return fits ? { _tag: "Done", value: exit.value } : failed(new Error("what its handler returned does not fit its success schema"), true)
  }
  for (const reason of exit.cause.reasons) {
    if (Cause.isDieReason(reason) && reason.defect instanceof Verdict) return reason.defect.outcome
  }
  if (Cause.hasInterruptsOnly(exit.cause)) return { _tag: "Interrupted" }
  return failed(Cause.squash(exit.cause), true)
}

/** Milliseconds until the next attempt after so many; undefined when it failed for good. */
export const retryDelay = (
  failure: CommandFailure,
  { retryable }: Pick<Settings, "retryable">,
  slot: EffectSlot | undefined,
  policy: RetryPolicy.RetryPolicy,
  attempts: number,
  random: number,
): number | undefined => {
  if (!failure.retryable) return undefined
  if (retryable !== undefined && isDeclaredFailure(failure.error, slot) && !retryable(failure.error)) return undefined
  const delay = RetryPolicy.delayAfter(policy, attempts, random)
  return delay === undefined ? undefined : (failure.afterMillis ?? delay)
}

/** Whether an error is one its slot declares; `onFailure` gets others as a `CommandFailed`. */
export const isDeclaredFailure = (error: unknown, slot: EffectSlot | undefined): boolean =>
  isEffectSlot(slot) && Schema.is(slot.failure as unknown as Schema.Schema<unknown>)(error)

/** Tagged failures that are no `Error` are told by their tag. Their content may be secret. */
const problemOf = (error: unknown): string => {
  if (error instanceof Error) return error.message === "" ? error.name : error.message
  const tag = (error as { readonly _tag?: unknown } | null | undefined)?._tag
  return typeof tag === "string" ? tag : describe(error)
}
