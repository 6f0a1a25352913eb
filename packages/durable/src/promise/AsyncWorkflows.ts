/** Executions of async workflows on one engine. The workflow engine starts only if there are workflows, because it holds a lease. */
import type { TypeOf } from "@detent/machine"
import { InvalidState } from "@detent/machine"
import { idProblem, schemaProblem } from "@detent/machine/internal"
import type { Journal, Leases, Timers } from "@detent/store"
import { nameProblem } from "@detent/store/internal"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import * as DurableWorkflow from "../DurableWorkflow.ts"
import { WorkflowEngineClosed } from "../workflow/WorkflowError.ts"
import type { AsyncWorkflow, EventSchemas } from "./AsyncWorkflow.ts"
import { EngineClosed, ExecutionCancelled } from "./errors.ts"
import { type AbortOptions, runPromiseIn } from "./promised.ts"

/** A workflow of any input and result. */
export type KnownWorkflow = AsyncWorkflow<never, unknown, EventSchemas>

export interface AsyncWorkflows {
  /**
   * Starts an execution, unless the id exists, and resolves with its result. Rejects with its failure, with `ExecutionCancelled` if it is
   * cancelled, and with `EngineClosed` if the engine closes first: the execution then continues in the next engine.
   */
  run<I, A, V extends EventSchemas>(workflow: AsyncWorkflow<I, A, V>, id: string, input: NoInfer<I>, options?: AbortOptions): Promise<A>
  /** Starts an execution, unless the id exists. It is stored when the Promise resolves. */
  start<I, A, V extends EventSchemas>(workflow: AsyncWorkflow<I, A, V>, id: string, input: NoInfer<I>): Promise<void>
  /** The result of an execution that has ended; undefined while it has not. Rejected with its failure. */
  result<I, A, V extends EventSchemas>(workflow: AsyncWorkflow<I, A, V>, id: string): Promise<{ readonly value: A } | undefined>
  /** Sends an event to an execution. The first event of a name counts. An event that is sent before `start` is kept. */
  sendEvent<I, A, V extends EventSchemas, K extends keyof V & string>(
    workflow: AsyncWorkflow<I, A, V>,
    id: string,
    event: K,
    value: NoInfer<TypeOf<V[K]>>,
  ): Promise<void>
  /**
   * Interrupts an execution: no further step runs, and a running step in this process is aborted. A step that runs in another process ends
   * first.
   */
  cancel<I, A, V extends EventSchemas>(workflow: AsyncWorkflow<I, A, V>, id: string): Promise<void>
}

export interface OpenedWorkflows {
  readonly workflows: AsyncWorkflows
  /** Undefined where no workflow is registered. */
  readonly engine: WorkflowEngine["Service"] | undefined
}

/** Registers the workflows, which resumes their executions. */
export const asyncWorkflows = (
  workflows: ReadonlyArray<KnownWorkflow>,
  options: DurableWorkflow.WorkflowOptions,
): Effect.Effect<OpenedWorkflows, never, Journal | Timers | Leases | Scope.Scope> =>
  Effect.gen(function* () {
    if (workflows.length === 0) return { workflows: noWorkflows, engine: undefined }
    const context = yield* Layer.buildWithScope(DurableWorkflow.layer(options), yield* Scope.Scope)
    for (const workflow of workflows) yield* Effect.provide(workflow.register, context)
    let isClosed = false
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        isClosed = true
      }),
    )
    const engine = yield* Effect.provide(WorkflowEngine, context)
    const registered = new Set(workflows.map(({ definition }) => definition))
    return { workflows: executionsOf(engine, registered, () => isClosed), engine }
  })

