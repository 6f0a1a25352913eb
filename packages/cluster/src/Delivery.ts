/**
 * Requests in flight to the nodes that own their instances. The requests for one instance form a line and keep their order: later ones wait
 * until a call reports that the instance has its requests. Requests that a node did not answer are sent again under their ids, to the node
 * that owns the instance by then. Requests for many instances of one node share a call. While two calls are not accepted, further requests
 * are batched.
 *
 * A request is in one call at a time, and only that call can refuse it: after a late refusal from an abandoned call, the copy sent since
 * may still be decided. All requests of a line that are in calls are at one node.
 *
 * The unanswered requests to one node have a bound in number and characters. The next request is refused with `Overloaded`, as by an
 * instance on this node whose mailbox is full. A request whose caller is interrupted is withdrawn, unless it is in a call: then it is not
 * sent again.
 */

import { type RemoteAnswer, type RemoteRequest, reachOperation } from "@detent/durable/internal"
import { Overloaded, PersistenceFailed } from "@detent/machine"
import type { InstanceKey } from "@detent/store"
import { instanceName, monotonicMillis } from "@detent/store/internal"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { CallListener } from "./Peers.ts"
import { type Answers, callCharacters, callLimit, type Parcel } from "./Protocol.ts"

/** An answer of the node that owns the instance. */
export type Answer = Exclude<RemoteAnswer, { _tag: "Elsewhere" }>

/** The most calls to one node that are not accepted: the instances do not have their requests yet. */
const unacceptedLimit = 2

/** The pause before requests that found no node are sent again. It grows to the longest. */
const firstPauseMillis = 20
const longestPauseMillis = 250

/** A node that held accepted requests for this long before it failed counts as having worked: failures are counted from 0 again. */
const steadyMillis = 1000

/** The bounds of the unanswered requests to one node. */
export interface OutgoingLimits {
  readonly requests: number
  /** Characters of their events and states as JSON. */
  readonly characters: number
}

export const defaultOutgoing: OutgoingLimits = { requests: 100_000, characters: 128_000_000 }

/** The unanswered requests to one node, or without a node. */
interface Outgoing {
  requests: number
  characters: number
}

interface Item {
  readonly request: RemoteRequest
  /** The characters of its event or state. */
  readonly size: number
  readonly complete: (exit: Exit.Exit<Answer, PersistenceFailed>) => void
  /** Its place in the order of requests. */
  readonly number: number
  /** The call that has it. */
  call: Call | undefined
  /** It has been in a call. */
  isSent: boolean
  /** It counts no longer: it is answered, has failed, or was withdrawn. */
  isAnswered: boolean
  /** Its caller was interrupted while it was in a call. */
  isAbandoned: boolean
}

interface Line {
  readonly key: InstanceKey
  readonly name: string
  /** Requests to send, in order. */
  waiting: Set<Item>
  /** Unanswered requests in calls to the node `to`. */
  readonly sent: Set<Item>
  to: string | undefined
  /** The number and characters of both. */
  readonly unanswered: Outgoing
  /** The call that has not reported yet that the instance has its requests. */
  unaccepted: Call | undefined
  /** The node whose next call will include the line. */
  offeredTo: string | undefined
  /** The number of failed attempts in a row, and the time of the first. */
  failures: number
  failingSince: number
  /** It waits before it is sent again. */
  isPaused: boolean
}

interface Call {
  readonly address: string
  readonly lines: Array<Line>
  readonly items: Array<{ readonly line: Line; readonly item: Item }>
  readonly parcels: Array<Parcel>
  /** Since when the instances have its requests. */
  acceptedAt: number | undefined
}

/** The interface of the cluster for a delivery. */
export interface Delivering {
  /** The address of the node that owns an instance; undefined if unknown. */
  readonly ownerOf: (key: InstanceKey) => string | undefined
  /** Reads the owners of shards now. */
  readonly refreshOwners: () => void
  readonly call: (address: string, parcels: ReadonlyArray<Parcel>, listener: CallListener) => void
  readonly run: (effect: Effect.Effect<void>) => void
  readonly clock: Clock.Clock
  /** How long a request without a node waits before it fails. */
  readonly patienceMillis: number
  readonly limits: OutgoingLimits
}

