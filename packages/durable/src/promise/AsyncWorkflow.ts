/**
 * A workflow written as an async function. Its steps, sleeps and events are activities, clocks and deferreds of an Effect workflow:
 * the function runs again from its beginning after a restart or a wait, and stored steps are not done again.
 *
 * ```ts
 * const Checkout = workflow({ name: "checkout", input: { order: Schema.String } }, async ({ order }, durable) => {
 *   const receipt = await durable.step("charge", ({ signal, key }) => charge(order, { signal, key }))
 *   await durable.sleep("cooling off", "3 days")
 *   return receipt
 * })
 * ```
 */
import { type AsyncContext, type FieldSchema, type Fields, type FieldsType, RetryPolicy, type TypeOf } from "@detent/machine"
import { asFields, asSchema, callHandler, checkSchema } from "@detent/machine/internal"
import { type DatabaseId, idempotencyKey } from "@detent/store/internal"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Activity from "effect/workflow/Activity"
import * as DurableClock from "effect/workflow/DurableClock"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { WorkflowEngine, WorkflowInstance } from "effect/workflow/WorkflowEngine"
import { Execution } from "../workflow/Execution.ts"
import { asyncBody, type Operate } from "./AsyncBody.ts"
import { type PlainOf, type PlainResult, plainResult, toPlainResult } from "./PlainResult.ts"

export type EventSchemas = { readonly [name: string]: FieldSchema }

export interface StepOptions {
  /**
   * How often a failed step runs, and the pauses between. A restart keeps pauses of more than a minute; a shorter one begins again.
   * Default: `RetryPolicy.standard`, for about a day.
   */
  readonly retry?: RetryPolicy.RetryPolicy
  /** Which failures are worth another attempt. Default: all. */
  readonly retryable?: (error: unknown) => boolean
}

/** One execution of a step. */
export interface StepContext extends AsyncContext {
  /** The same for each execution of the step, and different in every database: pass it on as idempotency key. */
  readonly key: string
  /** The number of executions, this one included. */
  readonly attempt: number
}

export type StepFunction<A> = (context: StepContext) => PromiseLike<A>

/** The durable operations of a workflow. Each needs a name that no other of its kind has in the same execution. */
export interface Durable<V extends EventSchemas> {
  /** The id of the execution. */
  readonly id: string
  /**
   * Runs a function and stores its result: once that is stored, the function never runs again. It runs at least once; a process
   * killed while it runs leaves its outcome unknown, so pass on `key`. `signal` is aborted when the execution is interrupted. The
   * result is plain data, or fits the schema `success`.
   */
  step<R extends FieldSchema>(
    name: string,
    run: StepFunction<NoInfer<TypeOf<R>>>,
    options: StepOptions & { readonly success: R },
  ): Promise<TypeOf<R>>
  step<A>(name: string, run: StepFunction<A>, options?: StepOptions): Promise<PlainOf<A>>
  /** Waits for a time. The deadline is that of the first run, also after a restart; meanwhile the execution is not in memory. */
  sleep(name: string, duration: Duration.Input): Promise<void>
  /**
   * Waits for an event that `workflows.sendEvent` sends, and returns its value. An event that was sent before counts. With `timeout` the
   * result is undefined when the time has passed; every run returns the same result.
   */
  waitForEvent<K extends keyof V & string>(name: K): Promise<TypeOf<V[K]>>
  waitForEvent<K extends keyof V & string>(name: K, options: { readonly timeout: Duration.Input }): Promise<TypeOf<V[K]> | undefined>
}

export interface AsyncWorkflowOptions<F extends Fields, V extends EventSchemas> {
  readonly name: string
  /** The fields of its input. */
  readonly input: F
  /**
   * Errors that callers, and the code after a failed step, receive as instances of their classes. Others arrive as an `Error` with name and
   * message.
   */
  readonly failure?: FieldSchema
  /** Events from outside, with the schemas of their values. Each arrives once per execution. */
  readonly events?: V
}

type Definition = Workflow.Workflow<string, Workflow.AnyStructSchema, Schema.Top, Schema.Top>

