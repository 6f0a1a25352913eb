/** All live streams of a server: counts their readers, and ends them when the server stops. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** All streams of one feed. */
export interface LiveStream {
  readonly readerCount: number
  /** Ends all readers. */
  end(): void
}

class OpenStreams {
  readonly #all = new Set<LiveStream>()

  add(stream: LiveStream) {
    this.#all.add(stream)
  }

  remove(stream: LiveStream) {
    this.#all.delete(stream)
  }

  get readerCount(): number {
    return [...this.#all].reduce((sum, { readerCount }) => sum + readerCount, 0)
  }

  end() {
    for (const stream of this.#all) stream.end()
  }
}

export class LiveStreams extends Context.Service<LiveStreams, OpenStreams>()("@detent/server/LiveStreams") {
  static readonly layer: Layer.Layer<LiveStreams> = Layer.effect(
    LiveStreams,
    Effect.sync(() => new OpenStreams()),
  )
}
