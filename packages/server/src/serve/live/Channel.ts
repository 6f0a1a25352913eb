/**
 * The latest frames of one live stream, shared by all its readers. A reader holds only its position, so a slow one costs nothing, and
 * one that reconnects reads older frames from the store.
 */

/** One event as it goes over the wire, in the bytes of server-sent events. */
export interface Frame {
  readonly position: number
  readonly bytes: Buffer
}

/** Frames after a position, and the position up to which there are no others. */
export interface LoadedFrames {
  readonly frames: ReadonlyArray<Frame>
  readonly through: number
}

interface Reader {
  /** There is more, or the end. */
  readonly wake: () => void
}

/** How many frames are kept for readers that are behind. A frame of a batch has about 200 bytes. */
const keptFrames = 1024

/** How many frames a reader gets at once. */
const givenFrames = 64

export class Channel {
  readonly readers = new Set<Reader>()
  readonly #load: (after: number) => Promise<LoadedFrames>
  readonly #loading = new Map<number, Promise<LoadedFrames>>()
  #frames: Array<Frame> = []
  /** Every frame after this position is here. */
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
    // Dropping half at a time keeps it cheap.
    if (this.#frames.length > 2 * keptFrames) {
      const dropped = this.#frames.splice(0, this.#frames.length - keptFrames)
      this.#since = dropped.at(-1)?.position ?? this.#since
    }
    for (const reader of this.readers) reader.wake()
  }

  /** Some frames after a position; none where there are none yet; undefined where the store has to be asked. */
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

/** An event in the form of server-sent events. */
export const frameOf = (position: number, event: string, data: unknown): Frame => ({
  position,
  bytes: Buffer.from(`id: ${position}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`),
})
