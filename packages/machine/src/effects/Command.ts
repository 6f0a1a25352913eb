/**
 * A command is a requested effect. This file has its settings, the outcomes of its execution, the event that follows, and
 * its idempotency key.
 */
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { explain } from "../error/MachineError.ts"
import { asSchema } from "../schema/EffectSchema.ts"
import type { Tagged } from "../schema/Variant.ts"
import { type Called, callHandler } from "./HandlerCall.ts"
import * as RetryPolicy from "./RetryPolicy.ts"
import { type DeclaredEffect, isEffectSlot, type SlotDeclarations } from "./Slot.ts"

/** The command that a result belongs to. */
export interface CommandContext<P> {
  /** The instance that requested it. */
  readonly id: string
  /** The idempotency key of the command. */
  readonly key: string
  readonly parameters: P
}

export interface SlotSettings<P, A, X, E> {
  /** The event that follows from success, if any. */
  readonly onSuccess?: (value: A, context: CommandContext<P>) => E | undefined
  /** The event that follows when the command has failed for good, if any. */
  readonly onFailure?: (error: X | CommandFailed, context: CommandContext<P>) => E | undefined
  /** Which failures are worth another attempt. Default: all. */
  readonly retryable?: (error: X) => boolean
  /** Default: exponential backoff in a durable engine, one attempt in memory. */
  readonly retry?: RetryPolicy.RetryPolicy
  /** How long one execution may take. */
  readonly timeout?: Duration.Input
  /** The queue of a durable engine. Default: the name of the machine. */
  readonly queue?: string
  /** Higher goes first in its queue. Default: 0. */
  readonly priority?: number
  /** The command waits until all earlier ordered commands of its instance have ended. */
  readonly ordered?: boolean
}

/** By slot; `Runs` are the slots as `spawn` would call them. */
export type CommandSettings<Runs, E> = {
  readonly [K in keyof Runs]?: Runs[K] extends (...parameters: infer P) => Effect.Effect<infer A, infer X, infer _R>
    ? SlotSettings<NonNullable<P[0 & keyof P]>, A, X, E>
    : never
}

/** The run-time side of {@link CommandSettings}. */
export type UntypedCommandSettings = { readonly [slot: string]: SlotSettings<object, unknown, unknown, Tagged> | undefined }

/** A command failed for good with an error that its slot does not declare: a defect, a time-out, or attempts that a crash cut off. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  slot: Schema.String,
  key: Schema.String,
  attempts: Schema.Number,
  problem: Schema.String,
}) {
  override get message() {
    const times = this.attempts === 1 ? "attempt" : "attempts"
    return `command ${this.slot} (${this.key}) was given up after ${this.attempts} ${times}: ${this.problem}`
  }
}

/** The end of one execution. */
export type CommandOutcome =
  | { readonly _tag: "Done"; readonly value: unknown }
  | { readonly _tag: "AlreadyExecuted"; readonly reason: string }
  | CommandFailure
  /** It was stopped before it ended. */
  | { readonly _tag: "Interrupted" }

export interface CommandFailure {
  readonly _tag: "Failed"
  readonly error: unknown
  /** The error and its causes as text. */
  readonly problem: string
  readonly retryable: boolean
  /** The pause that the handler asked for. */
  readonly afterMillis: number | undefined
}

type Settings = SlotSettings<object, unknown, unknown, Tagged>

/** A defect that carries an outcome past the typed failures of a handler. */
export class Verdict {
  readonly outcome: CommandOutcome
  constructor(outcome: CommandOutcome) {
    this.outcome = outcome
  }
}

export const failed = (error: unknown, retryable: boolean): CommandFailure => ({
  _tag: "Failed",
  error,
  problem: explain(error),
  retryable,
  afterMillis: undefined,
})

/** A failure that the engine itself reports: the stack frames of its error would be those of the engine. */
export const failedBecause = (problem: string, retryable: boolean, cause?: unknown): CommandFailure => {
  const error = new Error(problem, cause === undefined ? {} : { cause })
  error.stack = `${error.name}: ${problem}`
  return failed(error, retryable)
}

