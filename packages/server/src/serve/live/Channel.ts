/**
 * The latest frames of one live stream, shared by all its readers. A reader holds only its position, so a slow reader needs no buffer.
 * A reader that reconnects loads older frames from the store.
 */

/** One server-sent event, as the bytes on the wire. */
export interface Frame {
  readonly position: number
  readonly bytes: Buffer
}

/** Frames after a position, and the position up to which they are complete. */
export interface LoadedFrames {
  readonly frames: ReadonlyArray<Frame>
  readonly through: number
}

interface Reader {
  /** Called when the channel has new frames or has ended. */
  readonly wake: () => void
}

/** How many frames are kept for readers that are behind. A frame of a batch has about 200 bytes. */
const keptFrames = 1024

/** The most frames that a reader gets at once. */
const givenFrames = 64

export class Channel {
  readonly readers = new Set<Reader>()
  readonly #load: (after: number) => Promise<LoadedFrames>
  readonly #loading = new Map<number, Promise<LoadedFrames>>()
  #frames: Array<Frame> = []
  /** The channel has every frame after this position. */
  #since: number
  #last: number
  #ended = false
  #farewell: Buffer | undefined

  constructor(since: number, load: (after: number) => Promise<LoadedFrames>) {
    this.#since = since
    this.#last = since
    this.#load = load
  }

  get last(): number {
    return this.#last
  }

  get isEnded(): boolean {
    return this.#ended
  }

  /** The last frame for each reader, after all others. */
  get farewell(): Buffer | undefined {
    return this.#farewell
  }

  add(frames: ReadonlyArray<Frame>) {
    const fresh = frames.filter(({ position }) => position > this.#last)
    const newest = fresh.at(-1)
    if (newest === undefined) return
    this.#frames.push(...fresh)
    this.#last = newest.position
    // Drops half of the frames at a time: a splice for every frame would copy all others.
    if (this.#frames.length > 2 * keptFrames) {
      const dropped = this.#frames.splice(0, this.#frames.length - keptFrames)
      this.#since = dropped.at(-1)?.position ?? this.#since
    }
    for (const reader of this.readers) reader.wake()
  }

  /** The next frames after a position; empty where there are none yet; undefined where they have to be loaded from the store. */
  after(position: number): ReadonlyArray<Frame> | undefined {
    if (position < this.#since) return undefined
    if (position >= this.#last) return []
    let [low, high] = [0, this.#frames.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#frames[middle]?.position ?? 0) > position) high = middle
      else low = middle + 1
    }
    return this.#frames.slice(low, low + givenFrames)
  }

  /** Loads frames from the store. Concurrent readers of the same position share one load. */
  load(after: number): Promise<LoadedFrames> {
    const known = this.#loading.get(after)
    if (known !== undefined) return known
    const loading = this.#load(after).finally(() => this.#loading.delete(after))
    this.#loading.set(after, loading)
    return loading
  }

  end(farewell?: Buffer) {
    this.#ended = true
    this.#farewell = farewell
    for (const reader of this.readers) reader.wake()
  }
}

/** Encodes a server-sent event. */
export const frameOf = (position: number, event: string, data: unknown): Frame => ({
  position,
  bytes: Buffer.from(`id: ${position}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`),
})
