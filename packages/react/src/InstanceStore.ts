/**
 * One instance in a page: the snapshot that the server has confirmed, the events that wait for their answers, and the state that they
 * lead to.
 *
 *     idle        nothing waits
 *     sending     the oldest event is on its way; snapshots that come meanwhile are held, because they may include it
 *     paused      the oldest event had no answer, or the token had ended; it is sent again, under the same id
 *
 * Events that wait are stored in the page, so that a reload sends them too. Two tabs may send the same event: it has one id, so that it
 * takes effect once.
 */

// This package runs without Effect, so time comes from the platform.
// @effect-diagnostics globalDate:off globalTimers:off
import { type AnyMachine, type EventOf, type InstanceClient, Refused, type Sent, type Snapshot, type StateOf } from "@detent/client"

/** What an event would do, as far as the page can say. */
export type Decided<S> =
  | { readonly _tag: "Taken"; readonly state: S }
  | { readonly _tag: "Refused"; readonly message: string }
  /** Only the server can decide it. */
  | { readonly _tag: "Unknown" }

export type Decide<S, E> = (state: S, event: E) => Decided<S>

/** An event that waits for its answer. */
export interface Waiting<E> {
  readonly id: string
  readonly event: E
}

/** Where events that wait are stored: `localStorage`, or what does the same. */
export type QueueStorage = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">

export interface InstanceView<S, E> {
  /** The state after the events that wait; undefined until the server has answered. */
  readonly state: S | undefined
  /** The instance as the server has confirmed it. */
  readonly confirmed: Snapshot<S> | undefined
  /** Events that wait for their answers, oldest first. */
  readonly pending: ReadonlyArray<Waiting<E>>
  /** Why the server refused the latest event, or does not show the instance. Cleared by the next success. */
  readonly error: Error | undefined
}

interface Settling<S> {
  readonly resolve: (sent: Sent<S>) => void
  readonly reject: (error: unknown) => void
}

/** Between tries of an event or a stream that the server refuses for now. */
const pauseMillis = 2000

export class InstanceStore<M extends AnyMachine> {
  readonly #instance: InstanceClient<M>
  readonly #decide: Decide<StateOf<M>, EventOf<M>> | undefined
  readonly #storage: QueueStorage | undefined
  readonly #prefix: string
  readonly #listeners = new Set<() => void>()
  readonly #settling = new Map<string, Settling<StateOf<M>>>()
  #mode: "idle" | "sending" | "paused" = "idle"
  /** Set while a component uses the store. */
  #using: AbortController | undefined
  /** Why the instance could not be followed. Cleared by the next snapshot. */
  #lost: Error | undefined
  /** The newest snapshot that came while an event was sent. */
  #held: Snapshot<StateOf<M>> | undefined
  #view: InstanceView<StateOf<M>, EventOf<M>>

  constructor(instance: InstanceClient<M>, decide: Decide<StateOf<M>, EventOf<M>> | undefined, storage: QueueStorage | undefined) {
    this.#instance = instance
    this.#decide = decide
    this.#storage = storage
    this.#prefix = `detent/${encodeURIComponent(instance.machine)}/${encodeURIComponent(instance.id)}/`
    this.#view = { state: undefined, confirmed: undefined, pending: this.#stored(), error: undefined }
  }

  readonly view = (): InstanceView<StateOf<M>, EventOf<M>> => this.#view

