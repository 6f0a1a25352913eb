/**
 * What a schedule starts at a nominal time: an instance, an execution or a command of a queue. A request can be carried out again,
 * because whatever it starts has an id.
 */
import type { Machine } from "@detent/machine"
import type { Commands } from "@detent/store"
import type * as Effect from "effect/Effect"
import type * as Workflow from "effect/workflow/Workflow"
import type { CommandQueue, Enqueued, EnqueueError, EnqueueOptions } from "../outbox/CommandQueue.ts"

export interface InstanceStart {
  readonly _tag: "Instance"
  readonly machine: string
  readonly id: string
  readonly input: unknown
  /** The event that ends a running instance, for the overlap policy `cancelPrevious`. */
  readonly cancel: unknown
}

export interface ExecutionStart {
  readonly _tag: "Execution"
  readonly workflow: Workflow.Any
  readonly id: string
  readonly input: unknown
}

export interface CommandStart {
  readonly _tag: "Command"
  readonly queue: string
  /** Default: the id of the nominal time. */
  readonly key: string | undefined
  readonly enqueue: (key: string) => Effect.Effect<Enqueued, EnqueueError, Commands>
}

export type StartRequest = InstanceStart | ExecutionStart | CommandStart

type InstanceArguments<S, E, I> = [I] extends [void]
  ? [input?: NoInfer<S>, options?: InstanceStartOptions<E>]
  : [input: NoInfer<I | S>, options?: InstanceStartOptions<E>]

export interface InstanceStartOptions<E> {
  /** The event that ends a running instance, for the overlap policy `cancelPrevious`. */
  readonly cancel?: NoInfer<E>
}

/** Starts an instance, unless the id exists. The machine has to be registered with the engine. */
export const startInstance = <S, E, I, R>(
  machine: Machine.Definition<S, E, I, R>,
  id: string,
  ...[input, options]: InstanceArguments<S, E, I>
): StartRequest => ({ _tag: "Instance", machine: machine.name, id, input, cancel: options?.cancel })

/** A workflow written as an async function. */
interface WorkflowOfInput<in I> {
  readonly "~types": { readonly input: (input: I) => void }
  readonly definition: Workflow.Any
}

/** Starts an execution, unless the id exists. The workflow has to be registered with the engine. */
export const runWorkflow: {
  <I>(workflow: WorkflowOfInput<I>, id: string, input: NoInfer<I>): StartRequest
  <W extends Workflow.Any>(workflow: W, id: string, payload: W["payloadSchema"]["Type"]): StartRequest
} = (workflow: WorkflowOfInput<unknown> | Workflow.Any, id: string, input: unknown): StartRequest => ({
  _tag: "Execution",
  workflow: "definition" in workflow ? workflow.definition : workflow,
  id,
  input,
})

/** Enqueues a command. Its key is the id of the nominal time, unless the options have another one. */
export const enqueue = <A>(queue: CommandQueue<A>, payload: NoInfer<A>, options: EnqueueOptions = {}): StartRequest => ({
  _tag: "Command",
  queue: queue.name,
  key: options.key,
  enqueue: (key) => queue.enqueue(payload, { ...options, key }),
})