/** The outcome of an execution. A success value that does not fit the schema of its slot is a failure. */
export const outcomeOf = (exit: Exit.Exit<unknown, unknown>, slot: DeclaredEffect | undefined): CommandOutcome => {
  if (Exit.isSuccess(exit)) {
    const fits = !isEffectSlot(slot) || Schema.is(slot.success === undefined ? Schema.Void : asSchema(slot.success))(exit.value)
    return fits
      ? { _tag: "Done", value: exit.value }
      : failedBecause("the value its handler returned does not fit its success schema", true)
  }
  for (const reason of exit.cause.reasons) {
    if (Cause.isDieReason(reason) && reason.defect instanceof Verdict) return reason.defect.outcome
  }
  if (Cause.hasInterruptsOnly(exit.cause)) return { _tag: "Interrupted" }
  return failed(Cause.squash(exit.cause), true)
}

/** Milliseconds until the next attempt after `attempts`; undefined when it failed for good. */
export const retryDelay = (
  failure: CommandFailure,
  { retryable }: Pick<Settings, "retryable">,
  slot: DeclaredEffect | undefined,
  policy: RetryPolicy.RetryPolicy,
  attempts: number,
  random: number,
): number | undefined => {
  if (!failure.retryable) return undefined
  if (retryable !== undefined && isDeclaredFailure(failure.error, slot) && !retryable(failure.error)) return undefined
  const delay = RetryPolicy.delayAfter(policy, attempts, random)
  return delay === undefined ? undefined : (failure.afterMillis ?? delay)
}

/** Whether the slot declares the error. `onFailure` gets any other error as a `CommandFailed`. */
export const isDeclaredFailure = (error: unknown, slot: DeclaredEffect | undefined): boolean =>
  isEffectSlot(slot) && slot.failure !== undefined && Schema.is(asSchema(slot.failure))(error)

/** Runs the handler of a slot. A Promise that is rejected with a declared failure of the slot fails; with another reason it is a defect. */
export const callSlot = (
  { name: machine, effectSlots, handlers }: SlotDeclarations,
  slot: string,
  parameters: object,
  context: object,
): Effect.Effect<unknown, unknown, unknown> => {
  const called: Called = { machine, what: `the handler of ${slot}`, isFailure: (reason) => isDeclaredFailure(reason, effectSlots[slot]) }
  return callHandler(called, context, (full) => handlers?.[slot]?.(parameters, full))
}

/** The declarations of a machine about its commands. */
export interface CommandDeclarations {
  readonly commands?: UntypedCommandSettings
  readonly effectSlots: SlotDeclarations["effectSlots"]
}

/** A command after its last attempt. */
export interface ExecutedCommand {
  readonly slot: string
  readonly id: string
  readonly key: string
  readonly parameters: object
  readonly attempts: number
}

/** The event that follows from an outcome; undefined where the machine declares none. Throws where the user's function throws. */
export const eventOf = (
  { commands, effectSlots }: CommandDeclarations,
  { slot, id, key, parameters, attempts }: ExecutedCommand,
  outcome: CommandOutcome,
): Tagged | undefined => {
  const settings = commands?.[slot]
  const context = { id, key, parameters }
  if (outcome._tag === "Done") return settings?.onSuccess?.(outcome.value, context)
  if (outcome._tag !== "Failed") return undefined
  const { error, problem } = outcome
  return settings?.onFailure?.(
    isDeclaredFailure(error, effectSlots[slot]) ? error : new CommandFailed({ slot, key, attempts, problem }),
    context,
  )
}

/** The idempotency key of a requested effect: its instance, the event that requested it, and its position among several. */
export const commandKey = (machine: string, id: string, sequence: number, index: number): string =>
  `${isUnambiguous(machine) ? machine : encodeURIComponent(machine)}/${id}/${sequence}/${index}`

/** Two machines cannot have the same keys if neither name contains a slash. */
const isUnambiguous = (machine: string): boolean => !machine.includes("/") && !machine.includes("%")
