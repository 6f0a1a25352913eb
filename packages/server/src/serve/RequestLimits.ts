/**
 * Limits the requests in flight: their number, how long each may take to arrive and to be answered, and how long its client may take to
 * read the answer. One tick per second checks all of them, so a request needs no timer.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { RequestTable, RequestTraits } from "@detent/api/Access"
import { discardRest, type ProblemResponse, refuse } from "./ProblemResponse.ts"
import { pathOf } from "./RequestGuard.ts"

/**
 * What a request counts as. Each has slots of its own, so that requests of strangers take none of those of known clients, and none of
 * both take those of a load balancer.
 */
type Slot = "health" | "unauthenticated" | "requests" | "streams"

interface Visit {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly traits: RequestTraits
  slot: Slot
  /** Seconds since its start, and since its last byte. */
  age: number
  idle: number
  bytesRead: number
  /** Whether the system watches that the client reads the answer. */
  isWatched: boolean
}

export interface RequestLimitValues {
  readonly requests: number
  readonly streams: number
  /** Requests without a token or session. */
  readonly unauthenticatedRequests: number
  readonly requestSeconds: number
  /** The same as `requestSeconds`, for requests without a token or session. */
  readonly unauthenticatedSeconds: number
  readonly answerSeconds: number
}

/** The answers are small and need at most one lookup in the database, so more are not in flight unless the database hangs. */
const healthRequests = 100

export class RequestLimits {
  readonly #limits: RequestLimitValues
  readonly #requestTable: RequestTable
  readonly #most: Readonly<Record<Slot, number>>
  readonly #visits = new Set<Visit>()
  readonly #discarded = new Set<Visit>()
  readonly #taken: Record<Slot, number> = { health: 0, unauthenticated: 0, requests: 0, streams: 0 }
  #whenEmpty: (() => void) | undefined

  constructor(limits: RequestLimitValues, requestTable: RequestTable) {
    this.#limits = limits
    this.#requestTable = requestTable
    const { requests, streams, unauthenticatedRequests: unauthenticated } = limits
    this.#most = { health: healthRequests, unauthenticated, requests, streams }
  }

  /** Admits a request, or returns the refusal of a request beyond the limit. `isKnown`: it has a token or session, or needs none. */
  enter(request: IncomingMessage, response: ServerResponse, isKnown: boolean): ProblemResponse | undefined {
    const visit = this.#visitOf(request, response)
    visit.slot = slotOf(visit.traits, isKnown)
    if (!this.#hasRoom(visit.slot)) return busy
    this.#visits.add(visit)
    this.#taken[visit.slot]++
    // Cloud Tasks signs its calls itself. The handler verifies them, and from then on the work takes as long as it takes.
    if (visit.slot === "unauthenticated" && visit.traits.access === "queue") request.once("end", () => this.#becomeRequest(visit))
    response.once("close", () => {
      this.#visits.delete(visit)
      this.#taken[visit.slot]--
      if (this.#whenEmpty !== undefined && this.#unanswered === 0) this.#whenEmpty()
    })
    return undefined
  }

  #hasRoom(slot: Slot): boolean {
    return this.#taken[slot] < this.#most[slot]
  }

  #becomeRequest(visit: Visit) {
    if (!this.#visits.has(visit)) return
    if (!this.#hasRoom("requests")) return refuse(visit.response, busy)
    this.#taken[visit.slot]--
    visit.slot = "requests"
    this.#taken.requests++
  }

  /** Limits how long the remaining bytes of a refused request may take to arrive. */
  discard(request: IncomingMessage, response: ServerResponse) {
    discardRest(request)
    const visit = this.#visitOf(request, response)
    this.#discarded.add(visit)
    request.once("close", () => this.#discarded.delete(visit))
  }

  /** To be called once a second. */
  tick() {
    for (const visit of this.#discarded) if (++visit.age > this.#limits.unauthenticatedSeconds) visit.request.destroy()
    for (const visit of this.#visits) {
      visit.age++
      const { request, response, traits } = visit
      if (response.headersSent) this.#leaving(visit)
      else if (!request.complete) this.#arriving(visit)
      else if (visit.age > this.#limits.answerSeconds && traits.access !== "queue") refuse(response, tooSlow)
    }
  }

  #arriving(visit: Visit) {
    const { request, response } = visit
    const { bytesRead } = request.socket
    visit.idle = bytesRead === visit.bytesRead ? visit.idle + 1 : 0
    visit.bytesRead = bytesRead
    const waited = visit.traits.takesFile ? visit.idle : visit.age
    if (waited <= this.#patience(visit)) return
    refuse(response, notArrived)
    // Ends the handler that still waits for more bytes.
    response.once("finish", () => request.destroy())
  }

  /** Ends the connection of a client that does not read its answer. Live streams have limits of their own. */
  #leaving(visit: Visit) {
    const { response, slot } = visit
    const { socket } = response
    if (slot === "streams" || socket === null) return
    if (slot === "unauthenticated" && visit.age > this.#limits.requestSeconds) socket.destroy()
    if (visit.isWatched) return
    visit.isWatched = true
    // A timeout of a socket also means that the system could send none of the waiting bytes for so long.
    response.setTimeout(this.#patience(visit) * 1000, () => {
      if (socket.writableLength > 0) socket.destroy()
    })
  }

  #patience({ slot }: Visit): number {
    return slot === "requests" ? this.#limits.requestSeconds : this.#limits.unauthenticatedSeconds
  }

  #visitOf(request: IncomingMessage, response: ServerResponse): Visit {
    const { method = "GET", url = "" } = request
    const traits = this.#requestTable(method, pathOf(url))
    return { request, response, traits, slot: "unauthenticated", age: 0, idle: 0, bytesRead: 0, isWatched: false }
  }

  /** Calls back when only streams are in flight. */
  whenEmpty(callback: () => void) {
    this.#whenEmpty = callback
    if (this.#unanswered === 0) callback()
  }

  /** A procedure whose answer has begun counts as a stream. */
  get #unanswered(): number {
    return [...this.#visits].filter(({ slot, request, response }) => slot !== "streams" && !(isProcedure(request) && response.headersSent))
      .length
  }
}

const slotOf = ({ access, isStream }: RequestTraits, isKnown: boolean): Slot => {
  if (access === "everyone") return "health"
  if (!isKnown) return "unauthenticated"
  return isStream ? "streams" : "requests"
}

const isProcedure = ({ url = "" }: IncomingMessage): boolean => pathOf(url).startsWith("/rpc")

export const busy: ProblemResponse = {
  status: 503,
  name: "Busy",
  title: "Too many requests in flight",
  detail: "nothing was done; retry in a second, with the same Idempotency-Key",
  headers: { "retry-after": "1" },
}

const notArrived: ProblemResponse = {
  status: 408,
  name: "RequestTimeout",
  title: "The request did not arrive in time",
  detail: "the body did not arrive within the time limit; send the request again",
}

export const tooSlow: ProblemResponse = {
  status: 504,
  name: "AnswerTimeout",
  title: "The request took too long",
  detail: "the answer was not ready in time; check the current state before you retry, or retry with the same Idempotency-Key",
}
