/** What async code does with instances of an engine. */
import type { Machine } from "@detent/machine"
import * as Option from "effect/Option"
import type { EngineService, Indexed, InputArguments, ListOptions } from "../Engine.ts"
import type { AnswerOf, HistoryEntry, Instance, SendOptions } from "../Instance.ts"
import type { IndexProgress } from "../operate/IndexFilling.ts"
import type { InstanceList, Labels } from "../operate/ListInstances.ts"
import { type AsyncInstance, asyncInstance } from "./AsyncInstance.ts"
import type { AbortOptions, RunPromise } from "./promised.ts"

type Definition<S, E, I, R> = Machine.Definition<S, E, I, R>
type TagOf<S> = S extends { readonly _tag: infer Tag extends string } ? Tag : never

export interface AsyncCalls<in out R> {
  /** Starts a new instance. It is stored when the Promise resolves. */
  start<S, E, I>(machine: Definition<S, E, I, R>, id: string, ...input: InputArguments<S, I>): Promise<AsyncInstance<S, E>>
  /** The instance of an id, started with the input if there is none. */
  ensure<S, E, I>(machine: Definition<S, E, I, R>, id: string, ...input: InputArguments<S, I>): Promise<AsyncInstance<S, E>>
  /** The instance of an id; undefined if there is none. */
  get<S, E, I>(machine: Definition<S, E, I, R>, id: string): Promise<AsyncInstance<S, E> | undefined>
  /** The instance of an id, without reading the store: its first use fails if it does not exist. */
  instance<S, E, I>(machine: Definition<S, E, I, R>, id: string): AsyncInstance<S, E>
  /** Sends an event; resolves once the event is stored and carried out. A repeated `id` returns the first result. */
  send<S, E, I>(machine: Definition<S, E, I, R>, id: string, event: NoInfer<E>, options?: SendOptions): Promise<void>
  /** Sends an event made with `Event.reply` and returns the answer. */
  ask<S, E, I, V extends E>(machine: Definition<S, E, I, R>, id: string, event: V, options?: SendOptions): Promise<AnswerOf<V>>
  /** The state as the store has it now. */
  state<S, E, I>(machine: Definition<S, E, I, R>, id: string): Promise<S>
  /** Resolves with the first state that matches, the current one included. */
  waitFor<S, E, I, T extends S>(
    machine: Definition<S, E, I, R>,
    id: string,
    predicate: (state: S) => state is T,
    options?: AbortOptions,
  ): Promise<T>
  waitFor<S, E, I>(machine: Definition<S, E, I, R>, id: string, predicate: (state: S) => boolean, options?: AbortOptions): Promise<S>
  /** The current state, then every new one. Ends with the instance. */
  changes<S, E, I>(machine: Definition<S, E, I, R>, id: string, options?: AbortOptions): AsyncIterable<S>
  /** Everything that was journaled, oldest first. */
  history<S, E, I>(machine: Definition<S, E, I, R>, id: string): AsyncIterable<HistoryEntry<S, E>>
  /** Instances of a machine in pages: by the time of their last change, or by indexed fields and labels. */
  list<S, E, I, X = Record<never, never>>(
    machine: Definition<S, E, I, R> & Indexed<X>,
    options?: ListOptions<TagOf<S>, NoInfer<X>>,
  ): Promise<InstanceList>
  /**
   * Sets labels of an instance, as in `{ incident: "42" }`, and removes those that are null. They are no part of its state and journal. Resolves
   * with all.
   */
  label<S, E, I>(machine: Definition<S, E, I, R>, id: string, labels: { readonly [name: string]: string | null }): Promise<Labels>
  /** How far the indexes of a machine are filled with the values of instances that were stored before; undefined: it has none. */
  indexes<S, E, I>(machine: Definition<S, E, I, R>): Promise<IndexProgress | undefined>
}

/** `read` runs queries of the store: it rejects once the store is closed. A closed engine refuses events by itself. */
export const asyncCalls = <R>(engine: EngineService, run: RunPromise<R>, read: RunPromise<R>): AsyncCalls<R> => {
  const wrapped = <S, E>(instance: Instance<S, E>) => asyncInstance(instance, run, read)
  const instance = <S, E, I>(machine: Definition<S, E, I, R>, id: string): AsyncInstance<S, E> => {
    const known = engine.find({ machine: machine.name, id })
    if (Option.isSome(known)) return wrapped(known.value as unknown as Instance<S, E>)
    throw new TypeError(
      `machine ${machine.name} is not known to this engine; pass it to openEngine({ machines: [...] }), or name it in detent.config.ts`,
    )
  }
  return {
    start: async (machine, id, ...input) => wrapped(await run(engine.start(machine, id, ...input))),
    ensure: async (machine, id, ...input) => wrapped(await read(engine.ensure(machine, id, ...input))),
    get: async (machine, id) => Option.getOrUndefined(Option.map(await read(engine.get(machine, id)), wrapped)),
    instance,
    send: async (machine, id, event, options) => instance(machine, id).send(event, options),
    ask: async (machine, id, event, options) => instance(machine, id).ask(event, options),
    state: async (machine, id) => instance(machine, id).state(),
    waitFor: async <S, E, I>(machine: Definition<S, E, I, R>, id: string, predicate: (state: S) => boolean, options?: AbortOptions) =>
      instance(machine, id).waitFor(predicate, options) as Promise<never>,
    changes: (machine, id, options) => instance(machine, id).changes(options),
    history: (machine, id) => instance(machine, id).history(),
    list: (machine, options) => read(engine.list(machine, options)),
    label: (machine, id, labels) => run(engine.label({ machine: machine.name, id }, labels)),
    indexes: async (machine) => Option.getOrUndefined(await read(engine.indexes(machine))),
  }
}
