/**
 * Requests on their way to the nodes that have their instances. The requests for one instance form a line and keep their order:
 * while a call has not said that the instance has its requests, later ones wait. Requests that a node did not answer are sent
 * again under their ids, to the node that has the instance by then. Requests for many instances of one node share a call, and
 * while two calls are on their way others gather.
 */

import { type InstanceKey, instanceName, type RemoteAnswer, type RemoteRequest } from "@detent/durable/internal"
import { PersistenceFailed } from "@detent/machine"
import { describe } from "@detent/machine/internal"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import { callLimit, type Parcel, type Progress } from "./Protocol.ts"

/** An answer of a node that has the instance. */
export type Answer = Exclude<RemoteAnswer, { _tag: "Elsewhere" }>

/** Calls to one node whose requests the instances do not have yet. */
const unacceptedLimit = 2

/** The pause before requests that found no node are sent again. It grows to the longest. */
const firstPauseMillis = 20
const longestPauseMillis = 250

interface Item {
  readonly request: RemoteRequest
  readonly complete: (exit: Exit.Exit<Answer, PersistenceFailed>) => void
}

interface Line {
  readonly key: InstanceKey
  readonly name: string
  /** Not answered, in their order. The first `sent` of them are in a call. */
  readonly items: Array<Item>
  sent: number
  /** A call has some of them, and has not said that the instance has them. */
  isUnaccepted: boolean
  /** How often it found no node in a row, and since when. */
  failures: number
  failingSince: number
  /** It waits before it is sent again. */
  isPaused: boolean
}

interface Call {
  readonly address: string
  readonly lines: ReadonlyArray<Line>
  readonly items: ReadonlyArray<{ readonly line: Line; readonly item: Item }>
  readonly answered: Set<number>
  isAccepted: boolean
}

/** What a delivery needs of the cluster. */
export interface Delivering {
  /** The address of the node that has an instance; undefined where none is known to. */
  readonly ownerOf: (key: InstanceKey) => string | undefined
  /** Asks who has what, now. */
  readonly refreshOwners: () => void
  /** Calls a node. The stream says something at least once in the time of a lease, or the node is taken for gone. */
  readonly call: (address: string, parcels: ReadonlyArray<Parcel>) => Stream.Stream<Progress, unknown>
  readonly run: (effect: Effect.Effect<void>) => void
  readonly clock: Clock.Clock
  /** How long a request may find no node before it fails. */
  readonly patienceMillis: number
}

export class Delivery {
  readonly #with: Delivering
  readonly #lines = new Map<string, Line>()
  /** Lines with something to send, by the node they go to. */
  readonly #ready = new Map<string, Set<Line>>()
  /** Calls of each node that are not accepted. */
  readonly #unaccepted = new Map<string, number>()
  #isGathering = false
  #isClosed = false

  constructor(delivering: Delivering) {
    this.#with = delivering
  }

  /** Whether requests for the instance are on their way. */
  has(key: InstanceKey): boolean {
    return this.#lines.size > 0 && this.#lines.has(instanceName(key))
  }