/** A workflow for `openEngine({ workflows })`. */
export interface AsyncWorkflow<in I, out A, out V extends EventSchemas> {
  readonly name: string
  readonly "~types": { readonly input: (input: I) => void; readonly success: A; readonly events: V }
  /** The underlying Effect workflow. */
  readonly definition: Definition
  /** Registers it with a workflow engine. */
  readonly register: Effect.Effect<void, never, WorkflowEngine | Scope.Scope>
  /** The names of its events. */
  readonly eventNames: ReadonlyArray<string>
  /** The deferred of an event. */
  readonly eventNamed: (name: string) => EventDeferred | undefined
  /** The result as the function returned it. */
  readonly resultOf: (stored: unknown) => A
}

type EventDeferred = DurableDeferred.DurableDeferred<Schema.Codec<unknown, unknown>>

/** Defines a workflow. The function must do the same in every run: reads from outside belong in steps. */
export const workflow: {
  <const F extends Fields, R extends FieldSchema, const V extends EventSchemas = Record<never, never>>(
    options: AsyncWorkflowOptions<F, V> & { readonly success: R },
    run: (input: FieldsType<F>, durable: Durable<V>) => PromiseLike<NoInfer<TypeOf<R>>>,
  ): AsyncWorkflow<FieldsType<F>, TypeOf<R>, V>
  <const F extends Fields, A, const V extends EventSchemas = Record<never, never>>(
    options: AsyncWorkflowOptions<F, V>,
    run: (input: FieldsType<F>, durable: Durable<V>) => PromiseLike<A>,
  ): AsyncWorkflow<FieldsType<F>, PlainOf<A>, V>
} = <I extends object, A>(
  options: AsyncWorkflowOptions<Fields, EventSchemas> & { readonly success?: FieldSchema },
  run: (input: I, durable: Durable<EventSchemas>) => PromiseLike<A>,
): AsyncWorkflow<I, A, EventSchemas> => {
  const { name } = options
  for (const [field, schema] of Object.entries(options.input)) checkSchema(schema, `the input ${field} of workflow ${name}`)
  for (const [event, schema] of Object.entries(options.events ?? {})) checkSchema(schema, `the event ${event} of workflow ${name}`)
  if (options.failure !== undefined) checkSchema(options.failure, `the failure of workflow ${name}`)
  const failure = options.failure === undefined ? undefined : asSchema(options.failure)
  const codec = resultCodec<A>(options.success, `the result of workflow ${name}`)
  const definition = Workflow.make(name, {
    payload: Schema.Struct(asFields(options.input)),
    success: codec.schema,
    error: failure ?? Schema.Never,
    // Executions are started under ids that callers choose.
    idempotencyKey: () => name,
  }) as unknown as Definition
  const events = new Map(
    Object.entries(options.events ?? {}).map(([event, schema]) => [
      event,
      DurableDeferred.make(`event/${event}`, { success: asSchema(schema) }),
    ]),
  )
  const isFailure = failure === undefined ? () => false : Schema.is(failure as Schema.Schema<unknown>)
  const stepFailure = failure === undefined ? Schema.Defect() : Schema.Union([failure, Schema.Defect()])
  const body = (input: unknown, id: string) =>
    Effect.map(
      Effect.flatMap(WorkflowInstance, (instance) => {
        const databaseId = Execution.of(instance)?.host.journal.databaseId
        return asyncBody((operate) => run(input as I, durableOf({ name, id, databaseId, events, stepFailure }, operate)), isFailure)
      }),
      (result) => codec.encode(`workflow ${name}`, result),
    )
  return {
    name,
    "~types": undefined as never,
    definition,
    register: Effect.flatMap(WorkflowEngine, (engine) => engine.register(definition, body)) as Effect.Effect<
      void,
      never,
      WorkflowEngine | Scope.Scope
    >,
    eventNames: [...events.keys()],
    eventNamed: (event) => events.get(event),
    resultOf: codec.decode,
  }
}

interface RunningBody {
  readonly name: string
  readonly id: string
  /** Undefined where another engine than this package's runs it. */
  readonly databaseId: DatabaseId | undefined
  readonly events: ReadonlyMap<string, EventDeferred>
  readonly stepFailure: Schema.Codec<unknown, unknown>
}

