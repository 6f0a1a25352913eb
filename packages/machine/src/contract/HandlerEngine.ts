/** The engine as async handlers, work and workflow steps use it: other instances, and executions, on the same store. */
import * as Context from "effect/Context"
import type { FieldSchema, TypeOf } from "../schema/FieldSchema.ts"
import type { AnswerOf } from "./Actor.ts"
import type { Definition } from "./MachineType.ts"
import type { InputArguments } from "./Self.ts"

interface Sending {
  /** The idempotency key of this event: a repeated event returns the first result. Make it of the handler's `key`. */
  readonly id?: string
}

interface Waiting {
  /** Ends the wait. */
  readonly signal?: AbortSignal
}

/** An instance as an async handler uses it. */
export interface HandlerInstance<out S, in out E> {
  readonly machine: string
  readonly id: string
  /** Sends an event; resolves once the event is stored and carried out. */
  send(event: E, options?: Sending): Promise<void>
  /** Sends an event made with `Event.reply` and returns the answer. */
  ask<V extends E>(event: V, options?: Sending): Promise<AnswerOf<V>>
  /** The state as the store has it now. */
  state(): Promise<S>
  /** Resolves with the first state that matches, the current one included. */
  waitFor(predicate: (state: S) => boolean, options?: Waiting): Promise<S>
}

/** A workflow written as an async function, by its types. */
export interface WorkflowType<in I, out A, out V> {
  readonly name: string
  readonly "~types": { readonly input: (input: I) => void; readonly success: A; readonly events: V }
}

type EventSchemas = { readonly [name: string]: FieldSchema }

/** Executions of workflows as an async handler uses them. */
export interface HandlerWorkflows {
  /** Starts an execution, unless the id exists, and resolves with its result. */
  run<I, A, V extends EventSchemas>(workflow: WorkflowType<I, A, V>, id: string, input: NoInfer<I>, options?: Waiting): Promise<A>
  /** Starts an execution, unless the id exists. It is stored when the Promise resolves. */
  start<I, A, V extends EventSchemas>(workflow: WorkflowType<I, A, V>, id: string, input: NoInfer<I>): Promise<void>
  /** The result of an execution that has ended; undefined while it has not. */
  result<I, A, V extends EventSchemas>(workflow: WorkflowType<I, A, V>, id: string): Promise<{ readonly value: A } | undefined>
  /** Sends an event to an execution. The first event of a name counts. */
  sendEvent<I, A, V extends EventSchemas, K extends keyof V & string>(
    workflow: WorkflowType<I, A, V>,
    id: string,
    event: K,
    value: NoInfer<TypeOf<V[K]>>,
  ): Promise<void>
  /** Interrupts an execution. */
  cancel<I, A, V extends EventSchemas>(workflow: WorkflowType<I, A, V>, id: string): Promise<void>
}

export interface HandlerEngine {
  /** Starts a new instance. It is stored when the Promise resolves. */
  start<S, E, I, R>(machine: Definition<S, E, I, R>, id: string, ...input: InputArguments<S, I>): Promise<HandlerInstance<S, E>>
  /** The instance of an id, started with the input if there is none: an attempt that is repeated finds the instance of the first. */
  ensure<S, E, I, R>(machine: Definition<S, E, I, R>, id: string, ...input: InputArguments<S, I>): Promise<HandlerInstance<S, E>>
  /** The instance of an id; undefined if there is none. */
  get<S, E, I, R>(machine: Definition<S, E, I, R>, id: string): Promise<HandlerInstance<S, E> | undefined>
  /** Sends an event; resolves once the event is stored and carried out. A repeated `id` returns the first result. */
  send<S, E, I, R>(machine: Definition<S, E, I, R>, id: string, event: NoInfer<E>, options?: Sending): Promise<void>
  /** Sends an event made with `Event.reply` and returns the answer. */
  ask<S, E, I, R, V extends E>(machine: Definition<S, E, I, R>, id: string, event: V, options?: Sending): Promise<AnswerOf<V>>
  /** The state as the store has it now. */
  state<S, E, I, R>(machine: Definition<S, E, I, R>, id: string): Promise<S>
  /** Resolves with the first state that matches, the current one included. */
  waitFor<S, E, I, R>(machine: Definition<S, E, I, R>, id: string, predicate: (state: S) => boolean, options?: Waiting): Promise<S>
  readonly workflows: HandlerWorkflows
}

/** The engine that handlers get. Undefined where they run without one, as in memory. */
export const CurrentEngine = Context.Reference<HandlerEngine | undefined>("@detent/machine/CurrentEngine", {
  defaultValue: () => undefined,
})
