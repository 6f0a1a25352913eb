/** Channels by name: created for the first reader and removed after the last. */
import { forkLoop } from "@detent/durable"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { Channel, type Frame, type LoadedFrames } from "./Channel.ts"
import { LiveReader } from "./LiveReader.ts"
import { LiveStreams } from "./LiveStreams.ts"

/** A client that reads nothing for this many heartbeats, although frames are waiting, is disconnected. */
const beatsAtMost = 3

export class Channels {
  readonly #channels = new Map<string, Channel>()
  readonly #readers = new Set<LiveReader>()
  #ended = false

  get(name: string): Channel | undefined {
    return this.#channels.get(name)
  }

  get names(): ReadonlyArray<string> {
    return [...this.#channels.keys()]
  }

  get readerCount(): number {
    return this.#readers.size
  }

  /** All frames after the position `since` will be added to the channel. */
  open(name: string, since: number, load: (after: number) => Promise<LoadedFrames>): Channel {
    const known = this.#channels.get(name)
    if (known !== undefined) return known
    const channel = new Channel(since, load)
    if (this.#ended) channel.end()
    this.#channels.set(name, channel)
    return channel
  }

  reader(name: string, channel: Channel, after: number, first?: Frame): LiveReader {
    const reader = new LiveReader(channel, after, first)
    this.#readers.add(reader)
    reader.once("close", () => {
      this.#readers.delete(reader)
      if (channel.readers.size === 0 && this.#channels.get(name) === channel) this.#channels.delete(name)
    })
    return reader
  }

  /** Ends a channel and its readers. A later reader gets a new channel. */
  close(name: string, farewell?: Buffer) {
    this.#channels.get(name)?.end(farewell)
    this.#channels.delete(name)
  }

  beat() {
    for (const reader of this.#readers) reader.beat(beatsAtMost)
  }

  /** Ends all readers. */
  end() {
    this.#ended = true
    for (const channel of this.#channels.values()) channel.end()
  }
}

/** Creates channels that send heartbeats until the scope closes. */
export const makeChannels: Effect.Effect<Channels, never, LiveStreams | Scope.Scope> = Effect.gen(function* () {
  const channels = new Channels()
  const streams = yield* LiveStreams
  streams.add(channels)
  yield* forkLoop(
    "the heartbeat of live streams",
    Effect.delay(
      Effect.sync(() => channels.beat()),
      "10 seconds",
    ),
  )
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      channels.end()
      streams.remove(channels)
    }),
  )
  return channels
})
