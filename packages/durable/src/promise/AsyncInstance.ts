/** A durable instance for async code: {@link Instance} with Promises and async iterables. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { AnswerOf, HistoryEntry, Instance, InstanceSnapshot, SendOptions } from "../Instance.ts"
import type { AbortOptions, RunPromise } from "./promised.ts"

export interface AsyncInstance<out S, in out E> {
  readonly machine: string
  readonly id: string
  /** Sends an event; resolves once the event is stored and carried out. */
  send(event: E, options?: SendOptions): Promise<void>
  /** Sends an event made with `Event.reply` and returns the answer. */
  ask<V extends E>(event: V, options?: SendOptions): Promise<AnswerOf<V>>
  /** The state as the store has it now. */
  state(): Promise<S>
  /** The state with its sequence number, status and times. */
  snapshot(): Promise<InstanceSnapshot<S, E>>
  /** Resolves with the first state that matches, the current one included. Rejects with `MachineStopped` if the instance ends before. */
  waitFor<T extends S>(predicate: (state: S) => state is T, options?: AbortOptions): Promise<T>
  waitFor(predicate: (state: S) => boolean, options?: AbortOptions): Promise<S>
  /** Resolves with the final state. */
  awaitFinal(options?: AbortOptions): Promise<S>
  /** The current state, then every new one. Ends with the instance. */
  changes(options?: AbortOptions): AsyncIterable<S>
  /** Everything that was journaled, oldest first; read in pages. */
  history(): AsyncIterable<HistoryEntry<S, E>>
  /** Saves a snapshot now. False where a newer one is there already, or a self-sent event is not journaled yet. */
  saveSnapshot(): Promise<boolean>
}

/** `read` runs queries of the store: it rejects once the store is closed. A closed engine refuses events by itself. */
export const asyncInstance = <S, E>(instance: Instance<S, E>, run: RunPromise<never>, read: RunPromise<never>): AsyncInstance<S, E> => {
  const iterable = <A>(stream: Stream.Stream<A, unknown>): AsyncIterable<A> => ({
    [Symbol.asyncIterator]: async function* () {
      yield* Stream.toAsyncIterable(await read(Effect.succeed(stream)))
    },
  })
  return {
    machine: instance.machine,
    id: instance.id,
    send: (event, options) => run(instance.send(event, options)),
    ask: (event, options) => run(instance.ask(event, options)),
    state: () => read(instance.state),
    snapshot: () => read(instance.snapshot),
    waitFor: (predicate: (state: S) => boolean, options?: AbortOptions) => read(instance.waitFor(predicate), options) as Promise<never>,
    awaitFinal: (options) => read(instance.awaitFinal, options),
    changes: (options) => iterable(untilAborted(instance.changes, options?.signal)),
    history: () => iterable(instance.history),
    saveSnapshot: () => read(instance.saveSnapshot),
  }
}

const untilAborted = <A, E>(stream: Stream.Stream<A, E>, signal: AbortSignal | undefined): Stream.Stream<A, unknown> =>
  signal === undefined ? stream : Stream.interruptWhen(stream, failsOnAbort(signal))

const failsOnAbort = (signal: AbortSignal): Effect.Effect<never, unknown> =>
  Effect.callback((resume) => {
    const fail = () => resume(Effect.fail(signal.reason))
    if (signal.aborted) return fail()
    signal.addEventListener("abort", fail, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", fail))
  })
