/**
 * An entity workflow is a process over one kind of entity, given as data: states, and named automatic and manual transitions with
 * processors (work on the entity) and criteria (conditions). It compiles to a machine, so it is run, stored, drawn, simulated and
 * watched like any other machine.
 *
 * ```ts
 * const Approval = EntityWorkflow.make(registry, {
 *   name: "approval",
 *   initial: "received",
 *   states: ["received", "waiting", "approved"],
 *   transitions: [
 *     { name: "approve_small", from: "received", to: "approved", criteria: ["isSmall"] },
 *     { name: "ask", from: "received", to: "waiting" },
 *     { name: "approve", from: "waiting", to: "approved", manual: true },
 *   ],
 * })
 * const instance = yield* engine.start(Approval.machine, "invoice-7", { amount: 4200 })
 * yield* instance.send(Approval.trigger("approve"))
 * ```
 */
import type { Machine, Persistence } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { compileWorkflow } from "./CompileWorkflow.ts"
import { type TransitionInput, type TriggerEvent, type UpdateEvent, updateTag } from "./EntityEvent.ts"
import type { EntityState } from "./EntityState.ts"
import type { EntityWorkflowError } from "./EntityWorkflowError.ts"
import { layout } from "./JsonLayout.ts"
import { loadData, loadText } from "./LoadDefinition.ts"
import { plan, type UntypedRegistry } from "./Plan.ts"
import type { ServicesOf } from "./Processor.ts"
import type { AnyRegistry, CriterionNames, EntityOf, ProcessorNames } from "./Registry.ts"
import { type anyState, type RetryPolicy, WorkflowDefinition } from "./WorkflowDefinition.ts"

export { exportMachine, type MachineExport } from "./ExportMachine.ts"
export { jsonSchema } from "./WorkflowDefinition.ts"

type StateOf<State, Entity> = State extends string ? EntityState<State, Entity> : never

type TriggerOf<Name, Entity> = Name extends string ? TriggerEvent<Name, Entity> : never

/** The machine of a workflow. An instance is created from its entity. */
export type WorkflowMachine<Entity, State extends string, Manual extends string, R> = Machine.Definition<
  StateOf<State, Entity>,
  TriggerOf<Manual, Entity> | UpdateEvent<Entity>,
  Entity,
  R
>

/**
 * @template Entity the type of the entity
 * @template State the names of its states
 * @template Manual the names of its manual transitions
 * @template R the services that its processors need
 */
export interface EntityWorkflow<in out Entity, State extends string, Manual extends string, R> {
  readonly name: string
  readonly version: number
  /** The workflow as data. */
  readonly definition: WorkflowDefinition
  readonly machine: WorkflowMachine<Entity, State, Manual, R>
  /** The event that requests a manual transition. */
  trigger<N extends Manual>(name: N, input?: TransitionInput<Entity>): TriggerEvent<N, Entity>
  /** The event that changes the entity in its state. */
  update(patch: Partial<Entity>): UpdateEvent<Entity>
}

/** A transition whose names of states, processors and criteria TypeScript checks. */
export interface TransitionOptions<State extends string, ProcessorName extends string, CriterionName extends string> {
  readonly name: string
  readonly from: typeof anyState | State | ReadonlyArray<State>
  readonly to: State
  readonly manual?: boolean
  readonly processors?: ReadonlyArray<ProcessorName | { readonly name: ProcessorName; readonly retry: RetryPolicy }>
  readonly criteria?: ReadonlyArray<CriterionName>
  readonly criteriaAfter?: boolean
  /** The state of the entity while processors with effects run. Default: `source`. */
  readonly processIn?: "source" | "target"
  readonly description?: string
}

/** A workflow whose names TypeScript checks. */
export interface WorkflowOptions<State extends string, T extends ReadonlyArray<{ readonly name: string }>> {
  readonly name: string
  readonly version?: number
  readonly description?: string
  readonly states: ReadonlyArray<State>
  readonly initial: NoInfer<State>
  readonly ends?: ReadonlyArray<NoInfer<State>>
  readonly transitions: T
  readonly failure?: T[number]["name"]
}

/** How a durable engine stores the instances. Default: a snapshot with every transition. */
export interface MakeOptions {
  readonly persistence?: Persistence<string>
}

type ManualNames<T extends ReadonlyArray<unknown>> =
  Extract<T[number], { readonly manual: true }> extends { readonly name: infer N } ? N & string : never

/** Makes a workflow. Throws an {@link EntityWorkflowError} with every problem that TypeScript cannot find. */
export const make = <
  G extends AnyRegistry,
  const State extends string,
  const T extends ReadonlyArray<TransitionOptions<NoInfer<State>, ProcessorNames<G>, CriterionNames<G>>>,
>(
  registry: G,
  workflow: WorkflowOptions<State, T>,
  options: MakeOptions = {},
): EntityWorkflow<EntityOf<G>, State, ManualNames<T>, ServicesOf<G["processors"]>> =>
  workflowOf(Result.getOrThrow(loadData(workflow, registry)), registry, options)

/** Reads a workflow from a JSON file, also while the system runs. Problems have their line and column. */
export const fromJson = <G extends AnyRegistry>(
  text: string,
  registry: G,
  options: MakeOptions & { readonly file?: string } = {},
): Effect.Effect<EntityWorkflow<EntityOf<G>, string, string, ServicesOf<G["processors"]>>, EntityWorkflowError> =>
  Effect.suspend(() =>
    Result.match(loadText(text, options.file ?? "entity workflow", registry), {
      onFailure: (error) => Effect.fail(error),
      onSuccess: (definition) => Effect.sync(() => workflowOf(definition, registry, options)),
    }),
  )

const workflowOf = (definition: WorkflowDefinition, registry: unknown, options: MakeOptions): never => {
  const workflow: EntityWorkflow<object, string, string, unknown> = {
    name: definition.name,
    version: definition.version ?? 1,
    definition,
    machine: compileWorkflow(plan(definition, registry as UntypedRegistry), options) as never,
    trigger: (name, input) => ({ _tag: name, ...input }),
    update: (patch) => ({ _tag: updateTag, patch }),
  }
  return workflow as never
}

/** The workflow as a JSON file, which {@link fromJson} reads again. */
export const toJson = ({ definition }: { readonly definition: WorkflowDefinition }): string =>
  layout(Schema.encodeSync(WorkflowDefinition)(definition))