  /** Follows the instance and sends what waits, while there is a listener. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    if (this.#using === undefined) {
      this.#using = new AbortController()
      void this.#follow(this.#using.signal)
      void this.#drain()
    }
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      this.#using?.abort()
      this.#using = undefined
    }
  }

  /** Resolves once the event is stored by the server; rejects where the server refuses it. */
  readonly send = (event: EventOf<M>, { id = crypto.randomUUID() }: { readonly id?: string } = {}): Promise<Sent<StateOf<M>>> => {
    this.#store({ id, event })
    this.#show({ pending: [...this.#view.pending, { id, event }], error: undefined })
    const settled = new Promise<Sent<StateOf<M>>>((resolve, reject) => this.#settling.set(id, { resolve, reject }))
    // `error` shows a refusal. One that the caller does not await is no error of the page.
    settled.catch(() => undefined)
    void this.#drain()
    return settled
  }

  /** Whether the present state takes an event; undefined where only the server can say. */
  readonly can = (event: EventOf<M>): boolean | undefined => {
    const { state } = this.#view
    if (state === undefined || this.#decide === undefined) return undefined
    const decided = this.#decide(state, event)
    return decided._tag === "Unknown" ? undefined : decided._tag === "Taken"
  }

  async #follow(signal: AbortSignal) {
    while (!signal.aborted) {
      try {
        for await (const snapshot of this.#instance.watch({ signal })) this.#received(snapshot)
        return
      } catch (error) {
        if (signal.aborted) return
        this.#lost = asError(error)
        this.#show({ error: this.#lost })
      }
      await pause(pauseMillis, signal)
    }
  }

  #received(snapshot: Snapshot<StateOf<M>>) {
    const isBack = this.#lost !== undefined && this.#view.error === this.#lost
    this.#lost = undefined
    if (isBack) this.#show({ error: undefined })
    if (this.#mode === "sending") this.#held = snapshot
    else this.#confirm(snapshot, {})
  }

  async #drain() {
    if (this.#mode !== "idle") return
    for (let next = this.#view.pending[0]; next !== undefined; next = this.#view.pending[0]) {
      this.#mode = "sending"
      try {
        const sent = await this.#instance.send(next.event, { id: next.id })
        this.#mode = "idle"
        this.#answered(next, sent)
      } catch (error) {
        if (isFinal(error)) {
          this.#mode = "idle"
          this.#refused(next, error)
          continue
        }
        this.#mode = "paused"
        if (error instanceof Refused) this.#show({ error })
        this.#release()
        await pause(pauseMillis, undefined)
        this.#mode = "idle"
        // Its events are in the storage of the page for the next use.
        if (this.#using === undefined && this.#storage !== undefined) return
      }
    }
    this.#mode = "idle"
  }

  #answered({ id }: Waiting<EventOf<M>>, sent: Sent<StateOf<M>>) {
    this.#forget(id)
    const { confirmed } = this.#view
    const { state, sequence = confirmed?.sequence ?? 0 } = sent
    const pending = this.#view.pending.filter((one) => one.id !== id)
    const after = confirmed === undefined || sequence < confirmed.sequence ? confirmed : { ...confirmed, state, sequence }
    const newest = this.#held !== undefined && this.#held.sequence >= (after?.sequence ?? 0) ? this.#held : after
    this.#held = undefined
    if (newest === undefined) this.#show({ pending, error: undefined })
    else this.#confirm(newest, { pending, error: undefined })
    this.#settling.get(id)?.resolve(sent)
    this.#settling.delete(id)
  }

  #refused({ id }: Waiting<EventOf<M>>, error: unknown) {
    this.#forget(id)
    this.#show({ pending: this.#view.pending.filter((one) => one.id !== id), error: asError(error) })
    this.#release()
    this.#settling.get(id)?.reject(error)
    this.#settling.delete(id)
  }

  #release() {
    const held = this.#held
    this.#held = undefined
    if (held !== undefined) this.#confirm(held, {})
  }

  #confirm(snapshot: Snapshot<StateOf<M>>, change: Partial<InstanceView<StateOf<M>, EventOf<M>>>) {
    const { confirmed } = this.#view
    this.#show({ ...change, confirmed: confirmed !== undefined && snapshot.sequence < confirmed.sequence ? confirmed : snapshot })
  }

  /** Decides the events that wait again, on the state that the server has confirmed. */
  #show(change: Partial<InstanceView<StateOf<M>, EventOf<M>>>) {
    const next = { ...this.#view, ...change }
    let state = next.confirmed?.state
    for (const { event } of next.pending) {
      if (state === undefined || this.#decide === undefined) break
      const decided = this.#decide(state, event)
      if (decided._tag === "Taken") state = decided.state
    }
    this.#view = { ...next, state }
    for (const listener of this.#listeners) listener()
  }

  // The queue in the storage of the page: one entry for each event, so that tabs do not overwrite those of others.

  #stored(): ReadonlyArray<Waiting<EventOf<M>>> {
    const storage = this.#storage
    if (storage === undefined) return []
    const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index)).filter(
      (key) => key?.startsWith(this.#prefix) === true,
    )
    return keys.sort().flatMap((key) => {
      try {
        const { event, id } = JSON.parse(storage.getItem(key as string) ?? "") as Waiting<EventOf<M>>
        return [{ event, id }]
      } catch {
        // Not an entry of this package.
        return []
      }
    })
  }

  #store(waiting: Waiting<EventOf<M>>) {
    try {
      this.#storage?.setItem(`${this.#prefix}${nextPlace()}/${waiting.id}`, JSON.stringify(waiting))
    } catch {
      // The storage of the page is full or not allowed: the event is sent, and a reload before its answer loses it.
    }
  }

  #forget(id: string) {
    const storage = this.#storage
    if (storage === undefined) return
    for (let index = storage.length - 1; index >= 0; index--) {
      const key = storage.key(index)
      if (key?.startsWith(this.#prefix) === true && key.endsWith(`/${id}`)) storage.removeItem(key)
    }
  }
}

let places = 0

/** Sorts as the events were sent. */
const nextPlace = (): string => `${Date.now()}-${String(places++).padStart(6, "0")}`

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))

/** A refusal that another try would get too. A token that has ended is replaced when the person logs in again. */
const isFinal = (error: unknown): boolean => error instanceof TypeError || (error instanceof Refused && error.status !== 401)

const pause = (millis: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, millis)
    signal?.addEventListener("abort", () => {
      clearTimeout(timer)
      resolve()
    })
  })
