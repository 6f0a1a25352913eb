/** The workflows of a configuration: an Effect workflow with its layer, or an async function. */
import * as Layer from "effect/Layer"
import type * as Workflow from "effect/workflow/Workflow"
import type { ConfiguredWorkflow, ProvidedServices, WorkflowEvents } from "./Settings.ts"

export const definitionOf = (one: ConfiguredWorkflow<unknown>): Workflow.Any => ("workflow" in one ? one.workflow : one.definition)

export const eventsOf = (one: ConfiguredWorkflow<unknown>): WorkflowEvents => {
  if ("workflow" in one) return one.events ?? {}
  const named = one.eventNames.map((name) => [name, one.eventNamed(name)] as const)
  return Object.fromEntries(named.flatMap(([name, deferred]) => (deferred === undefined ? [] : [[name, deferred]])))
}

/** The types of `defineConfig` guarantee that the layers of the configuration provide the workflow's other services. */
export const layerOfWorkflow = (one: ConfiguredWorkflow<unknown>): Layer.Layer<never, unknown, ProvidedServices> =>
  "workflow" in one ? (one.layer as Layer.Layer<never, unknown, ProvidedServices>) : Layer.effectDiscard(one.register)
