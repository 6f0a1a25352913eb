/** Executes the commands of a chart: custom actions, promises, and events between instances of one chart. */
import { Engine } from "@detent/durable"
import { RetryPolicy, Slot, type SlotSettings } from "@detent/machine"
import type { Declarations, Tagged } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { AnyActorLogic, EventObject } from "xstate"
import { type Chart, ownEvent, startTag } from "./Chart.ts"
import { sentEvent } from "./ChartDecisions.ts"
import type { ParentInstance } from "./ChartState.ts"
import { storable, storableError } from "./PlainData.ts"
import { slots } from "./Slots.ts"

/** The command that an action or a promise runs as. */
export interface CommandCall {
  /** The instance. */
  readonly id: string
  /** The idempotency key: the same for every attempt. Pass it on with a payment or a mail. */
  readonly key: string
  readonly signal: AbortSignal
}

/** An action is called with the event that led to it. */
export interface ActionCall extends CommandCall {
  readonly event: EventObject
}

/** How a command is executed. */
export type CommandOptions = Pick<SlotSettings<object, unknown, unknown, unknown>, "retry" | "timeout" | "queue" | "priority" | "ordered">

/** The function of an action or a promise, without its types. */
export type AnyRun = (given: unknown, call: ActionCall) => unknown

/** One entry of `actions` or `actors`: the function, or how its command is executed, with or without a function. */
export type AnyImplementation = AnyRun | (CommandOptions & { readonly run?: AnyRun })

export interface Implementations {
  readonly actions: Readonly<Record<string, AnyImplementation | undefined>>
  readonly actors: Readonly<Record<string, AnyImplementation | undefined>>
}

type Parts = Required<Pick<Declarations, "effectSlots" | "commands">> & { readonly handlers: NonNullable<Declarations["handlers"]> }

/** A promise is tried three times before the chart gets its error; a killed process counts as one attempt. */
const promiseRetry = RetryPolicy.exponential({ initialDelay: "200 millis", maxAttempts: 3 })

/** Events between instances are retried for days: the receiver may be held, or its machine not registered yet. */
const deliveryRetry = RetryPolicy.exponential({ initialDelay: "100 millis", maxDelay: "1 minute", maxAttempts: 5000 })

export const chartCommands = (
  chart: Chart,
  name: string,
  actionNames: ReadonlySet<string>,
  implementations: Implementations,
  childOf: (machine: string) => unknown,
): Parts => {
  const effectSlots: Record<string, Declarations["effectSlots"][string]> = {}
  const handlers: Record<string, (parameters: object, context: unknown) => unknown> = {}
  const commands: Record<string, SlotSettings<object, unknown, unknown, Tagged>> = {}
  for (const action of actionNames) {
    const { run, ...options } = implementationOf(implementations.actions[action])
    effectSlots[action] = { params: Schema.Unknown, event: Schema.Unknown, context: Schema.optionalKey(Schema.Unknown) }
    handlers[action] = (parameters, context) => act(chart, name, action, run, parameters as ActionParameters, context as CommandCall)
    commands[action] = options
  }
  for (const [src, { kind, logic }] of chart.actors) {
    if (kind !== "promise") continue
    const slot = slots.invoke(src)
    const { run, ...options } = implementationOf(implementations.actors[src])
    effectSlots[slot] = Slot.effect(
      { actor: Schema.String, n: Schema.Number, input: Schema.Unknown },
      { success: Schema.Unknown, failure: Schema.Unknown },
    ) as never
    handlers[slot] = (parameters, context) => invoke(logic, run, (parameters as PromiseParameters).input, context as CommandCall)
    commands[slot] = {
      retry: promiseRetry,
      ...options,
      onSuccess: (output, { parameters }) => doneEvent(parameters as PromiseParameters, output),
      onFailure: (error, { parameters }) => errorEvent(parameters as PromiseParameters, error),
    }
  }
  if ([...chart.actors.values()].some(({ kind }) => kind === "machine")) {
    effectSlots[slots.start] = {
      machine: Schema.String,
      child: Schema.String,
      actor: Schema.String,
      n: Schema.Number,
      input: Schema.Unknown,
    }
    effectSlots[slots.stop] = { machine: Schema.String, child: Schema.String }
    handlers[slots.start] = (parameters, context) => startChild(name, childOf, parameters as StartParameters, context as CommandCall)
    handlers[slots.stop] = (parameters, context) => {
      const { machine, child } = parameters as StartParameters
      const { id, key } = context as CommandCall
      return deliver({ machine, id: `${id}/${child}` }, stopEvent, key)
    }
    commands[slots.start] = { ordered: true, retry: deliveryRetry }
    commands[slots.stop] = { ordered: true, retry: deliveryRetry }
  }
  effectSlots[slots.send] = {
    machine: Schema.String,
    id: Schema.optionalKey(Schema.String),
    child: Schema.optionalKey(Schema.String),
    event: Schema.Unknown,
  }
  handlers[slots.send] = (parameters, context) => {
    const { machine, id: to, child, event } = parameters as SendParameters
    const { id, key } = context as CommandCall
    return deliver({ machine, id: to ?? `${id}/${child ?? ""}` }, event, key)
  }
  commands[slots.send] = { ordered: true, retry: deliveryRetry }
  effectSlots[slots.log] = { content: Schema.Unknown }
  handlers[slots.log] = (parameters) => Effect.logInfo(...[(parameters as { readonly content: unknown }).content].flat())
  return { effectSlots, handlers, commands }
}

interface ActionParameters {
  readonly params: unknown
  readonly event: EventObject
  readonly context?: unknown
}

interface PromiseParameters {
  readonly actor: string
  readonly n: number
  readonly input: unknown
}

interface StartParameters extends PromiseParameters {
  readonly machine: string
  readonly child: string
}

