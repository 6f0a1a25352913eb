/** One machine of the server, and one instance of it. */
import { Refused } from "./errors.ts"
import { framesOf } from "./frames.ts"
import { pause, pauseAfter, type Requests } from "./Requests.ts"
import { type Conditions, type FieldOrder, orderText, type Where, whereText } from "./search.ts"
import type { AnswerOf, AnyMachine, EventOf, IndexesOf, InputOf, QuestionOf, StateOf } from "./types.ts"

export interface WaitOptions {
  /** Ends the call or the iteration. */
  readonly signal?: AbortSignal
}

export interface SendOptions extends WaitOptions {
  /** The idempotency key: a repeated event returns the first result. Default: a new UUID, the same for each try of this call. */
  readonly id?: string
}

/** What an event has led to. */
export interface Sent<S> {
  /** `Goto`: the instance entered another state, or its state again; `Stay`: it stayed in its state; `Stop`: it ended. */
  readonly outcome: "Goto" | "Stay" | "Stop"
  readonly state: S
  /** The number of the event in the journal. */
  readonly sequence?: number
}

export interface Snapshot<S> {
  readonly state: S
  /** How many events the instance has taken. */
  readonly sequence: number
  /** `final` and `stopped`: it has ended. `held`: its journal does not fit the machine, and it takes no events. */
  readonly status: "running" | "final" | "stopped" | "held"
  readonly startedAt: number
  readonly updatedAt: number
}

export interface LegalEvent<E> {
  readonly event: E extends { readonly _tag: infer Tag } ? Tag : never
  /** Whether it has an answer. */
  readonly reply: boolean
  /** The states that it may lead to. A guard may still refuse it. */
  readonly targets: ReadonlyArray<string>
  /** JSON Schema of its fields. */
  readonly schema: unknown
}

export interface InstanceClient<M extends AnyMachine> {
  readonly machine: string
  readonly id: string
  /** Sends an event; resolves once it is stored. Rejects with `Refused` where the instance or the server does not take it. */
  send(event: EventOf<M>, options?: SendOptions): Promise<Sent<StateOf<M>>>
  /** Sends an event that has an answer, and resolves with the answer. */
  ask<E extends QuestionOf<M>>(event: E, options?: SendOptions): Promise<AnswerOf<M, E>>
  state(options?: WaitOptions): Promise<StateOf<M>>
  snapshot(options?: WaitOptions): Promise<Snapshot<StateOf<M>>>
  /** Sets labels, and removes those that are null. Resolves with all. Needs a token that may operate. */
  label(labels: Readonly<Record<string, string | null>>, options?: WaitOptions): Promise<Readonly<Record<string, string>>>
  /** The events that the current state takes. */
  legalEvents(options?: WaitOptions): Promise<ReadonlyArray<LegalEvent<EventOf<M>>>>
  /**
   * The current snapshot, then each newer one. Events that come while one is read are one snapshot. After a lost connection it resumes where it was.
   * Ends with the instance.
   */
  watch(options?: WaitOptions): AsyncIterable<Snapshot<StateOf<M>>>
}

type TagOf<S> = S extends { readonly _tag: infer Tag extends string } ? Tag : never

export interface ListOptions<S, X = Record<never, never>> extends WaitOptions {
  readonly state?: TagOf<S> | ReadonlyArray<TagOf<S>>
  readonly status?: "running" | "final" | "failed" | "stopped" | "held"
  /** Only instances whose id begins with this text. */
  readonly search?: string
  /** Conditions on indexed fields of the machine, as in `{ customer: "ada", total: { above: 100 } }`. */
  readonly where?: Where<X>
  /** Conditions on labels, as in `{ incident: "42" }`. */
  readonly labels?: Readonly<Record<string, string>>
  /**
   * By the time of the last change, or by an indexed field, as in `{ dueAt: "ascending" }`. Default: `oldest` first; with `where` or
   * `labels` by id.
   */
  readonly order?: "oldest" | "newest" | FieldOrder<X>
  /** Default: 100. */
  readonly limit?: number
  /** `next` of the page before. */
  readonly after?: string
}

export interface ListedInstance {
  readonly id: string
  /** The tag of its state. */
  readonly state: string
  readonly status: Snapshot<unknown>["status"]
  readonly sequence: number
  readonly startedAt: number
  readonly updatedAt: number
  /** The values of its indexed fields; of an instant in milliseconds since 1970. */
  readonly fields?: Readonly<Record<string, string | number | boolean>>
  readonly labels?: Readonly<Record<string, string>>
}

export interface InstanceList {
  readonly instances: ReadonlyArray<ListedInstance>
  /** Pass it as `after` for the next page. Undefined: there is none. */
  readonly next?: string
  /** Set while a new index is filled: how many stored instances were read. Some may be missing from the list. */
  readonly filling?: { readonly filled: number }
}