  /** How many requests are not answered. */
  get size(): number {
    let size = 0
    for (const { items } of this.#lines.values()) size += items.length
    return size
  }

  request(key: InstanceKey, request: RemoteRequest): Effect.Effect<Answer, PersistenceFailed> {
    return Effect.callback((resume) => {
      if (this.#isClosed) return resume(Effect.fail(notAnswered(key, "this node leaves the cluster")))
      const name = instanceName(key)
      let line = this.#lines.get(name)
      if (line === undefined) {
        line = { key, name, items: [], sent: 0, isUnaccepted: false, failures: 0, failingSince: 0, isPaused: false }
        this.#lines.set(name, line)
      }
      line.items.push({ request, complete: resume })
      this.#offer(line)
    })
  }

  /** Owners have changed: lines that waited for that are sent. */
  ownersChanged() {
    for (const line of this.#lines.values()) if (line.isPaused) this.#resume(line)
  }

  /** Fails what is not answered. */
  close() {
    this.#isClosed = true
    for (const line of [...this.#lines.values()]) this.#fail(line, "this node leaves the cluster")
  }

  get #now(): number {
    return this.#with.clock.currentTimeMillisUnsafe()
  }

  /** Puts a line among those that are sent next, where it has something to send and may send it. */
  #offer(line: Line) {
    if (line.isUnaccepted || line.isPaused || line.items.length === line.sent || this.#isClosed) return
    const address = this.#with.ownerOf(line.key)
    if (address === undefined) return this.#pause(line, "no node has it")
    const ready = this.#ready.get(address) ?? new Set()
    ready.add(line)
    this.#ready.set(address, ready)
    if (this.#isGathering) return
    this.#isGathering = true
    // All requests of this turn share the calls.
    this.#with.run(
      Effect.andThen(
        Effect.yieldNow,
        Effect.sync(() => {
          this.#isGathering = false
          for (const to of [...this.#ready.keys()]) this.#send(to)
        }),
      ),
    )
  }

  #send(address: string) {
    const ready = this.#ready.get(address)
    while (ready !== undefined && ready.size > 0 && (this.#unaccepted.get(address) ?? 0) < unacceptedLimit) {
      const call = this.#makeCall(address, ready)
      if (ready.size === 0) this.#ready.delete(address)
      if (call === undefined) return
      this.#unaccepted.set(address, (this.#unaccepted.get(address) ?? 0) + 1)
      this.#with.run(this.#perform(call))
    }
  }

  #makeCall(address: string, ready: Set<Line>): Call | undefined {
    const lines: Array<Line> = []
    const items: Array<Call["items"][number]> = []
    for (const line of ready) {
      if (items.length >= callLimit) break
      ready.delete(line)
      const next = line.items.slice(line.sent, line.sent + callLimit - items.length)
      if (next.length === 0 || line.isUnaccepted) continue
      line.sent += next.length
      line.isUnaccepted = true
      lines.push(line)
      for (const item of next) items.push({ line, item })
    }
    return items.length === 0 ? undefined : { address, lines, items, answered: new Set(), isAccepted: false }
  }

  #perform(call: Call): Effect.Effect<void> {
    const parcels = call.lines.map(({ key }, index) => {
      const line = call.lines[index]
      return {
        machine: key.machine,
        id: key.id,
        requests: call.items.flatMap((one) => (one.line === line ? [one.item.request] : [])),
      }
    })
    const listened = Stream.runForEach(this.#with.call(call.address, parcels), (progress) =>
      Effect.sync(() => this.#progress(call, progress)),
    )
    return Effect.flatMap(Effect.exit(listened), (exit) => {
      const reason = Exit.isSuccess(exit) ? `${call.address} did not answer` : `${call.address}: ${describe(Cause.squash(exit.cause))}`
      return Effect.sync(() => this.#over(call, reason))
    })
  }

  #progress(call: Call, { answers }: Progress) {
    const elsewhere = new Map<Line, string>()
    for (const [position, answer] of answers) {
      const one = call.items[position]
      if (one === undefined || call.answered.has(position)) continue
      if (answer._tag === "Elsewhere") {
        elsewhere.set(one.line, answer.reason)
        continue
      }
      call.answered.add(position)
      this.#answer(one.line, one.item, answer)
    }
    if (!call.isAccepted) for (const line of call.lines) if (!elsewhere.has(line)) line.failures = 0
    for (const [line, reason] of elsewhere) this.#sendAgain(line, reason)
    this.#accept(call)
  }

  /** The instances have the requests of a call: later ones may follow. */
  #accept(call: Call) {
    if (call.isAccepted) return
    call.isAccepted = true
    this.#unaccepted.set(call.address, (this.#unaccepted.get(call.address) ?? 1) - 1)
    for (const line of call.lines) {
      line.isUnaccepted = false
      this.#offer(line)
    }
    this.#send(call.address)
  }

  #answer(line: Line, item: Item, answer: Answer) {
    const position = line.items.indexOf(item)
    if (position < 0) return
    line.items.splice(position, 1)
    if (position < line.sent) line.sent--
    if (line.items.length === 0) this.#lines.delete(line.name)
    item.complete(Exit.succeed(answer))
  }

  /** The call has ended. What it did not answer is sent again, with everything behind it. */
  #over(call: Call, reason: string) {
    const left = new Set(call.items.filter((_, position) => !call.answered.has(position)).map(({ line }) => line))
    for (const line of left) this.#sendAgain(line, reason)
    this.#accept(call)
  }

  #sendAgain(line: Line, reason: string) {
    if (line.items.length === 0 || line.sent === 0) return
    line.sent = 0
    this.#pause(line, reason)
  }

  /** The line found no node. It is sent again when owners have changed, or after a pause. */
  #pause(line: Line, reason: string) {
    if (line.failures === 0) line.failingSince = this.#now
    line.failures++
    this.#with.refreshOwners()
    if (this.#now - line.failingSince > this.#with.patienceMillis) return this.#fail(line, reason)
    line.isPaused = true
    const pause = Math.min(firstPauseMillis * 2 ** Math.min(line.failures, 10), longestPauseMillis)
    this.#with.run(
      Effect.andThen(
        Effect.sleep(pause),
        Effect.sync(() => this.#resume(line)),
      ),
    )
  }

  #resume(line: Line) {
    if (!line.isPaused) return
    line.isPaused = false
    this.#offer(line)
  }

  #fail(line: Line, reason: string) {
    this.#lines.delete(line.name)
    const failure = Exit.fail(notAnswered(line.key, reason))
    for (const item of line.items.splice(0)) item.complete(failure)
    line.sent = 0
  }
}

const notAnswered = ({ machine, id }: InstanceKey, reason: string): PersistenceFailed =>
  new PersistenceFailed({
    machine,
    id,
    operation: "reach the node that has it",
    cause: new Error(`${reason}; whether it was carried out is not known: send it again under the same id`),
  })
