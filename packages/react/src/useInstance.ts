/** One instance in a component. */
import type { AnyMachine, EventOf, MachineClient, Sent, StateOf } from "@detent/client"
import { useSyncExternalStore } from "react"
import { type Decide, InstanceStore, type InstanceView, type QueueStorage } from "./InstanceStore.ts"

export interface UseInstanceOptions<S, E> {
  /** Decides events in the page, so that their states are shown at once: `optimistic(Order)` of `@detent/react/optimistic`. */
  readonly decide?: Decide<S, E>
  /** Keeps events that wait through a reload. Default: `localStorage`. `null`: they are lost with the page. */
  readonly storage?: QueueStorage | null
}

export interface UsedInstance<S, E> extends InstanceView<S, E> {
  /** Sends an event; resolves once the server has stored it. It waits while there is no network. */
  readonly send: (event: E, options?: { readonly id?: string }) => Promise<Sent<S>>
  /** Whether the state takes an event; undefined where only the server can say. */
  readonly can: (event: E) => boolean | undefined
}

/** The components of a page that show the same instance share one store. */
const stores = new WeakMap<object, Map<string, InstanceStore<AnyMachine>>>()

const storeOf = <M extends AnyMachine>(
  client: MachineClient<M>,
  id: string,
  { decide, storage }: UseInstanceOptions<StateOf<M>, EventOf<M>>,
): InstanceStore<M> => {
  const known = stores.get(client) ?? new Map<string, InstanceStore<AnyMachine>>()
  stores.set(client, known)
  const found = known.get(id) as unknown as InstanceStore<M> | undefined
  if (found !== undefined) return found
  const made = new InstanceStore(client(id), decide, storage === undefined ? storageOfPage() : (storage ?? undefined))
  known.set(id, made as unknown as InstanceStore<AnyMachine>)
  return made
}

/** None on a server that renders the page, and where the person allows none. */
const storageOfPage = (): QueueStorage | undefined => {
  try {
    return globalThis.localStorage
  } catch {
    return undefined
  }
}

/** The options of the first component that uses an instance count. */
export const useInstance = <M extends AnyMachine>(
  client: MachineClient<M>,
  id: string,
  options: UseInstanceOptions<StateOf<M>, EventOf<M>> = {},
): UsedInstance<StateOf<M>, EventOf<M>> => {
  const store = storeOf(client, id, options)
  const view = useSyncExternalStore(store.subscribe, store.view, store.view)
  return { ...view, send: store.send, can: store.can }
}
