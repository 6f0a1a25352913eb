/**
 * One live stream for all tabs of a browser. A browser opens at most six HTTP/1.1 connections to a host, so the tabs elect a leader
 * by a Web Lock; it holds the stream and shares its events over a BroadcastChannel. When that tab closes, the lock passes to another.
 *
 * Modes: `connecting` -> `live` -> `offline` (the stream broke or fell silent; it is opened again with backoff) -> `live` ...; `denied`
 * (the session is missing or has ended). When another tab becomes the leader, all tabs are `connecting` until it has opened the stream.
 *
 * Events are hints. A listener reads visible data again; after a reconnect, all of it.
 */

export type LiveMode = "connecting" | "live" | "offline" | "denied"

export interface LiveEvent {
  readonly topic: string
  readonly data: unknown
}

type Message =
  | { readonly kind: "event"; readonly event: LiveEvent; readonly at: number }
  | { readonly kind: "mode"; readonly mode: LiveMode; readonly at: number }
  | { readonly kind: "hello" }

export interface LiveState {
  readonly mode: LiveMode
  /** When the last event or heartbeat arrived. Undefined before the first connection. */
  readonly heardAt: number | undefined
  /** The number of connections so far. When it changes, all data is read again. */
  readonly connections: number
}

const channelName = "detent-live"
const firstDelay = 500
const longestDelay = 10_000

/** The server sends a heartbeat every two seconds. A stream that is silent for this long is dead, although its connection may look open. */
const deadAfter = 10_000

export class LiveStream {
  #state: LiveState = { mode: "connecting", heardAt: undefined, connections: 0 }
  readonly #stateListeners = new Set<() => void>()
  readonly #eventListeners = new Set<(event: LiveEvent) => void>()
  readonly #channel = new BroadcastChannel(channelName)
  readonly #closing = new AbortController()
  #holdsStream = false

  constructor() {
    this.#channel.addEventListener("message", ({ data }: MessageEvent<Message>) => this.#receive(data))
    this.#channel.postMessage({ kind: "hello" } satisfies Message)
    void this.#elect()
  }

  readonly state = (): LiveState => this.#state

  readonly subscribe = (listener: () => void) => {
    this.#stateListeners.add(listener)
    return () => void this.#stateListeners.delete(listener)
  }

  readonly onEvent = (listener: (event: LiveEvent) => void) => {
    this.#eventListeners.add(listener)
    return () => void this.#eventListeners.delete(listener)
  }

  close() {
    this.#closing.abort()
    this.#channel.close()
  }

  async #elect() {
    const { signal } = this.#closing
    // Browsers offer locks on secure addresses only; elsewhere every tab has a stream of its own.
    if (!("locks" in navigator)) return this.#hold(signal)
    await navigator.locks.request(channelName, { signal }, () => this.#hold(signal)).catch(ignoreAbort)
  }

  async #hold(signal: AbortSignal) {
    this.#holdsStream = true
    // The stream of the tab that held the lock before is gone: what changes until the next one is open has to be read again.
    this.#tell({ kind: "mode", mode: "connecting", at: Date.now() })
    let delay = firstDelay
    while (!signal.aborted) {
      const outcome = await this.#read(signal)
      if (outcome === "opened") delay = firstDelay
      this.#tell({ kind: "mode", mode: outcome === "denied" ? "denied" : "offline", at: Date.now() })
      await pause(delay, signal)
      delay = Math.min(delay * 2, longestDelay)
    }
  }

  /** Reads the stream until it ends. */
  async #read(signal: AbortSignal): Promise<"opened" | "failed" | "denied"> {
    let opened = false
    const silence = new Silence(deadAfter)
    try {
      const response = await fetch("/api/v1/live", {
        headers: { accept: "text/event-stream" },
        signal: AbortSignal.any([signal, silence.signal]),
      })
      if (response.status === 401 || response.status === 403) return "denied"
      if (!response.ok || response.body === null) return "failed"
      opened = true
      this.#tell({ kind: "mode", mode: "live", at: Date.now() })
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
      let text = ""
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        silence.end()
        const blocks = (text + part.value).split("\n\n")
        text = blocks.pop() ?? ""
        for (const block of blocks) this.#tell(messageOf(block))
      }
    } catch {
      // The server stopped, or the connection broke or fell silent: the caller opens the stream again.
    } finally {
      silence.close()
    }
    return opened ? "opened" : "failed"
  }

  #tell(message: Message) {
    this.#channel.postMessage(message)
    this.#receive(message)
  }

  #receive(message: Message) {
    if (message.kind === "hello") {
      const { mode, heardAt } = this.#state
      if (this.#holdsStream) this.#channel.postMessage({ kind: "mode", mode, at: heardAt ?? Date.now() } satisfies Message)
      return
    }
    const { connections } = this.#state
    if (message.kind === "event") {
      this.#set({ mode: "live", heardAt: message.at, connections })
      if (message.event.topic !== "beat") for (const listener of this.#eventListeners) listener(message.event)
      return
    }
    const isNew = message.mode === "live" && this.#state.mode !== "live"
    const heardAt = message.mode === "live" ? message.at : this.#state.heardAt
    this.#set({ mode: message.mode, heardAt, connections: isNew ? connections + 1 : connections })
  }

  #set(state: LiveState) {
    this.#state = state
    for (const listener of this.#stateListeners) listener()
  }
}

/** Aborts its signal when `end` was not called for some time. */
class Silence {
  readonly #millis: number
  readonly #controller = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(millis: number) {
    this.#millis = millis
    this.end()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Called when data arrives. Restarts the timer. */
  end() {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#controller.abort(), this.#millis)
  }

  close() {
    clearTimeout(this.#timer)
  }
}

/** Parses a block of the stream. A comment line, which keeps the connection open, counts as a heartbeat. */
const messageOf = (block: string): Message => {
  const lines = block.split("\n")
  const values = (name: string) =>
    lines.flatMap((line) => (line.startsWith(`${name}:`) ? [line.slice(name.length + 1).replace(/^ /, "")] : []))
  const data = values("data")
  const topic = data.length === 0 ? "beat" : (values("event").at(-1) ?? "message")
  return { kind: "event", event: { topic, data: data.length === 0 ? undefined : parsed(data.join("\n")) }, at: Date.now() }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const pause = (millis: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener("abort", end)
      resolve()
    }
    const timer = setTimeout(end, millis)
    signal.addEventListener("abort", end)
  })

const ignoreAbort = (problem: unknown) => {
  if (!(problem instanceof DOMException && problem.name === "AbortError")) throw problem
}
