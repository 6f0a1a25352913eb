/**
 * Limits the requests in flight: their number, and how long each may take to arrive and to be answered. One tick per second checks all
 * of them, so a request needs no timer.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { discardRest, type ProblemResponse, refuse } from "./ProblemResponse.ts"
import { isActivity, isUpload, pathOf } from "./RequestGuard.ts"

interface Visit {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly isStream: boolean
  /** Seconds since its start, and since its last byte. */
  age: number
  idle: number
  bytesRead: number
}

export interface RequestLimitValues {
  readonly requests: number
  readonly streams: number
  readonly requestSeconds: number
  readonly answerSeconds: number
}

export class RequestLimits {
  readonly #limits: RequestLimitValues
  readonly #visits = new Set<Visit>()
  readonly #discarded = new Set<Visit>()
  #streams = 0
  #whenEmpty: (() => void) | undefined

  constructor(limits: RequestLimitValues) {
    this.#limits = limits
  }

  /** Requests in flight, without live streams. */
  get requests(): number {
    return this.#visits.size - this.#streams
  }

  /** Admits a request, or returns the refusal of a request beyond the limit. */
  enter(request: IncomingMessage, response: ServerResponse): ProblemResponse | undefined {
    const isStream = isLive(request)
    if (isStream ? this.#streams >= this.#limits.streams : this.requests >= this.#limits.requests) return busy
    const visit: Visit = { request, response, isStream, age: 0, idle: 0, bytesRead: 0 }
    this.#visits.add(visit)
    if (isStream) this.#streams++
    response.once("close", () => {
      this.#visits.delete(visit)
      if (isStream) this.#streams--
      if (this.#whenEmpty !== undefined && this.#unanswered === 0) this.#whenEmpty()
    })
    return undefined
  }

  /** Limits how long the remaining bytes of a refused request may take to arrive. */
  discard(request: IncomingMessage, response: ServerResponse) {
    discardRest(request)
    const visit: Visit = { request, response, isStream: false, age: 0, idle: 0, bytesRead: 0 }
    this.#discarded.add(visit)
    request.once("close", () => this.#discarded.delete(visit))
  }

  /** To be called once a second. */
  tick() {
    for (const visit of this.#discarded) if (++visit.age > this.#limits.requestSeconds) visit.request.destroy()
    for (const visit of this.#visits) {
      visit.age++
      const { request, response } = visit
      if (!request.complete) this.#arriving(visit)
      else if (!response.headersSent && visit.age > this.#limits.answerSeconds && !isActivity(request)) refuse(response, tooSlow)
    }
  }

  #arriving(visit: Visit) {
    const { request, response } = visit
    const { bytesRead } = request.socket
    visit.idle = bytesRead === visit.bytesRead ? visit.idle + 1 : 0
    visit.bytesRead = bytesRead
    const waited = isUpload(request) ? visit.idle : visit.age
    if (waited <= this.#limits.requestSeconds) return
    refuse(response, notArrived)
    // Ends the handler that still waits for more bytes.
    response.once("finish", () => request.destroy())
  }

  /** Calls back when only streams are in flight. */
  whenEmpty(callback: () => void) {
    this.#whenEmpty = callback
    if (this.#unanswered === 0) callback()
  }

  /** A procedure whose answer has begun counts as a stream. */
  get #unanswered(): number {
    return [...this.#visits].filter(({ isStream, request, response }) => !isStream && !(isProcedure(request) && response.headersSent))
      .length
  }
}

/** Matches like the router, which decodes the path and ignores case and repeated slashes. */
const isLive = ({ method, url = "" }: IncomingMessage): boolean =>
  method === "GET" && /(?:\/events|^\/+api\/+v1\/+live)\/*$/i.test(decoded(pathOf(url)))

const decoded = (path: string): string => {
  try {
    return decodeURIComponent(path)
  } catch {
    // No route has a path that cannot be decoded.
    return path
  }
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