/** Executions of these workflows, as async code uses them. */
export const executionsOf = (
  engine: WorkflowEngine["Service"],
  registered: ReadonlySet<Definition>,
  isClosed: () => boolean,
): AsyncWorkflows => {
  const run = runPromiseIn(Context.empty())
  /**
   * A call is rejected with `EngineClosed` if the end of the engine interrupts it, and with `ExecutionCancelled` if its result is an
   * interruption.
   */
  const calling = <A, E>(
    operation: keyof AsyncWorkflows,
    { name: workflow }: NamedWorkflow,
    id: string,
    called: Effect.Effect<A, E>,
    options?: AbortOptions,
  ): Promise<A> =>
    run(
      Effect.catchCause(called, (cause): Effect.Effect<never, E | EngineClosed | ExecutionCancelled | TypeError> => {
        const error = Cause.squash(cause)
        if (error instanceof WorkflowEngineClosed) return Effect.fail(new EngineClosed({}))
        if (error instanceof InvalidState) return Effect.fail(unusable(workflow, error.problem))
        if (!Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
        if (!isClosed()) return Effect.fail(new ExecutionCancelled({ workflow, id }))
        return Effect.fail(new EngineClosed({ execution: { workflow, id }, ...(operation === "run" ? {} : { call: operation }) }))
      }),
      options,
    )
  const known = (workflow: NamedWorkflow, id: unknown): Definition => {
    if (!registered.has(workflow.definition)) throw notKnown(workflow.name)
    const problem = id === "" ? "its id is empty; give it one" : (idProblem(id) ?? nameProblem("id", String(id)))
    if (problem !== undefined) throw unusable(workflow.name, problem)
    return workflow.definition
  }
  /** Rejects with an error that names the invalid fields in one line. */
  const fitting = async <A>(what: string, schema: Schema.Constraint, checked: Effect.Effect<A, Schema.SchemaError>): Promise<A> => {
    const result = await run(Effect.result(checked))
    if (Result.isSuccess(result)) return result.success
    throw new TypeError(`${what} does not fit: ${schemaProblem(schema, result.failure)}`, { cause: result.failure })
  }
  const request = async (workflow: NamedWorkflow, executionId: string, input: unknown) => {
    const { payloadSchema } = workflow.definition
    const making = Effect.mapError(ofEngine(payloadSchema.makeEffect(input as object)), (issue) => new Schema.SchemaError(issue))
    return { executionId, payload: await fitting(`the input of workflow ${workflow.name}`, payloadSchema, making) }
  }
  return {
    run: async (workflow, id, input, options) => {
      const definition = known(workflow, id)
      const execution = engine.execute(definition, await request(workflow, id, input))
      return workflow.resultOf(await calling("run", workflow, id, ofEngine(execution), options))
    },
    start: async (workflow, id, input) => {
      const definition = known(workflow, id)
      const execution = engine.execute(definition, { ...(await request(workflow, id, input)), discard: true })
      await calling("start", workflow, id, ofEngine(execution))
    },
    result: async (workflow, id) => {
      const polled = await calling("result", workflow, id, ofEngine(engine.poll(known(workflow, id), id)))
      if (Option.isNone(polled) || polled.value._tag === "Suspended") return undefined
      return { value: workflow.resultOf(await calling("result", workflow, id, polled.value.exit)) }
    },
    sendEvent: async (workflow, executionId, event, value) => {
      const { name: workflowName, eventNamed } = workflow
      known(workflow, executionId)
      const deferred = eventNamed(event)
      if (deferred === undefined) throw new TypeError(`workflow ${workflowName} declares no event ${event}`)
      const encoding = Schema.encodeUnknownEffect(Schema.toCodecJson(deferred.successSchema))(value)
      await fitting(`event ${event} of workflow ${workflowName}`, deferred.successSchema, encoding)
      const sent = engine.deferredDone(deferred, { workflowName, executionId, deferredName: deferred.name, exit: Exit.succeed(value) })
      await calling("sendEvent", workflow, executionId, sent)
    },
    cancel: async (workflow, id) => calling("cancel", workflow, id, engine.interruptUnsafe(known(workflow, id), id)),
  }
}

type NamedWorkflow = Pick<KnownWorkflow, "definition" | "name">
type Definition = KnownWorkflow["definition"]

/** The schemas of an async workflow need no services. */
const ofEngine = <A, E>(effect: Effect.Effect<A, E, unknown>) => effect as Effect.Effect<A, E>

const notKnown = (name: string) =>
  new TypeError(`workflow ${name} is not known to this engine; pass it to openEngine({ workflows: [...] })`)

const unusable = (name: string, problem: string) => new TypeError(`no execution of workflow ${name} can be used: ${problem}`)

const refuse = async (workflow: NamedWorkflow): Promise<never> => {
  throw notKnown(workflow.name)
}

const noWorkflows: AsyncWorkflows = { run: refuse, start: refuse, result: refuse, sendEvent: refuse, cancel: refuse }
