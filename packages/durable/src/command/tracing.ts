/** Spans of executions, where a tracer listens: the built-in one keeps them to itself, and costs 5 µs each. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"
import type { ClaimedCommand } from "../store/Commands.ts"

export const traced = <A, R>(
  context: Context.Context<unknown>,
  { queue, slot, key, attempts, instance }: ClaimedCommand,
  execute: Effect.Effect<A, never, R>,
): Effect.Effect<A, never, R> => {
  if (Context.get(context as Context.Context<never>, Tracer.Tracer) === Tracer.nativeTracer) return execute
  const attributes = { queue, key, attempts, ...(instance === undefined ? {} : { machine: instance.machine, instance: instance.id }) }
  return Effect.withSpan(execute, `command ${slot}`, { kind: "consumer", attributes })
}
