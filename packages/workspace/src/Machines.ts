/** All machines of a workspace: the machines of the configuration and of the systems that are on. */
import { DurableWorkflow, Engine, type KnownMachine } from "@detent/durable"
import { compiledOf } from "@detent/machine/internal"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Workflow from "effect/workflow/Workflow"
import type { WorkflowEvents } from "./config/Settings.ts"
import { type Drawings, makeDrawings } from "./machine/Drawings.ts"
import { type MachineJson, makeMachineJsons } from "./machine/MachineJson.ts"

/** An Effect workflow has executions like instances, but no states to draw. The configuration declares its events. */
export type MachineEntry =
  | { readonly _tag: "Machine"; readonly name: string; readonly machine: KnownMachine }
  | { readonly _tag: "EffectWorkflow"; readonly name: string; readonly workflow: Workflow.Any; readonly events: WorkflowEvents }

export interface MachinesService {
  /** Sorted by name. */
  readonly list: Effect.Effect<ReadonlyArray<MachineEntry>>
  readonly find: (name: string) => Effect.Effect<Option.Option<MachineEntry>>
  /** The machine's states and events as JSON. Built once per machine. */
  readonly json: (machine: KnownMachine) => MachineJson
  readonly drawings: Drawings
}

export class Machines extends Context.Service<Machines, MachinesService>()("@detent/workspace/Machines") {
  /** The machines that the engine knows, and the given workflows. `events` is keyed by the workflow's name. */
  static readonly layer = (
    workflows: ReadonlyArray<Workflow.Any>,
    events: ReadonlyMap<string, WorkflowEvents> = new Map(),
  ): Layer.Layer<Machines, never, Engine> =>
    Layer.effect(
      Machines,
      Effect.gen(function* () {
        const engine = yield* Engine
        const drawings = yield* makeDrawings
        const effectWorkflows = new Map(
          workflows.map((workflow) => [DurableWorkflow.machineOf(workflow._tag), workflowEntry(workflow, events.get(workflow._tag))]),
        )
        return {
          list: Effect.map(engine.machines, (machines) =>
            [...machines.map(entryOf), ...effectWorkflows.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
          ),
          find: (name) =>
            Effect.sync(() =>
              Option.orElse(Option.map(engine.machine(name), entryOf), () => Option.fromNullishOr(effectWorkflows.get(name))),
            ),
          json: makeMachineJsons(),
          drawings,
        }
      }),
    )
}

/** The queues that hold the commands of a machine. */
export const queuesOf = (machine: KnownMachine): ReadonlyArray<string> => {
  const { effectSlots, commands } = compiledOf(machine).declarations
  return [...new Set(Object.keys(effectSlots).map((slot) => commands?.[slot]?.queue ?? machine.name))]
}

const entryOf = (machine: KnownMachine): MachineEntry => ({ _tag: "Machine", name: machine.name, machine })

const workflowEntry = (workflow: Workflow.Any, events: WorkflowEvents = {}): MachineEntry => ({
  _tag: "EffectWorkflow",
  name: DurableWorkflow.machineOf(workflow._tag),
  workflow,
  events,
})
