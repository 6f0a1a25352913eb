/** Executions of async workflows on one engine. The workflow engine starts only where there are workflows: it holds a lease. */
import { schemaProblem } from "@detent/machine/internal"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { WorkflowEngine } from "effect/unstable/workflow/WorkflowEngine"
import * as DurableWorkflow from "../DurableWorkflow.ts"
import type { Journal } from "../store/Journal.ts"
import type { Leases } from "../store/Leases.ts"
import type { Timers } from "../store/Timers.ts"
import type { AsyncWorkflow, EventSchemas } from "./AsyncWorkflow.ts"
import { type AbortOptions, runPromiseIn } from "./promised.ts"

/** Any workflow, whatever its input and result. */
export type KnownWorkflow = AsyncWorkflow<never, unknown, EventSchemas>

export interface AsyncWorkflows {
  /** Starts an execution, unless the id is known, and resolves with its result. Rejected with its failure. */
  run<I, A, V extends EventSchemas>(workflow: AsyncWorkflow<I, A, V>, id: string, input: NoInfer<I>, options?: AbortOptions): Promise<A>
  /** Starts an execution, unless the id is known. It is stored when the Promise resolves. */
  start<I, A, V extends EventSchemas>(workflow: AsyncWorkflow<I, A, V>, id: string, input: NoInfer<I>): Promise<void>
  /** The result of an execution that has ended; undefined while it has not. Rejected with its failure. */
  result<I, A, V extends EventSchemas>(workflow: AsyncWorkflow<I, A, V>, id: string): Promise<{ readonly value: A } | undefined>
  /** Sends an event to an execution. The first of its name counts. One that comes before `start` is kept. */
  sendEvent<I, A, V extends EventSchemas, K extends keyof V & string>(
    workflow: AsyncWorkflow<I, A, V>,
    id: string,
    event: K,
    value: NoInfer<V[K]["Type"]>,
  ): Promise<void>
  /** Interrupts an execution: no further step runs, and a step under way in this process is aborted. In another process it ends first. */
  cancel<I, A, V extends EventSchemas>(workflow: AsyncWorkflow<I, A, V>, id: string): Promise<void>
}

/** Registers the workflows, which resumes their executions. */
export const asyncWorkflows = (
  workflows: ReadonlyArray<KnownWorkflow>,
  options: DurableWorkflow.WorkflowOptions,
): Effect.Effect<AsyncWorkflows, never, Journal | Timers | Leases | Scope.Scope> =>
  Effect.gen(function* () {
    if (workflows.length === 0) return noWorkflows
    const context = yield* Layer.buildWithScope(DurableWorkflow.layer(options), yield* Scope.Scope)
    for (const workflow of workflows) yield* Effect.provide(workflow.register, context)
    return executionsOf(yield* Effect.provide(WorkflowEngine, context), new Set(workflows.map(({ definition }) => definition)))
  })

const executionsOf = (engine: WorkflowEngine["Service"], registered: ReadonlySet<Definition>): AsyncWorkflows => {
  const run = runPromiseIn(Context.empty())
  const known = (workflow: NamedWorkflow): Definition => {
    if (!registered.has(workflow.definition)) throw notKnown(workflow.name)
    return workflow.definition
  }
  /** Fails where the input does not fit. */
  /** A refusal by a schema names the fields, in one line. */
  const fitting = async <A>(what: string, schema: Schema.Constraint, checked: Effect.Effect<A, Schema.SchemaError>): Promise<A> => {
    const result = await run(Effect.result(checked))
    if (Result.isSuccess(result)) return result.success
    throw new TypeError(`${what} does not fit: ${schemaProblem(schema, result.failure)}`, { cause: result.failure })
  }
  const request = async (workflow: NamedWorkflow, executionId: string, input: unknown) => {
    const { payloadSchema } = known(workflow)
    const making = Effect.mapError(ofEngine(payloadSchema.makeEffect(input as object)), (issue) => new Schema.SchemaError(issue))
    return { executionId, payload: await fitting(`the input of workflow ${workflow.name}`, payloadSchema, making) }
  }
  return {
    run: async (workflow, id, input, options) => {
      const definition = known(workflow)
      return workflow.resultOf(await run(ofEngine(engine.execute(definition, await request(workflow, id, input))), options))
    },
    start: async (workflow, id, input) => {
      const definition = known(workflow)
      await run(ofEngine(engine.execute(definition, { ...(await request(workflow, id, input)), discard: true })))
    },
    result: async (workflow, id) => {
      const polled = await run(ofEngine(engine.poll(known(workflow), id)))
      if (Option.isNone(polled) || polled.value._tag === "Suspended") return undefined
      return { value: workflow.resultOf(await run(polled.value.exit)) }
    },
    sendEvent: async (workflow, executionId, event, value) => {
      const { name: workflowName, eventNamed } = workflow
      known(workflow)
      const deferred = eventNamed(event)
      if (deferred === undefined) throw new TypeError(`workflow ${workflowName} declares no event ${event}`)
      const encoding = Schema.encodeUnknownEffect(Schema.toCodecJson(deferred.successSchema))(value)
      await fitting(`event ${event} of workflow ${workflowName}`, deferred.successSchema, encoding)
      await run(engine.deferredDone(deferred, { workflowName, executionId, deferredName: deferred.name, exit: Exit.succeed(value) }))
    },
    cancel: async (workflow, id) => run(engine.interruptUnsafe(known(workflow), id)),
  }
}

type NamedWorkflow = Pick<KnownWorkflow, "definition" | "name">
type Definition = KnownWorkflow["definition"]

/** The schemas of an async workflow need no services. */
const ofEngine = <A, E>(effect: Effect.Effect<A, E, unknown>) => effect as Effect.Effect<A, E>

const notKnown = (name: string) =>
  new TypeError(`workflow ${name} is not known to this engine; pass it to openEngine({ workflows: [...] })`)

const refuse = async (workflow: NamedWorkflow): Promise<never> => {
  throw notKnown(workflow.name)
}

const noWorkflows: AsyncWorkflows = { run: refuse, start: refuse, result: refuse, sendEvent: refuse, cancel: refuse }
