/** Why a call was rejected. */

/** Problem details (RFC 9457) as the server answers them. */
export interface Problem {
  /** As in `InvalidTransition` or `InstanceNotFound`. */
  readonly kind: string
  readonly status: number
  readonly title: string
  /** The cause and the next step, for people. */
  readonly detail: string
}

/** The server refused the call. Another try of the same call is refused too, unless the instance or the token changes. */
export class Refused extends Error implements Problem {
  override readonly name = "Refused"
  readonly kind: string
  readonly status: number
  readonly title: string
  readonly detail: string

  constructor({ kind, status, title, detail }: Problem) {
    super(detail)
    this.kind = kind
    this.status = status
    this.title = title
    this.detail = detail
  }
}

/** No answer came for as long as the client waits. An event may be stored: sent again with the same `id`, it takes effect once. */
export class Disconnected extends Error {
  override readonly name = "Disconnected"
  /** The id that the event was sent with. */
  readonly id: string | undefined

  constructor(what: string, id: string | undefined, cause: unknown) {
    super(
      `${what}: no answer of the server; ${id === undefined ? "try again" : `send it again with { id: ${JSON.stringify(id)} }, so that it takes effect once`}`,
      { cause },
    )
    this.id = id
  }
}
