/**
 * The execution of one claimed command by a machine's slot or by the handler of a queue: its contract with the worker, the verdict on a
 * failure, and the failure text that is stored with the command.
 */
import type { RetryPolicy, SlotSettings } from "@detent/machine"
import {
  asSchema,
  type CommandOutcome,
  failedBecause,
  framesOf,
  hidden,
  isEffectSlot,
  redactor,
  retryDelay,
} from "@detent/machine/internal"
import type { ClaimedCommand, Verdict } from "@detent/store"
import { type DatabaseId, idempotencyKey } from "@detent/store/internal"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import * as Tracer from "effect/Tracer"
import { referenceTo, type StoredTrace } from "../runtime/StoredTrace.ts"

export interface Execution {
  readonly timeoutMillis: number
  readonly maxAttempts: number
  /** Starts a fiber with the services that the handler needs. */
  readonly run: <A>(effect: Effect.Effect<A, never, unknown>) => Fiber.Fiber<A, never>
  readonly execute: Effect.Effect<Verdict, never, unknown>
  /** Whether the instance has postponed the event that follows from the command, or an event that its handler sent and waits for. */
  readonly isPostponed?: () => boolean
  /** The verdict on an execution that the worker has ended: it took too long, or its process was killed. */
  readonly conclude: (failure: Failure) => Effect.Effect<Verdict, never, unknown>
}

/**
 * The key that the handler gets. A key that the caller of `enqueue` chose is passed on as it is; only a requested command has a sequence.
 */
export const handedKey = (databaseId: DatabaseId, { key, sequence }: ClaimedCommand): string =>
  sequence < 0 ? key : idempotencyKey(databaseId, key)

export type Failure = Extract<CommandOutcome, { readonly _tag: "Failed" }>

/** A claimed command, and the time until which its claim certainly lasts, on the monotonic clock of this process. */
export interface Held extends ClaimedCommand {
  validUntil: number
}

/** Returns undefined if no handler is registered for the command. */
export type FindExecution = (command: Held) => Execution | undefined

/** A command whose end the store has not recorded yet. */
export type Ended = Pick<ClaimedCommand, "number" | "claim" | "queue" | "slot" | "key" | "attempts" | "instance" | "ordered"> & {
  readonly verdict: Verdict
}

/** Whether a command with this verdict has ended, so that the next ordered one of its instance may begin. */
export const isFinal = ({ _tag }: Verdict): boolean => _tag === "Completed" || _tag === "Skipped" || _tag === "Failed" || _tag === "Handled"

type Slot = Parameters<typeof retryDelay>[2]

/** Whether a failed execution is tried again, and when. */
export const verdictOn = (
  failure: Failure,
  settings: Pick<SlotSettings<object, unknown, unknown, { readonly _tag: string }>, "retryable">,
  slot: Slot,
  policy: RetryPolicy.RetryPolicy,
  attempts: number,
): Effect.Effect<Verdict> =>
  Effect.map(Random.next, (random): Verdict => {
    const problem = problemOf(failure, slot)
    const delayMillis = retryDelay(failure, settings, slot, policy, attempts, random)
    if (delayMillis !== undefined) return { _tag: "Retry", problem, delayMillis }
    const frames = framesOf(failure.error)
    return frames === undefined ? { _tag: "Failed", problem } : { _tag: "Failed", problem, frames }
  })

/** The handler was interrupted, and not by its worker. */
export const selfInterrupted: Failure = failedBecause("it interrupted itself", true)

export const tookTooLong = (millis: number): Failure => failedBecause(`it took longer than its timeout of ${millis} ms`, true)

/** Each process that claimed it was killed: by this command, or by another one that the process executed at the same time. */
export const neverEnded = (attempts: number): Failure => {
  const executions = `${attempts} ${attempts === 1 ? "execution" : "executions"}`
  return failedBecause(
    `${executions} did not end, or did not begin before their process was killed; find out why the process was killed, then retry`,
    false,
  )
}

/** Longer texts are cut. */
const problemLimit = 2000

export const cut = (problem: string): string => (problem.length > problemLimit ? `${problem.slice(0, problemLimit)}…` : problem)

/** The text of the failure, with the fields of the error if its slot declares them. Sensitive fields are not shown. */
const problemOf = ({ error, problem }: Failure, slot: unknown): string => {
  if (!isEffectSlot(slot) || slot.failure === undefined) return cut(problem)
  const codec = Schema.toCodecJson(asSchema(slot.failure))
  const encoded = Schema.encodeUnknownExit(codec)(error)
  // The slot does not declare this error, or it has no fields.
  if (Exit.isFailure(encoded) || typeof encoded.value !== "object" || encoded.value === null) return cut(problem)
  const shown = redactor(codec)(encoded.value)
  // The whole error is sensitive: its message may contain a hidden value.
  if (typeof shown !== "object" || shown === null) return hidden
  const fields: { readonly [name: string]: unknown } = { ...shown }
  const isRepeated = problem === fields["_tag"] || problem === fields["message"]
  return cut(isRepeated ? JSON.stringify(fields) : `${problem} ${JSON.stringify(fields)}`)
}

/**
 * Adds a span to the execution if a tracer exports spans. The built-in tracer exports none, and costs 5 µs for each. `cause`: the trace of
 * the event that requested the command, which the span continues.
 */
export const traced = <A, R>(
  context: Context.Context<unknown>,
  { queue, slot, key, attempts, instance }: ClaimedCommand,
  execute: Effect.Effect<A, never, R>,
  cause: () => Effect.Effect<StoredTrace | undefined> = () => Effect.undefined,
): Effect.Effect<A, never, R> => {
  if (Context.get(context as Context.Context<never>, Tracer.Tracer) === Tracer.nativeTracer) return execute
  const attributes = { queue, key, attempts, ...(instance === undefined ? {} : { machine: instance.machine, instance: instance.id }) }
  return Effect.flatMap(cause(), (found) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const { parent, links } = referenceTo(found, now)
      const continued = parent === undefined ? { root: links.length > 0 } : { parent }
      return Effect.withSpan(execute, `command ${slot}`, { kind: "consumer", attributes, links, ...continued })
    }),
  )
}
