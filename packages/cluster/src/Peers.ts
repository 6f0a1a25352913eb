/**
 * Calls to other nodes: one connection for each, opened with the first call and closed after a minute without calls.
 *
 *     opening   calls wait for the connection
 *     open      calls are sent immediately; any message shows that the node is alive
 *     closed    it failed, or the node was silent for one lease: all its calls have ended, and the next call opens another
 */
import { describe } from "@detent/machine/internal"
import { monotonicMillis } from "@detent/store/internal"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import * as Socket from "effect/socket/Socket"
import { type Answers, callMessage, type Parcel, path, progressIn } from "./Protocol.ts"

/** The callbacks of a call. */
export interface CallListener {
  /** Called when the instances have all requests, and whenever answers arrive. */
  readonly progress: (answers: Answers) => void
  /** Called once when the call has ended: all its requests are answered, or the connection is closed. */
  readonly over: (reason: string) => void
}

export interface PeersOptions {
  /** Opens a connection to a node. `refused` is called with the HTTP status of a node that refuses it. */
  readonly open: (url: string, refused: (status: number) => void) => Effect.Effect<Socket.Socket>
  readonly run: (effect: Effect.Effect<void>) => void
  /** Connections close with this scope. */
  readonly scope: Scope.Scope
  readonly clock: Clock.Clock
  /** A node that sends nothing for this long, while it has calls, counts as gone. */
  readonly silenceMillis: number
}

const idleMillis = 60_000

interface CallUnderWay {
  readonly listener: CallListener
  unanswered: number
}

export class Peers {
  readonly #options: PeersOptions
  readonly #connections = new Map<string, Connection>()

  constructor(options: PeersOptions) {
    this.#options = options
  }

  call(address: string, parcels: ReadonlyArray<Parcel>, listener: CallListener) {
    let connection = this.#connections.get(address)
    if (connection === undefined) {
      const opened: Connection = new Connection(this.#options, address, () => {
        if (this.#connections.get(address) === opened) this.#connections.delete(address)
      })
      this.#connections.set(address, opened)
      connection = opened
    }
    connection.call(parcels, listener)
  }
}

class Connection {
  readonly #options: PeersOptions
  readonly #address: string
  readonly #closed: () => void
  readonly #calls = new Map<number, CallUnderWay>()
  #number = 0
  /** The HTTP status with which the node refused the connection. */
  #refusedWith: number | undefined = undefined
  #write: ((message: string) => void) | undefined = undefined
  /** Calls that wait for the connection. */
  #waiting: Array<string> = []
  /** When the node last sent a message, or had no calls. By the monotonic clock, in milliseconds. */
  #heardAt: number

  constructor(options: PeersOptions, address: string, closed: () => void) {
    this.#options = options
    this.#address = address
    this.#closed = closed
    this.#heardAt = this.#now
    options.run(Effect.asVoid(Effect.forkIn(Effect.andThen(Effect.yieldNow, this.#life), options.scope)))
  }

  get #now(): number {
    return monotonicMillis(this.#options.clock)
  }

  call(parcels: ReadonlyArray<Parcel>, listener: CallListener) {
    const call = ++this.#number
    if (this.#calls.size === 0) this.#heardAt = this.#now
    this.#calls.set(call, { listener, unanswered: parcels.reduce((sum, { requests }) => sum + requests.length, 0) })
    const message = callMessage({ call, parcels })
    if (this.#write === undefined) this.#waiting.push(message)
    else this.#write(message)
  }

  /** Runs until the connection ends. After that it accepts no calls. */
  get #life(): Effect.Effect<void> {
    const over = (exit: Exit.Exit<string, unknown>) =>
      Effect.sync(() => {
        this.#closed()
        const reason = Exit.isSuccess(exit) ? exit.value : (this.#refusal ?? reasonOf(Cause.squash(exit.cause)))
        const calls = [...this.#calls.values()]
        this.#calls.clear()
        for (const { listener } of calls) listener.over(`${this.#address}: ${reason}`)
      })
    const conversation = Effect.raceFirst(Effect.scoped(this.#conversation), this.#watch)
    return Effect.asVoid(Effect.exit(Effect.onExit(conversation, over)))
  }

  get #refusal(): string | undefined {
    if (this.#refusedWith === undefined) return undefined
    const text = `it did not accept the connection (HTTP status ${this.#refusedWith})`
    return this.#refusedWith === 401 ? `${text}; its token differs from that of this node: give all nodes the same` : text
  }

  get #conversation(): Effect.Effect<never, Socket.SocketError, Scope.Scope> {
    return Effect.gen({ self: this }, function* () {
      const { open, run } = this.#options
      const socket = yield* open(`ws://${this.#address}${path}`, (status) => {
        this.#refusedWith = status
      })
      const writer = yield* socket.writer
      const { pull } = yield* socket.reader
      // A failed write also ends the reader of the connection.
      this.#write = (message) => run(Effect.ignore(writer.write(message)))
      for (const message of this.#waiting.splice(0)) this.#write(message)
      for (;;) for (const message of yield* pull) this.#hear(message)
    })
  }

  #hear(message: string | Uint8Array) {
    this.#heardAt = this.#now
    for (const [number, answers] of progressIn(message)) {
      const call = this.#calls.get(number)
      if (call === undefined) continue
      call.unanswered -= answers.length
      if (call.unanswered <= 0) this.#calls.delete(number)
      call.listener.progress(answers)
      if (call.unanswered <= 0) call.listener.over(`${this.#address}: it did not answer`)
    }
  }

  /** Ends when the node is silent while it has calls, or has had none for a minute. */
  get #watch(): Effect.Effect<string> {
    const { silenceMillis } = this.#options
    const isOver = () => {
      if (this.#now - this.#heardAt <= (this.#calls.size > 0 ? silenceMillis : idleMillis)) return false
      // The next call opens another connection.
      this.#closed()
      return true
    }
    return Effect.as(Effect.repeat(Effect.sleep(silenceMillis / 4), { until: isOver }), `it sent nothing for ${silenceMillis} ms`)
  }
}

/** Adds the root cause: the message that a connection could not be opened says little. */
const reasonOf = (error: unknown): string => {
  if (Socket.isSocketError(error) && error.reason._tag === "SocketCloseError") return `the connection was closed (${error.reason.message})`
  const text = messageIn(error) ?? describe(error)
  const first = firstMessage(error)
  return first === undefined || text.includes(first) ? text : `${text}: ${first}`
}

/** The message of the root cause of an error. */
const firstMessage = (error: unknown): string | undefined => {
  if (typeof error !== "object" || error === null) return undefined
  const before = "reason" in error ? error.reason : "cause" in error ? error.cause : undefined
  return firstMessage(before) ?? messageIn(error)
}

const messageIn = (value: unknown): string | undefined =>
  typeof value === "object" && value !== null && "message" in value && typeof value.message === "string" && value.message !== ""
    ? value.message
    : undefined
