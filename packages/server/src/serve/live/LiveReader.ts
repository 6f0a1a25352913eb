/** A stream of server-sent events to one client. It reads frames only when the client has taken the previous ones, and buffers none. */
import { Readable } from "node:stream"
import type { Channel, Frame, LoadedFrames } from "./Channel.ts"

/** The limits of one write; further frames follow when the client has taken these. */
const bytesAtOnce = 16 * 1024
const framesAtOnce = 64

/** Sent immediately, because Node sends the headers with the first bytes. */
const opening = Buffer.from(": open\n\n")

const heartbeat = Buffer.from(": still here\n\n")

export class LiveReader extends Readable {
  readonly #channel: Channel
  #position: number
  #first: Buffer | undefined
  /** `waiting`: the client has taken all frames. `full`: the client has not taken the last write yet. */
  #mode: "waiting" | "loading" | "full" = "full"
  #missedBeats = 0
  /** Frames loaded from the store, shared with other readers, and this reader's position in them. */
  #loaded: LoadedFrames | undefined
  #loadedIndex = 0

  constructor(channel: Channel, after: number, first?: Frame) {
    super({ highWaterMark: 16 * 1024 })
    this.#channel = channel
    this.#position = first?.position ?? after
    this.#first = first?.bytes ?? opening
    channel.readers.add(this)
  }

  override _read() {
    this.#missedBeats = 0
    if (this.#mode === "loading") return
    if (this.#first !== undefined) {
      const first = this.#first
      this.#first = undefined
      this.push(first)
      return
    }
    const frames = this.#fromLoaded() ?? this.#channel.after(this.#position)
    if (frames === undefined) return this.#load()
    if (frames.length > 0) return this.#give(frames)
    if (this.#channel.isEnded) {
      if (this.#channel.farewell !== undefined) this.push(this.#channel.farewell)
      this.push(null)
      return
    }
    this.#mode = "waiting"
  }

  /** The next loaded frames; undefined when all have been sent. */
  #fromLoaded(): ReadonlyArray<Frame> | undefined {
    if (this.#loaded === undefined) return undefined
    const { frames, through } = this.#loaded
    if (this.#loadedIndex < frames.length) return frames.slice(this.#loadedIndex, this.#loadedIndex + framesAtOnce)
    this.#loaded = undefined
    this.#position = Math.max(this.#position, through)
    return undefined
  }

  #give(frames: ReadonlyArray<Frame>) {
    this.#mode = "full"
    let [count, bytes] = [0, 0]
    for (const frame of frames) {
      count++
      bytes += frame.bytes.length
      this.#position = frame.position
      if (bytes >= bytesAtOnce) break
    }
    if (this.#loaded !== undefined) this.#loadedIndex += count
    const [first] = frames
    // A single frame, the usual case, is sent without a copy: all readers share its bytes.
    this.push(count === 1 && first !== undefined ? first.bytes : Buffer.concat(frames.slice(0, count).map((frame) => frame.bytes)))
  }

  #load() {
    this.#mode = "loading"
    this.#channel.load(this.#position).then(
      (loaded) => {
        if (this.destroyed) return
        this.#mode = "full"
        this.#loaded = loaded
        this.#loadedIndex = 0
        this._read()
      },
      (error: unknown) => this.destroy(error instanceof Error ? error : new Error(String(error))),
    )
  }

  wake() {
    if (this.#mode === "waiting") this._read()
  }

  /** Sends a heartbeat. Closes the connection if the client has read nothing for this many heartbeats. */
  beat(beatsAtMost: number) {
    if (this.#mode === "waiting") {
      this.#mode = "full"
      this.push(heartbeat)
      return
    }
    if (this.#mode === "full" && ++this.#missedBeats > beatsAtMost) this.destroy()
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void) {
    this.#channel.readers.delete(this)
    callback(error)
  }
}
