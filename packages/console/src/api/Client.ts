/**
 * Requests to the server that the console came from. The browser sends the session's cookie by itself; a refusal arrives as a
 * `Refused` with the text of the problem.
 */

/** A path below `/api/v1`, or another one, and the type of its answer. */
export interface Read<A> {
  readonly path: string
  /** Carries the type only. */
  readonly answer?: A
}

/** Clock differences below this, in milliseconds, are ignored. */
const noticed = 3000
let skew = 0

/** How far the server's clock is ahead of the browser's. Times of the server are compared with `Date.now() + clockSkew()`. */
export const clockSkew = (): number => skew

/** Estimates the skew from the Date header, which has whole seconds and was written between the request and its answer. */
const noteServerTime = (date: string | null, sentAt: number, heardAt: number) => {
  const at = Date.parse(date ?? "")
  if (Number.isNaN(at)) return
  const ahead = at + 500 - (sentAt + heardAt) / 2
  const doubt = noticed + (heardAt - sentAt) / 2
  if (Math.abs(ahead) < doubt) skew = 0
  else if (Math.abs(ahead - skew) > doubt) skew = ahead
}

type Query = Readonly<Record<string, string | number | boolean | ReadonlyArray<string> | undefined>>

/** The server's refusal: `name` is the kind of problem, `message` the cause and the next step. */
export class Refused extends Error {
  readonly status: number
  readonly kind: string
  readonly title: string
  /** The upload that the request conflicts with. */
  readonly batchId: string | undefined

  constructor(problem: {
    readonly status: number
    readonly kind: string
    readonly title: string
    readonly detail: string
    readonly batchId?: string | undefined
  }) {
    super(problem.detail)
    this.status = problem.status
    this.kind = problem.kind
    this.title = problem.title
    this.batchId = problem.batchId
  }
}

/** The server could not be reached. */
export class Unreachable extends Error {
  constructor(options?: ErrorOptions) {
    super(
      "The server does not answer. It may be stopped or restarting; the console reloads the data as soon as the server is back.",
      options,
    )
  }
}

/** Whether the server answers at all. */
export const isServerThere = (): Promise<boolean> =>
  fetch("/icon.svg", { cache: "no-store" }).then(
    () => true,
    () => false,
  )

/** An address below `/api/v1`, made of names that may contain any character. */
export const pathOf = (names: ReadonlyArray<string>, query: Query = {}): string => {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === "") continue
    for (const one of Array.isArray(value) ? value : [value]) search.append(name, String(one))
  }
  const asked = search.toString()
  return `/api/v1/${names.map(encodeURIComponent).join("/")}${asked === "" ? "" : `?${asked}`}`
}

export const read = <A>(names: ReadonlyArray<string>, query?: Query): Read<A> => ({ path: pathOf(names, query) })

export const fetchJson = async <A>({ path }: Read<A>, signal?: AbortSignal): Promise<A> => {
  const response = await send(path, signal === undefined ? {} : { signal })
  return JSON.parse(await textOf(response)) as A
}

export const fetchText = async (path: string, signal?: AbortSignal): Promise<string> =>
  textOf(await send(path, signal === undefined ? {} : { signal }))

/** The whole body. An incomplete body counts as no answer. */
const textOf = (response: Response): Promise<string> => response.text().catch(unreachable)

export interface Write {
  readonly method: "POST" | "PUT" | "DELETE"
  readonly path: string
  readonly body?: unknown
}

export const write = (method: Write["method"], names: ReadonlyArray<string>, body?: unknown, query?: Query): Write => ({
  method,
  path: pathOf(names, query),
  ...(body === undefined ? {} : { body }),
})

/** A key for a write. Browsers have `randomUUID` on secure addresses only. */
export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("")

/** Writes whose outcome is unknown, by their content: the server may have applied them. */
const unanswered = new Map<string, { readonly key: string; readonly at: number }>()

/** After this time, the same write counts as a new one. */
const repeatedMillis = 10 * 60_000
const mostUnanswered = 100

/**
 * Sends a write with an idempotency key. Where the answer was lost, the same write again has the key of the first, so repeating it
 * does not apply it twice. Returns undefined where the answer is empty.
 */
export const submit = async <A>({ method, path, body }: Write): Promise<A> => {
  const content = body === undefined ? undefined : JSON.stringify(body)
  const sent = `${method} ${path} ${content ?? ""}`
  const earlier = unanswered.get(sent)
  unanswered.delete(sent)
  const key = earlier !== undefined && Date.now() - earlier.at < repeatedMillis ? earlier.key : newKey()
  try {
    const response = await send(path, {
      method,
      // The server requires this type for a write by cookie, even without a body: a form of another site cannot send it.
      headers: { "content-type": "application/json", "idempotency-key": key },
      ...(content === undefined ? {} : { body: content }),
    })
    const text = await textOf(response)
    return (text === "" ? undefined : JSON.parse(text)) as A
  } catch (reason) {
    if (isUnanswered(reason)) {
      unanswered.set(sent, { key, at: Date.now() })
      for (const oldest of [...unanswered.keys()].slice(0, -mostUnanswered)) unanswered.delete(oldest)
    }
    throw reason
  }
}

/** Whether a write that failed may have been applied anyway. */
const isUnanswered = (reason: unknown): boolean =>
  reason instanceof Unreachable || (reason instanceof Refused && (reason.status >= 500 || reason.status === 408))

/** The response of a request that succeeded. */
export const send = async (path: string, init: RequestInit): Promise<Response> => {
  const sentAt = Date.now()
  const response = await fetch(path, init).catch(unreachable)
  noteServerTime(response.headers.get("date"), sentAt, Date.now())
  if (response.ok) return response
  const refusal = await refusalOf(response)
  if (response.status === 401 || response.status === 403) for (const listener of deniedListeners) listener(path)
  throw refusal
}

/** For an answer that did not arrive, or is incomplete. */
const unreachable = (cause: unknown): never => {
  if (cause instanceof DOMException && cause.name === "AbortError") throw cause
  throw new Unreachable({ cause })
}

const deniedListeners = new Set<(path: string) => void>()

/** Calls the listener when the server denies a request: the session has ended, or its role has changed. Returns the function that unsubscribes. */
export const onDenied = (listener: (path: string) => void) => {
  deniedListeners.add(listener)
  return () => void deniedListeners.delete(listener)
}

const refusalOf = async (response: Response): Promise<Error> => {
  const text = await textOf(response)
  const { status, statusText } = response
  try {
    const { type = "", title = statusText, detail = text, batchId } = JSON.parse(text) as Readonly<Record<string, string | undefined>>
    return new Refused({ status, kind: type.split(":").at(-1) ?? "", title, detail, batchId })
  } catch {
    // A proxy between the browser and the server answered.
    return status >= 502
      ? new Unreachable()
      : new Refused({ status, kind: "Unknown", title: statusText, detail: `${status} ${statusText}` })
  }
}

/** The object does not exist, or its name is not valid. */
export const isMissing = (problem: unknown): boolean =>
  problem instanceof Refused &&
  (problem.status === 404 || problem.status === 405 || (problem.status === 400 && problem.kind === "ParamsInvalid"))
