/** How a task reads its sources and gives its output in parts. */
import * as Stream from "effect/Stream"

export interface TaskChannel {
  /** The pieces of a source, from its beginning. Asked for again, it is read again. Several can be read at the same time. */
  readonly source: (name: string) => AsyncIterable<ReadonlyArray<unknown>>
  /** Hands over a part of the output and waits until the pool has taken it. */
  readonly emit: (items: ReadonlyArray<unknown>) => Promise<void>
}

/** The items of a source, which the pool knows to be of this type. A source that fails ends the worker: there is no error to handle. */
export const itemsOf = <A>(channel: TaskChannel, source: string): Stream.Stream<A> =>
  Stream.suspend(() =>
    Stream.flattenIterable(
      Stream.orDie(Stream.fromAsyncIterable(channel.source(source) as AsyncIterable<ReadonlyArray<A>>, (error) => error)),
    ),
  )
