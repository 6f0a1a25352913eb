/**
 * Requests to the server that the console came from. The browser sends the session's cookie by itself; a refusal arrives as a
 * `Refused` with the problem's words.
 */

/** A path below `/api/v1`, or another one, and the type of its answer. */
export interface Read<A> {
  readonly path: string
  /** Carries the type only. */
  readonly answer?: A
}

type Query = Readonly<Record<string, string | number | boolean | ReadonlyArray<string> | undefined>>

/** The server's refusal: `name` is the kind of problem, `message` what happened and what to do. */
export class Refused extends Error {
  readonly status: number
  readonly kind: string
  readonly title: string

  constructor(problem: { readonly status: number; readonly kind: string; readonly title: string; readonly detail: string }) {
    super(problem.detail)
    this.status = problem.status
    this.kind = problem.kind
    this.title = problem.title
  }
}

/** The server could not be reached. */
export class Unreachable extends Error {
  constructor(options?: ErrorOptions) {
    super("The server does not answer. It may be stopped or restarting; the console reads again as soon as it is back.", options)
  }
}

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
  return (await response.json()) as A
}

export const fetchText = async (path: string, signal?: AbortSignal): Promise<string> =>
  (await send(path, signal === undefined ? {} : { signal })).text()

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

/** Sends a write under a key of its own, so that a write that the browser repeats is applied once. Returns undefined where there is no answer. */
export const submit = async <A>({ method, path, body }: Write, key: string = newKey()): Promise<A> => {
  const response = await send(path, {
    method,
    // A write by cookie needs the type also without a body: a form of another site cannot send it.
    headers: { "content-type": "application/json", "idempotency-key": key },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return (text === "" ? undefined : JSON.parse(text)) as A
}

/** The response of a request that succeeded. */
export const send = async (path: string, init: RequestInit): Promise<Response> => {
  const response = await fetch(path, init).catch((cause: unknown) => {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause
    throw new Unreachable({ cause })
  })
  if (response.ok) return response
  const refusal = await refusalOf(response)
  if (response.status === 401 || response.status === 403) for (const listener of deniedListeners) listener(path)
  throw refusal
}

const deniedListeners = new Set<(path: string) => void>()

/** Calls the listener when the server denies a request: the session has ended, or its role has changed. Returns what ends that. */
export const onDenied = (listener: (path: string) => void) => {
  deniedListeners.add(listener)
  return () => void deniedListeners.delete(listener)
}

const refusalOf = async (response: Response): Promise<Error> => {
  const text = await response.text()
  const { status, statusText } = response
  try {
    const { type, title, detail } = JSON.parse(text) as { readonly type?: string; readonly title?: string; readonly detail?: string }
    return new Refused({ status, kind: (type ?? "").split(":").at(-1) ?? "", title: title ?? statusText, detail: detail ?? text })
  } catch {
    // A proxy between the browser and the server answered.
    return status >= 502
      ? new Unreachable()
      : new Refused({ status, kind: "Unknown", title: statusText, detail: `${status} ${statusText}` })
  }
}

/** There is nothing of this name, or there can be nothing of it. */
export const isMissing = (problem: unknown): boolean =>
  problem instanceof Refused &&
  (problem.status === 404 || problem.status === 405 || (problem.status === 400 && problem.message.startsWith("the path does not fit")))
