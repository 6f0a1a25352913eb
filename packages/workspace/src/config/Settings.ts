/** The settings of a configuration, as types. */
import type { Engine, Queues, Upcasters } from "@detent/durable"
import type { KnownWorkflow } from "@detent/durable/promise"
import type { Schedule, ScheduleTarget } from "@detent/durable/Schedules"
import type { KnowledgeSettings } from "@detent/knowledge"
import type { Machine } from "@detent/machine"
import type { AnyUpload } from "@detent/uploads"
import type * as Duration from "effect/Duration"
import type * as Layer from "effect/Layer"
import type * as DurableDeferred from "effect/workflow/DurableDeferred"
import type * as Workflow from "effect/workflow/Workflow"
import type { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import type { ClusterSettings } from "../ClusterMember.ts"
import type { Stores } from "../Database.ts"
import type { Systems } from "../Systems.ts"
import type { Webhook } from "../Webhook.ts"

/** A machine that needs the services `R` for its work. */
export type AnyMachine<R> = Machine.Definition<unknown, unknown, never, R>

/** Services that handlers, workflows and layers may use without providing them. */
export type ProvidedServices = Engine | WorkflowEngine | Stores | Systems

/** The events that can be sent to executions of a workflow: the deferreds that it awaits, by the names that senders use. */
export type WorkflowEvents = Readonly<Record<string, DurableDeferred.AnyWithProps>>

/** An Effect workflow with the layer that `workflow.toLayer(...)` makes, or a workflow written as an async function. */
export type ConfiguredWorkflow<R> =
  | { readonly workflow: Workflow.Any; readonly layer: Layer.Layer<never, unknown, R>; readonly events?: WorkflowEvents }
  | KnownWorkflow

/** A kind of uploads: the built-in one of objects with an `id`, or a kind made with `defineUpload`. */
export type UploadType = "items" | AnyUpload

/** Limits of the server. The defaults are in the README of `@detent/server`. */
export interface HttpLimits {
  /** Largest body of a request that is not an upload, in bytes. */
  readonly bodyBytes: number
  /** Largest uploaded file, in bytes. */
  readonly uploadBytes: number
  /** Requests in flight. Requests beyond this number get 503 with Retry-After. */
  readonly requests: number
  /** Requests in flight that have neither a token nor a session, where the server needs one: pages, and attempts to log in. */
  readonly unauthenticatedRequests: number
  /** Clients that follow a live stream, and as many again over WebSocket. */
  readonly streams: number
  readonly connections: number
  /** How long the headers of a request may take to arrive. */
  readonly headersTimeout: Duration.Input
  /** How long a whole request may take to arrive. An upload may take longer while bytes arrive. */
  readonly requestTimeout: Duration.Input
  /** How long a request that has neither a token nor a session may take to arrive. */
  readonly unauthenticatedTimeout: Duration.Input
  /** How long the server may take to answer a request. */
  readonly answerTimeout: Duration.Input
  /** How long a shutdown waits for requests in flight. */
  readonly stopTimeout: Duration.Input
}

export interface WorkspaceLimits {
  /** Characters of an event as JSON, and of the parameters of a command. Default: 4,000,000. */
  readonly eventSize?: number
  /** Characters of a state as JSON. Default: 4,000,000. */
  readonly stateSize?: number
  /** Events that wait for one instance. Default: 100,000. */
  readonly mailbox?: number
  /** Instances in memory. Default: 100,000. */
  readonly instances?: number
  /** Commands of one queue that this process executes at the same time. Default: 16. */
  readonly commands?: number
  /** Items of one uploaded file. A file with more is refused, and none of its items is stored. Default: 1,000,000. */
  readonly uploadItems?: number
  /** Time and memory (in MB, of a worker process) that reading one uploaded item may take. Default: 10 seconds and 512 MB. */
  readonly uploadItem?: { readonly time?: Duration.Input; readonly memory?: number }
  readonly http?: Partial<HttpLimits>
}

interface PlainSettings {
  /** Upcasters for states and events that older versions of a machine stored, by the machine's name. */
  readonly upcasters?: Readonly<Record<string, Upcasters>>
  /** Turns batches of documents and the knowledge graph on. `{}` uses every default. */
  readonly knowledge?: KnowledgeSettings
  /** Turns uploads of these item types on. */
  readonly uploads?: ReadonlyArray<UploadType>
  /**
   * How long instances are kept after their end, by the machine's name, and executions of a workflow, by `workflow/NAME`. Default:
   * the machine's own retention, or forever. Jobs of `detent instance bulk` have the name `bulk`. Their default: 30 days.
   */
  readonly retention?: Readonly<Record<string, Duration.Input>>
  /**
   * How long commands are kept after their end: `finished` ones, and `deadLetters`. The same key then makes a new command. Default: forever.
   * Those of an instance are removed with it in any case.
   */
  readonly commandRetention?: { readonly finished?: Duration.Input; readonly deadLetters?: Duration.Input }
  readonly limits?: WorkspaceLimits
  /**
   * Limits of queues and of each of their groups, by the name of the queue, for all processes together. A queue that has limits in the
   * database, or is paused, keeps what it has: they are changed while the system runs, by `detent queue limit`, the API or the console.
   */
  readonly queues?: Readonly<Record<string, Queues.QueueLimits>>
  /** What starts at which times, made with `schedule`. */
  readonly schedules?: ReadonlyArray<Schedule>
  /** What schedules may start that are created over the API, made with `scheduleTarget`. */
  readonly scheduleTargets?: ReadonlyArray<ScheduleTarget>
  /** What is received from other services at `/webhooks/NAME`, made with `webhook`. */
  readonly webhooks?: ReadonlyArray<Webhook>
  /** Makes `serve`, `worker` and `dev` nodes of a cluster. Needs PostgreSQL. */
  readonly cluster?: ClusterSettings
}

interface Settings<R, W> extends PlainSettings {
  /** Machines to register: their instances resume and their timers fire. */
  readonly machines?: ReadonlyArray<AnyMachine<R>>
  /** Workflows to register: their executions resume. */
  readonly workflows?: ReadonlyArray<ConfiguredWorkflow<W>>
}

/** Provides the services of machines and workflows that the workspace does not provide. The layers may use the workspace's services. */
export type ConfigLayer<R> = Layer.Layer<R, unknown, ProvidedServices>

/** Services without a layer do not type-check. */
type Layers<Needed> = [Needed] extends [never] ? { readonly layers?: ConfigLayer<never> } : { readonly layers: ConfigLayer<Needed> }

/** `R` are the services that the machines need, `W` those that the workflows need. */
export type ConfigOf<R, W = never> = Settings<R, W> & Layers<NoInfer<Exclude<R | W, ProvidedServices>>>

/** A configuration without the types of its services, as `Workspace.open` takes it. */
export interface Config extends PlainSettings {
  readonly machines: ReadonlyArray<AnyMachine<unknown>>
  readonly workflows?: ReadonlyArray<ConfiguredWorkflow<unknown>>
  readonly layers?: ConfigLayer<unknown>
}
