/**
 * Requests to one server. A request that gets no answer, or that the server has no room for, is sent again until `patience` is over. A
 * token that has ended is asked for again.
 */
// This package runs without Effect, so time and chance come from the platform.
// @effect-diagnostics globalDate:off globalRandom:off globalTimers:off
import { Disconnected, type Problem, Refused } from "./errors.ts"

export interface ClientOptions {
  /** The address of the server, such as `https://orders.example`. Default: the origin of the page. */
  readonly url?: string
  /** A token for an instance or of the server, or a function that returns one. It is called again when a token has ended. */
  readonly token?: string | (() => string | Promise<string>)
  /** How long a call is tried without an answer, in milliseconds. Default: 30,000. */
  readonly patience?: number
  /** Default: the `fetch` of the platform. */
  readonly fetch?: typeof fetch
}

export interface Call {
  readonly method?: "GET" | "POST"
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
  /** The idempotency key of the call. */
  readonly id?: string | undefined
}

/** The statuses that ask a client to try again later. */
const later = new Set([408, 429, 502, 503, 504])

const longestPause = 10_000

/** Between the tries of a call or a stream: longer after each, with a share of chance, so that many clients do not return together. */
export const pauseAfter = (tries: number): number => Math.min(longestPause, 100 * 2 ** tries) * (0.5 + Math.random() / 2)

/** Rejects with the signal's reason when it is aborted. */
export const pause = (millis: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort)
      resolve()
    }, millis)
    if (signal?.aborted === true) return abort()
    signal?.addEventListener("abort", abort, { once: true })
  })

export class Requests {
  readonly #options: ClientOptions
  readonly #url: string
  #token: Promise<string> | undefined

  constructor(options: ClientOptions) {
    this.#options = options
    this.#url = (options.url ?? globalThis.location?.origin ?? "").replace(/\/$/, "")
    if (this.#url === "") throw new TypeError('a client needs the address of its server; pass { url: "https://orders.example" }')
  }

  /** The answer of a call that succeeded. Rejects with `Refused`, or `Disconnected` when no answer came in time. */
  async answered(call: Call): Promise<unknown> {
    const response = await this.#tried(call)
    return response.status === 204 ? undefined : response.json()
  }

  async #tried(call: Call): Promise<Response> {
    const { patience = 30_000 } = this.#options
    const deadline = Date.now() + patience
    for (let tries = 0; ; tries++) {
      let cause: unknown
      let wait = pauseAfter(tries)
      try {
        const response = await this.once(call)
        if (!later.has(response.status)) return response
        cause = await problemOf(response)
        wait = Math.max(wait, 1000 * Number(response.headers.get("retry-after") ?? 0) || 0)
      } catch (error) {
        if (error instanceof Refused || call.signal?.aborted === true) throw error
        cause = error
      }
      if (Date.now() + wait > deadline) throw new Disconnected(`${call.method ?? "GET"} ${call.path}`, call.id, cause)
      await pause(wait, call.signal)
    }
  }

  /** One try, with a new token where that one has ended. Rejects with `Refused` where another try would be refused too. */
  async once(call: Call): Promise<Response> {
    const response = await this.#fetched(call)
    if (response.ok || later.has(response.status)) return response
    const problem = await problemOf(response)
    if (problem.status !== 401 || typeof this.#options.token !== "function") throw new Refused(problem)
    const ended = await this.#token
    this.#token = undefined
    if ((await this.#bearer()) === ended) throw new Refused(problem)
    const again = await this.#fetched(call)
    if (again.ok || later.has(again.status)) return again
    throw new Refused(await problemOf(again))
  }

  async #fetched({ method = "GET", path, headers, body, signal, id }: Call): Promise<Response> {
    const token = await this.#bearer()
    const call = this.#options.fetch ?? fetch
    return call(`${this.#url}/api/v1${path}`, {
      method,
      headers: {
        ...headers,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(id === undefined ? {} : { "idempotency-key": id }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
  }

  async #bearer(): Promise<string | undefined> {
    const { token } = this.#options
    if (typeof token !== "function") return token
    const asked = this.#token ?? Promise.resolve().then(token)
    this.#token = asked
    try {
      return await asked
    } catch (error) {
      if (this.#token === asked) this.#token = undefined
      throw error
    }
  }
}

const problemOf = async (response: Response): Promise<Problem> => {
  const { status } = response
  try {
    const {
      type = "",
      title,
      detail,
    } = (await response.json()) as { readonly type?: string; readonly title?: string; readonly detail?: string }
    return { status, kind: type.split(":").at(-1) ?? "", title: title ?? "", detail: detail ?? title ?? `the server answered ${status}` }
  } catch {
    // A proxy between client and server answers without problem details.
    return { status, kind: "", title: response.statusText, detail: `the server answered ${status} ${response.statusText}` }
  }
}