interface SendParameters {
  readonly machine: string
  readonly id?: string
  readonly child?: string
  readonly event: Tagged
}

export const implementationOf = (given: AnyImplementation | undefined): CommandOptions & { readonly run?: AnyRun } =>
  typeof given === "function" ? { run: given } : (given ?? {})

/** Calls a function that may return a value, a Promise or an Effect. An exception is a failure. */
const called = (run: () => unknown): Effect.Effect<unknown, unknown, unknown> =>
  Effect.suspend(() => {
    try {
      const returned = run()
      if (Effect.isEffect(returned)) return returned as Effect.Effect<unknown, unknown, unknown>
      return isPromise(returned) ? settled(returned) : Effect.succeed(returned)
    } catch (error) {
      return Effect.fail(error)
    }
  })

const settled = (promise: PromiseLike<unknown>): Effect.Effect<unknown, unknown> =>
  Effect.callback((resume) => {
    promise.then(
      (value) => resume(Effect.succeed(value)),
      (error: unknown) => resume(Effect.fail(error)),
    )
  })

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" && value !== null && "then" in value && typeof value.then === "function"

/**
 * An action of the machine itself gets the arguments of XState; an action given to `fromXState` gets its parameters. Events that the action
 * sends to `self` before it ends arrive once.
 */
const act = (
  chart: Chart,
  machine: string,
  action: string,
  run: AnyRun | undefined,
  { params, event, context }: ActionParameters,
  { id, key, signal }: CommandCall,
) => {
  if (run !== undefined) return called(() => run(params ?? undefined, { id, key, event, signal }))
  const own = chart.machine.implementations.actions[action] as ((args: object, params: unknown) => unknown) | undefined
  return Effect.suspend(() => {
    const sent: Array<Tagged> = []
    let hasEnded = false
    const send = (given: EventObject) => {
      if (hasEnded) throw new Error(`the action ${action} has ended and cannot send; return a promise that ends when everything is sent`)
      sent.push({ ...sentEvent(storable(given, "the event") as object), _tag: chart.eventTag(given) } as Tagged)
    }
    return Effect.andThen(
      called(() => own?.({ context, event, self: { id, send }, system: {} }, params ?? undefined)),
      Effect.suspend(() => {
        hasEnded = true
        return Effect.forEach(sent, (one, index) => deliver({ machine, id }, one, `${key}/${index}`), { discard: true })
      }),
    )
  })
}

const invoke = (logic: AnyActorLogic, run: AnyRun | undefined, input: unknown, { id, key, signal }: CommandCall) => {
  const given = input ?? undefined
  if (run !== undefined) return called(() => run(given, { id, key, signal, event: { type: "xstate.init" } }))
  const { config } = logic as unknown as { readonly config: (args: object) => unknown }
  return called(() => config({ input: given, system: {}, self: { id }, signal, emit: () => undefined }))
}

/** An event that XState creates, with its tag. */
interface OwnEvent extends Tagged {
  readonly type: string
  readonly [field: string]: unknown
}

const stopEvent: OwnEvent = { _tag: ownEvent.stop, type: "xstate.stop" }

/** A promise whose output cannot be stored has failed. */
const doneEvent = (parameters: PromiseParameters, output: unknown): OwnEvent => {
  const { actor, n } = parameters
  try {
    const kept = storable(output, `the output of ${actor}`)
    return { _tag: ownEvent.done, type: `xstate.done.actor.${actor}`, output: kept, actorId: actor, n }
  } catch (error) {
    return errorEvent(parameters, error)
  }
}

const errorEvent = ({ actor, n }: PromiseParameters, error: unknown): OwnEvent => ({
  _tag: ownEvent.error,
  type: `xstate.error.actor.${actor}`,
  error: storableError(error),
  actorId: actor,
  n,
})

const engine = Effect.flatMap(Effect.serviceOption(Engine), (found) =>
  Option.isSome(found)
    ? Effect.succeed(found.value)
    : Effect.die(new Error("child machines need a durable engine: run the chart with Engine")),
)

/** The child knows its parent, so that it can send to it. A second start has no effect. A child that cannot begin is an error of its parent. */
const startChild = (
  name: string,
  childOf: (machine: string) => unknown,
  { machine, child, actor, n, input }: StartParameters,
  { id, key }: CommandCall,
) =>
  Effect.flatMap(engine, (service) => {
    const parent: ParentInstance = { machine: name, id, actor, n }
    const first = { _tag: startTag, ...inputFields(input ?? undefined), "(parent)": parent }
    return Effect.catchTags(service.start(childOf(machine) as never, `${id}/${child}`, first as never), {
      ActorExists: () => Effect.void,
      ActionFailed: ({ cause }) => deliver(parent, errorEvent({ actor, n, input }, cause), key),
    })
  })

/** The input of a chart as fields of its first state. */
export const inputFields = (input: unknown): object =>
  typeof input === "object" && input !== null && !Array.isArray(input) ? input : input === undefined ? {} : { "(input)": input }

/**
 * Sends an event under the key of the command, so that it arrives once. An instance that has ended, or was never started because it
 * was stopped before, gets nothing, as in XState; one that does not handle the event ignores it.
 */
const deliver = (to: { readonly machine: string; readonly id: string }, event: Tagged, key: string) =>
  Effect.flatMap(engine, (service) => {
    const found = service.find(to)
    if (Option.isNone(found)) return Effect.die(new Error(`machine ${to.machine} is not registered in this process`))
    return Effect.catchTags(found.value.send(event, { id: `xstate/${key}` }), {
      MachineStopped: () => Effect.void,
      InstanceNotFound: () => Effect.void,
      TransitionRefused: () => Effect.void,
      InvalidTransition: () => Effect.void,
    })
  })
