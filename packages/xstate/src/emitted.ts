/** The emitted events of a chart as a stream, read from the journal, so that a reader that reconnects misses none. */
import type { Instance, ReadError } from "@detent/durable"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

/** An emitted event with the sequence number of the event that led to it. */
export interface Emitted<out V> {
  readonly sequence: number
  readonly event: V
}

interface Emitting<V> {
  readonly emitted?: ReadonlyArray<V>
}

/**
 * The events that an instance emitted after a sequence number, then each new one. Ends with the instance. Events of its start have the
 * sequence 0 and are included if `after` is not given.
 *
 * ```ts
 * yield* Stream.runForEach(emitted(player), ({ event }) => Effect.log(event.type))
 * ```
 */
export const emitted = <V, E>(
  instance: Instance<Emitting<V>, E>,
  options: { readonly after?: number } = {},
): Stream.Stream<Emitted<V>, ReadError> => {
  let after = options.after ?? 0
  const since = Effect.gen(function* () {
    const found: Array<Emitted<V>> = []
    for (let page = yield* instance.historyPage({ after }); page.length > 0; page = yield* instance.historyPage({ after })) {
      for (const { sequence, state } of page) {
        after = sequence
        found.push(...(state.emitted ?? []).map((event) => ({ sequence, event })))
      }
    }
    return found
  })
  const first =
    options.after !== undefined
      ? Effect.succeed([])
      : Effect.map(
          Effect.catchTag(instance.stateAt(0), "SequenceNotReached", () => Effect.succeed<Emitting<V>>({})),
          (state) => (state.emitted ?? []).map((event) => ({ sequence: 0, event })),
        )
  return Stream.concat(
    Stream.fromIterableEffect(first),
    Stream.concat(
      Stream.flatMap(instance.changes, () => Stream.fromIterableEffect(since)),
      Stream.fromIterableEffect(Effect.suspend(() => since)),
    ),
  )
}