export class Delivery {
  readonly #with: Delivering
  readonly #lines = new Map<string, Line>()
  /** Lines with requests to send, by the address of their node. */
  readonly #ready = new Map<string, Set<Line>>()
  /** The number of calls to each node that are not accepted. */
  readonly #unaccepted = new Map<string, number>()
  /** The unanswered requests by the address of their node; by undefined those without one. */
  readonly #outgoing = new Map<string | undefined, Outgoing>()
  #requests = 0
  #isGathering = false
  #isClosed = false

  constructor(delivering: Delivering) {
    this.#with = delivering
  }

  /** Whether requests for the instance are in flight. */
  has(key: InstanceKey): boolean {
    return this.#lines.size > 0 && this.#lines.has(instanceName(key))
  }

  /** How many requests are not answered. */
  get size(): number {
    let size = 0
    for (const { waiting, sent } of this.#lines.values()) size += waiting.size + sent.size
    return size
  }

  request(key: InstanceKey, request: RemoteRequest): Effect.Effect<Answer, PersistenceFailed | Overloaded> {
    return Effect.callback((resume) => {
      if (this.#isClosed) return resume(Effect.fail(notAnswered(key, "this node leaves the cluster")))
      const size = sizeOf(request)
      const overloaded = this.#overloaded(key, size)
      if (overloaded !== undefined) return resume(Effect.fail(overloaded))
      const line = this.#lineOf(key)
      const number = ++this.#requests
      const item: Item = { request, size, complete: resume, number, call: undefined, isSent: false, isAnswered: false, isAbandoned: false }
      line.waiting.add(item)
      this.#count(line, 1, size)
      this.#offer(line)
      return Effect.sync(() => this.#withdraw(line, item))
    })
  }

  /** The refusal of a request that its node has no room for. A single request always has room. */
  #overloaded(key: InstanceKey, size: number): Overloaded | undefined {
    const line = this.#lines.get(instanceName(key))
    const node = line?.to ?? this.#with.ownerOf(key)
    const outgoing = this.#outgoing.get(node)
    const { requests, characters } = this.#with.limits
    if (outgoing === undefined || (outgoing.requests < requests && outgoing.characters + size <= characters)) return undefined
    const { machine, id } = key
    return new Overloaded({
      machine,
      id,
      state: "(on another node)",
      waiting: outgoing.requests,
      characters: outgoing.characters,
      ...(node === undefined ? {} : { node }),
    })
  }

  /** Adds to the unanswered requests of a line and of its node. */
  #count(line: Line, requests: number, characters: number) {
    line.unanswered.requests += requests
    line.unanswered.characters += characters
    this.#countAt(line.to, requests, characters)
  }

  #countAt(address: string | undefined, requests: number, characters: number) {
    const outgoing = this.#outgoing.get(address) ?? { requests: 0, characters: 0 }
    outgoing.requests += requests
    outgoing.characters += characters
    if (outgoing.requests === 0) this.#outgoing.delete(address)
    else this.#outgoing.set(address, outgoing)
  }