const durableOf = (body: RunningBody, operate: Operate): Durable<EventSchemas> => ({
  id: body.id,
  step: <A>(name: string, run: StepFunction<A>, options: StepOptions & { readonly success?: FieldSchema } = {}) =>
    operate(stepOf(body, name, run, options)),
  sleep: (name, duration) => operate(DurableClock.sleep({ name, duration, inMemoryThreshold: 0 })),
  waitForEvent: (name: string, options?: { readonly timeout: Duration.Input }) => {
    const deferred = body.events.get(name)
    if (deferred === undefined) {
      const known = [...body.events.keys()].join(", ") || "none"
      return Promise.reject(new TypeError(`workflow ${body.name} declares no event ${name}; its events are ${known}`))
    }
    return operate<unknown, never>(options === undefined ? DurableDeferred.await(deferred) : beforeTimeout(deferred, options.timeout))
  },
})

const stepOf = <A>(
  { name: workflow, id, databaseId, stepFailure }: RunningBody,
  name: string,
  run: StepFunction<A>,
  { retry = RetryPolicy.standard, retryable = () => true, success }: StepOptions & { readonly success?: FieldSchema },
): Effect.Effect<A, unknown, WorkflowEngine | WorkflowInstance> => {
  const codec = resultCodec<A>(success, `the result of step ${name} of workflow ${workflow}`)
  const what = `step ${name} of workflow ${workflow}`
  const called = { machine: workflow, what: `step ${name}`, isFailure: () => true }
  const attempted = (attempt: number): Effect.Effect<A, unknown, WorkflowEngine | WorkflowInstance> => {
    const stepKey = `${workflow}/${id}/${name}`
    const key = databaseId === undefined ? stepKey : idempotencyKey(databaseId, stepKey)
    const execute = callHandler(called, { key, attempt }, (context) => run(context as StepContext))
    const activity = Activity.make({
      name,
      success: codec.schema,
      error: stepFailure,
      execute: Effect.map(execute as Effect.Effect<A, unknown>, (result) => codec.encode(what, result)),
    })
    return Effect.catch(Effect.map(Effect.provideService(activity, Activity.CurrentAttempt, attempt), codec.decode), (error) =>
      Effect.flatMap(Random.next, (random) => {
        const delay = retryable(error) ? RetryPolicy.delayAfter(retry, attempt, random) : undefined
        if (delay === undefined) return Effect.fail(error)
        return Effect.andThen(DurableClock.sleep({ name: `${name}/retry/${attempt}`, duration: delay }), attempted(attempt + 1))
      }),
    )
  }
  return attempted(1)
}

/** The outcome of the race is stored: an event after the deadline does not change it. */
const beforeTimeout = (
  deferred: EventDeferred,
  timeout: Duration.Input,
): Effect.Effect<unknown, never, WorkflowEngine | WorkflowInstance> => {
  const arrived = Effect.map(DurableDeferred.await(deferred), (value): { readonly value?: unknown } => ({ value }))
  const late = Effect.as(
    DurableClock.sleep({ name: `${deferred.name}/timeout`, duration: timeout, inMemoryThreshold: 0 }),
    {} as { readonly value?: unknown },
  )
  const success = Schema.Struct({ value: Schema.optionalKey(deferred.successSchema) })
  const race = DurableDeferred.raceAll({ name: deferred.name, success, error: Schema.Never, effects: [arrived, late] })
  return Effect.map(race, ({ value }) => value)
}

/** How a result is stored: by its schema, or as plain data. */
interface ResultCodec<A> {
  readonly schema: Schema.Codec<unknown, unknown>
  readonly encode: (what: string, result: A) => unknown
  readonly decode: (stored: unknown) => A
}

const resultCodec = <A>(success: FieldSchema | undefined, where: string): ResultCodec<A> => {
  if (success === undefined) return { schema: plainResult, encode: toPlainResult, decode: (stored) => (stored as PlainResult).value as A }
  checkSchema(success, where)
  return { schema: asSchema(success), encode: (_, result) => result, decode: (stored) => stored as A }
}
