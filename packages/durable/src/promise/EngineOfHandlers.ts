/**
 * The engine that async handlers, work and steps of a process get. Handlers of resumed instances may run while the process still
 * registers its machines and workflows: their calls wait until the engine is open.
 */
import type { HandlerEngine } from "@detent/machine"
import type * as Context from "effect/Context"
import type { EngineService } from "../Engine.ts"
import { asyncCalls } from "./AsyncCalls.ts"
import type { AsyncWorkflows } from "./AsyncWorkflows.ts"
import { runPromiseIn } from "./promised.ts"

export interface OpenedEngine {
  /** The services with which the machines were registered. */
  readonly services: Context.Context<never>
  readonly workflows: AsyncWorkflows
}

export interface EngineOfHandlers {
  readonly engine: HandlerEngine
  /** To be called once every machine and workflow is registered. */
  readonly open: (opened: OpenedEngine) => void
}

export const engineOfHandlers = (service: EngineService): EngineOfHandlers => {
  let open!: (opened: OpenedEngine) => void
  const opened = new Promise<OpenedEngine>((resolve) => {
    open = resolve
  })
  const calls = opened.then(({ services }) => {
    const run = runPromiseIn<unknown>(services as Context.Context<unknown>)
    return asyncCalls(service, run, run)
  })
  const workflows = opened.then((one) => one.workflows as HandlerEngine["workflows"])
  const engine: HandlerEngine = {
    start: async (machine, id, ...input) => (await calls).start(machine, id, ...input),
    ensure: async (machine, id, ...input) => (await calls).ensure(machine, id, ...input),
    get: async (machine, id) => (await calls).get(machine, id),
    send: async (machine, id, event, options) => (await calls).send(machine, id, event, options),
    ask: async (machine, id, event, options) => (await calls).ask(machine, id, event, options),
    state: async (machine, id) => (await calls).state(machine, id),
    waitFor: async (machine, id, predicate, options) => (await calls).waitFor(machine, id, predicate, options),
    workflows: {
      run: async (workflow, id, input, options) => (await workflows).run(workflow, id, input, options),
      start: async (workflow, id, input) => (await workflows).start(workflow, id, input),
      result: async (workflow, id) => (await workflows).result(workflow, id),
      sendEvent: async (workflow, id, event, value) => (await workflows).sendEvent(workflow, id, event, value),
      cancel: async (workflow, id) => (await workflows).cancel(workflow, id),
    },
  }
  return { engine, open }
}