  /** The caller of the request was interrupted. */
  #withdraw(line: Line, item: Item) {
    if (item.isAnswered) return
    if (item.call === undefined) this.#drop(line, [item])
    else item.isAbandoned = true
  }

  /** Removes unanswered requests without an answer. */
  #drop(line: Line, items: ReadonlyArray<Item>) {
    for (const item of items) {
      item.isAnswered = true
      line.waiting.delete(item)
      this.#count(line, -1, -item.size)
    }
    if (line.waiting.size === 0 && line.sent.size === 0) this.#remove(line)
  }

  #lineOf(key: InstanceKey): Line {
    const name = instanceName(key)
    const found = this.#lines.get(name)
    if (found !== undefined) return found
    const line: Line = {
      key,
      name,
      waiting: new Set(),
      sent: new Set(),
      to: this.#with.ownerOf(key),
      unanswered: { requests: 0, characters: 0 },
      unaccepted: undefined,
      offeredTo: undefined,
      failures: 0,
      failingSince: 0,
      isPaused: false,
    }
    this.#lines.set(name, line)
    return line
  }

  /** Owners have changed: lines that waited for that are sent, and lines in flight to the former node are redirected. */
  ownersChanged() {
    for (const line of [...this.#lines.values()]) {
      if (line.isPaused) this.#resume(line)
      else {
        const address = this.#with.ownerOf(line.key)
        if (address !== undefined) this.#offerTo(line, address)
      }
    }
  }

  /** Fails unanswered requests. */
  close() {
    this.#isClosed = true
    for (const line of [...this.#lines.values()]) this.#fail(line, "this node leaves the cluster")
  }

  /** The monotonic clock in milliseconds: the wall clock of the node may be adjusted. */
  get #now(): number {
    return monotonicMillis(this.#with.clock)
  }

  /** Queues a line for the next call, if it has requests to send and may send them. */
  #offer(line: Line) {
    if (line.unaccepted !== undefined || line.isPaused || line.waiting.size === 0 || this.#isClosed) return
    const address = this.#with.ownerOf(line.key)
    if (address === undefined) return this.#pause(line, "no node has it")
    this.#offerTo(line, address)
  }

  #offerTo(line: Line, address: string) {
    this.#turn(line, address)
    if (line.unaccepted !== undefined || line.waiting.size === 0 || this.#isClosed || line.offeredTo === address) return
    if (line.offeredTo !== undefined) this.#ready.get(line.offeredTo)?.delete(line)
    line.offeredTo = address
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

  /**
   * Directs the line to this node. The former node stores the events it accepts before it gives the instance up, and accepts nothing after
   * that, so its answers are not awaited.
   */
  #turn(line: Line, address: string) {
    if (line.to === address) return
    if (line.sent.size > 0) this.#takeBack(line, [...line.sent])
    line.unaccepted = undefined
    const { requests, characters } = line.unanswered
    this.#countAt(line.to, -requests, -characters)
    line.to = address
    this.#countAt(address, requests, characters)
  }

  #send(address: string) {
    const ready = this.#ready.get(address)
    if (ready === undefined) return
    while (ready.size > 0 && (this.#unaccepted.get(address) ?? 0) < unacceptedLimit) {
      const call = this.#makeCall(address, ready)
      if (call === undefined) break
      this.#unaccepted.set(address, (this.#unaccepted.get(address) ?? 0) + 1)
      this.#with.call(address, call.parcels, {
        progress: (answers) => this.#progress(call, answers),
        over: (reason) => this.#over(call, reason),
      })
    }
    if (ready.size === 0) this.#ready.delete(address)
  }

  #makeCall(address: string, ready: Set<Line>): Call | undefined {
    const call: Call = { address, lines: [], items: [], parcels: [], acceptedAt: undefined }
    let characters = 0
    for (const line of ready) {
      const next = fitting(line.waiting, callLimit - call.items.length, callCharacters - characters, call.items.length === 0)
      if (next.length === 0 && line.waiting.size > 0) break
      ready.delete(line)
      line.offeredTo = undefined
      if (next.length === 0) continue
      line.unaccepted = call
      call.lines.push(line)
      for (const item of next) {
        line.waiting.delete(item)
        item.call = call
        line.sent.add(item)
        call.items.push({ line, item })
        characters += item.size
      }
      const { machine, id } = line.key
      call.parcels.push({ machine, id, requests: next.map(requestOf) })
    }
    return call.items.length === 0 ? undefined : call
  }

  #progress(call: Call, answers: Answers) {
    const elsewhere = new Map<Line, { readonly reason: string; readonly items: Array<Item> }>()
    for (const [position, answer] of answers) {
      const one = call.items[position]
      if (one === undefined || one.item.isAnswered) continue
      const { line, item } = one
      // A success counts from any call. Any other answer counts only from the call that has the request now.
      if (answer._tag === "Done" || (answer._tag === "Refused" && item.call === call)) this.#answer(line, item, answer)
      else if (answer._tag === "Elsewhere" && item.call === call) {
        const found = elsewhere.get(line)
        if (found === undefined) elsewhere.set(line, { reason: answer.reason, items: [item] })
        else found.items.push(item)
      }
    }
    for (const [line, { reason, items }] of elsewhere) this.#sendAgain(line, items, reason, call)
    this.#accept(call)
  }

  /** The instances have the requests of a call: later ones may follow. */
  #accept(call: Call) {
    if (call.acceptedAt !== undefined) return
    call.acceptedAt = this.#now
    this.#unaccepted.set(call.address, (this.#unaccepted.get(call.address) ?? 1) - 1)
    for (const line of call.lines) {
      if (line.unaccepted !== call) continue
      line.unaccepted = undefined
      this.#offer(line)
    }
    this.#send(call.address)
  }

  #answer(line: Line, item: Item, answer: Answer) {
    item.isAnswered = true
    line.failures = 0
    this.#count(line, -1, -item.size)
    if (!line.sent.delete(item)) line.waiting.delete(item)
    if (line.waiting.size === 0 && line.sent.size === 0) this.#remove(line)
    item.complete(Exit.succeed(answer))
  }

  /** The call has ended. Its unanswered requests are sent again. */
  #over(call: Call, reason: string) {
    const remaining = call.items.filter(({ item }) => item.call === call && !item.isAnswered)
    for (const [line, items] of Map.groupBy(remaining, ({ line }) => line)) {
      this.#sendAgain(
        line,
        items.map(({ item }) => item),
        reason,
        call,
      )
    }
    this.#accept(call)
  }

  #sendAgain(line: Line, items: ReadonlyArray<Item>, reason: string, { acceptedAt }: Call) {
    this.#takeBack(line, items)
    if (line.waiting.size === 0 && line.sent.size === 0) return
    if (acceptedAt !== undefined && this.#now - acceptedAt > steadyMillis) line.failures = 0
    if (!line.isPaused) this.#pause(line, reason)
  }

  /** Returns requests to the waiting ones, in order. */
  #takeBack(line: Line, items: ReadonlyArray<Item>) {
    for (const item of items) {
      item.call = undefined
      line.sent.delete(item)
    }
    line.waiting = new Set([...items, ...line.waiting].sort((left, right) => left.number - right.number))
    const abandoned = items.filter(({ isAbandoned }) => isAbandoned)
    if (abandoned.length > 0) this.#drop(line, abandoned)
  }

  /** Pauses a line that found no node. It is sent again when owners have changed, or after a pause. */
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
    this.#remove(line)
    const failure = Exit.fail(notAnswered(line.key, reason))
    const items = [...line.sent, ...line.waiting]
    line.sent.clear()
    line.waiting.clear()
    this.#count(line, -line.unanswered.requests, -line.unanswered.characters)
    for (const item of items) {
      item.isAnswered = true
      item.complete(failure)
    }
  }

  #remove(line: Line) {
    if (line.offeredTo !== undefined) this.#ready.get(line.offeredTo)?.delete(line)
    if (this.#lines.get(line.name) === line) this.#lines.delete(line.name)
  }
}

/** The request for a call. If it was in a call before, a node may have carried it out, so it is no longer the first. */
const requestOf = (item: Item): RemoteRequest => {
  const { request, isSent } = item
  item.isSent = true
  return isSent && request._tag === "Send" && request.first === true ? { ...request, first: false } : request
}

const sizeOf = (request: RemoteRequest): number => {
  switch (request._tag) {
    case "Send":
      return request.event.length
    case "Start":
      return request.state.length
    case "Wake":
      return 0
  }
}

/** The first items, as many as fit into a call. A call without items takes one of any size. */
const fitting = (items: Iterable<Item>, most: number, characters: number, isEmpty: boolean): ReadonlyArray<Item> => {
  const fit: Array<Item> = []
  let remaining = characters
  for (const item of items) {
    if (fit.length >= most || (item.size > remaining && !(isEmpty && fit.length === 0))) break
    remaining -= item.size
    fit.push(item)
  }
  return fit
}

const notAnswered = ({ machine, id }: InstanceKey, reason: string): PersistenceFailed =>
  new PersistenceFailed({
    machine,
    id,
    operation: reachOperation,
    cause: new Error(`${reason}; it may have been carried out: send it again under the same id`),
  })