export interface MachineClient<M extends AnyMachine> {
  /** An instance, without reading it: its first use is refused if it does not exist. */
  (id: string): InstanceClient<M>
  /** Starts an instance. Rejects with `Refused` of the kind `ActorExists` where the id is taken. */
  start(
    id: string,
    ...input: [InputOf<M>] extends [undefined] ? [input?: undefined, options?: WaitOptions] : [input: InputOf<M>, options?: WaitOptions]
  ): Promise<Snapshot<StateOf<M>>>
  /** Instances in pages: by the time of their last change, or by indexed fields and labels. Needs a token that may read the machine. */
  list(options?: ListOptions<StateOf<M>, IndexesOf<M>>): Promise<InstanceList>
}

/** Keys are printable ASCII without spaces. */
const keyPattern = /^[\x21-\x7e]{1,200}$/

const keyOf = ({ id = crypto.randomUUID() }: SendOptions): string => {
  if (!keyPattern.test(id))
    throw new TypeError(`${JSON.stringify(id)} is no id of an event; use at most 200 letters, digits and signs, without spaces`)
  return id
}

export const machineClient = (requests: Requests, machine: string): MachineClient<AnyMachine> => {
  const group = `/instances/${encodeURIComponent(machine)}`
  const start = (id: string, input?: unknown, { signal }: WaitOptions = {}) => {
    const body = input === undefined ? { id } : { id, input }
    return requests.answered({ method: "POST", path: group, body, signal, id: crypto.randomUUID() })
  }
  const list = ({ signal, where, labels, order, ...query }: ListOptions<unknown, Record<string, Conditions>> = {}) => {
    const conditions = whereText(where, labels)
    const ordered = typeof order === "object" ? orderText(order) : order
    const parameters = Object.entries({ machine, ...query, order: ordered, where: conditions }).flatMap(([name, value]) =>
      [value].flat().flatMap((one) => (one === undefined ? [] : [[name, String(one)]])),
    )
    return requests.answered({ path: `/instances?${new URLSearchParams(parameters)}`, signal })
  }
  return Object.assign((id: string) => instanceClient(requests, machine, id), { start, list }) as unknown as MachineClient<AnyMachine>
}

const instanceClient = (requests: Requests, machine: string, id: string): InstanceClient<AnyMachine> => {
  const path = `/instances/${encodeURIComponent(machine)}/${encodeURIComponent(id)}`
  const snapshot = ({ signal }: WaitOptions = {}) => requests.answered({ path, signal }) as Promise<Snapshot<never>>
  const sent = async (event: unknown, options: SendOptions = {}) =>
    requests.answered({ method: "POST", path: `${path}/events`, body: event, signal: options.signal, id: keyOf(options) }) as Promise<
      Sent<never> & { readonly answer?: never }
    >
  return {
    machine,
    id,
    send: sent,
    ask: async (event, options) => (await sent(event, options)).answer as never,
    state: async (options) => (await snapshot(options)).state,
    snapshot,
    label: async (labels, { signal } = {}) => {
      const call = { method: "POST" as const, path: `${path}/labels`, body: { labels }, signal, id: crypto.randomUUID() }
      return ((await requests.answered(call)) as { readonly labels: Readonly<Record<string, string>> }).labels
    },
    legalEvents: async ({ signal } = {}) => {
      const { events } = (await requests.answered({ path: `${path}/legal-events`, signal })) as {
        readonly events: ReadonlyArray<LegalEvent<never>>
      }
      return events
    },
    watch: ({ signal } = {}) => watching(requests, path, snapshot, signal),
  }
}

async function* watching<S>(
  requests: Requests,
  path: string,
  read: (options: WaitOptions) => Promise<Snapshot<S>>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Snapshot<S>> {
  const leaving = new AbortController()
  const either = signal === undefined ? leaving.signal : AbortSignal.any([signal, leaving.signal])
  let last: Snapshot<S> | undefined
  try {
    for (let tries = 0; ; tries++) {
      try {
        for await (const now of sinceIn(requests, path, read, last, either)) {
          tries = 0
          last = now
          yield now
          if (now.status === "final" || now.status === "stopped") return
        }
      } catch (error) {
        if (error instanceof Refused || signal?.aborted === true) throw error
      }
      // The connection was lost, or closed by a server that stops.
      await pause(pauseAfter(tries), either)
    }
  } finally {
    leaving.abort()
  }
}

/** The snapshots of one connection that are newer than `last`. Ends with the connection. */
async function* sinceIn<S>(
  requests: Requests,
  path: string,
  read: (options: WaitOptions) => Promise<Snapshot<S>>,
  last: Snapshot<S> | undefined,
  signal: AbortSignal,
): AsyncGenerator<Snapshot<S>> {
  let now = await read({ signal })
  if (now.sequence !== last?.sequence || now.status !== last.status) yield now
  const headers = { accept: "text/event-stream", "last-event-id": String(now.sequence) }
  const response = await requests.once({ path: `${path}/events`, headers, signal })
  if (response.body === null || response.status !== 200) return
  for await (const { id } of framesOf(response.body)) {
    // Each event has its sequence number as id. A snapshot may already include it.
    if (id === undefined || Number(id) <= now.sequence) continue
    now = await read({ signal })
    yield now
  }
}
