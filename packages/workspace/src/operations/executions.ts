/** Operations on executions of workflows: start, list, show, send events, resume, interrupt. */
import { isDeepStrictEqual } from "node:util"
import type { Phase } from "@detent/api/Phase"
import { DurableWorkflow, type InstanceCursor, type InstanceKey, type InstanceRecord, Journal, type OpenedInstance } from "@detent/durable"
import { redactor } from "@detent/machine/internal"
import { nameProblem } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as DurableDeferred from "effect/workflow/DurableDeferred"
import type * as Workflow from "effect/workflow/Workflow"
import { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import {
  ExecutionEnded,
  ExecutionEventInvalid,
  ExecutionEventTaken,
  ExecutionEventUnknown,
  ExecutionExists,
  ExecutionIdRefused,
  ExecutionNotFound,
  InvalidPayload,
  WorkflowBuiltIn,
  WorkflowNotFound,
} from "../errors.ts"
import { type MachineEntry, Machines } from "../Machines.ts"
import { exampleFields, exampleOf } from "../machine/ExampleJson.ts"
import { optional, paged } from "../optional.ts"
import { CurrentAttempt } from "../RequestKeys.ts"
import { problemOfFields } from "../SchemaProblem.ts"
import { Systems } from "../Systems.ts"
import { addressProblem } from "./addressable.ts"
import { type ListOrder, mergedList } from "./mergedList.ts"

export interface ExecutionQuery {
  /** The workflow's name. Default: all workflows that this process knows. */
  readonly workflow?: string | undefined
  readonly phase?: typeof Phase.Type | undefined
  readonly limit: number
  /** By the time of the last change. Default: `oldest` first. */
  readonly order?: ListOrder | undefined
  readonly after?: InstanceCursor | undefined
}

const prefix = DurableWorkflow.machineOf("")

const keyOf = (workflow: string, id: string): InstanceKey => ({ machine: DurableWorkflow.machineOf(workflow), id })

const listingOf = ({ machine, id, tag, reason, status, owner, sequence, startedAt, updatedAt }: InstanceRecord) => ({
  workflow: machine.slice(prefix.length),
  id,
  phase: tag,
  ended: status === "final",
  // The record of a running execution names its node as the reason.
  ...optional({ problem: status === "held" ? reason : undefined, node: status === "running" ? (owner ?? reason) : undefined }),
  events: sequence,
  startedAt,
  updatedAt,
})

export type ExecutionListing = ReturnType<typeof listingOf>

const workflowsOf = (entries: ReadonlyArray<MachineEntry>) => entries.filter((entry) => entry._tag === "EffectWorkflow")

const known = Effect.flatMap(Machines, (machines) => Effect.map(machines.list, workflowsOf))

const findEntry = Effect.fnUntraced(function* (name: string) {
  const entries = yield* known
  const found = entries.find((entry) => entry.workflow._tag === name)
  if (found !== undefined) return found
  return yield* new WorkflowNotFound({ workflow: name, known: entries.map((entry) => entry.workflow._tag) })
})

const findWorkflow = (name: string) => Effect.map(findEntry(name), ({ workflow }) => workflow)

const found = (workflow: string, id: string) =>
  Effect.flatMap(
    Effect.flatMap(Journal, (journal) => journal.open(keyOf(workflow, id))),
    Option.match({ onNone: () => Effect.fail(new ExecutionNotFound({ workflow, id })), onSome: Effect.succeed }),
  )

/** A page of executions. Without a workflow, the list includes stored executions of workflows that this process does not know. */
export const list = Effect.fn("executions.list")(function* ({ workflow, phase, limit, order, after }: ExecutionQuery) {
  if (workflow !== undefined) yield* checkWorkflow(workflow)
  const stored = (yield* Effect.flatMap(Journal, (journal) => journal.machines)).filter((machine) => machine.startsWith(prefix))
  const machines = workflow === undefined ? stored : [DurableWorkflow.machineOf(workflow)]
  const filters = machines.map((machine) => ({ machine, ...optional({ tag: phase }) }))
  const page = yield* mergedList(filters, Math.min(1000, Math.max(1, limit)), after, order)
  return paged({ executions: page.instances.map(listingOf) }, page.next)
})

/** Refuses an unknown workflow name, so that a misspelt name does not give an empty list. */
const checkWorkflow = Effect.fnUntraced(function* (name: string) {
  const counts = yield* Effect.flatMap(Journal, (journal) => journal.count(DurableWorkflow.machineOf(name)))
  if (counts.size === 0) yield* findWorkflow(name)
})

/** The status of an execution: its payload and result, the durable clocks it waits for, and its error. */
export const get = Effect.fn("executions.get")(function* (workflow: string, id: string) {
  const opened = yield* found(workflow, id)
  const { record, timers } = opened
  const failure = record.tag === "Failed" ? yield* failureOf(workflow, record) : undefined
  const parents = yield* parentsOf(opened)
  return {
    ...listingOf(record),
    ...optional({ problem: failure }),
    ...(yield* valuesOf(workflow, opened)),
    ...(parents.length === 0 ? {} : { parents }),
    clocks: timers.map(({ name, due }) => ({ name, due })),
  }
})

const Success = Schema.fromJsonString(Schema.Struct({ exit: Schema.Struct({ success: Schema.Json }) }))

/**
 * The payload and the result, without sensitive fields. Empty for a workflow whose schemas this process does not know; without the
 * payload once the journal was pruned.
 */
const valuesOf = Effect.fnUntraced(function* (workflow: string, opened: OpenedInstance) {
  const definition = (yield* known).find((entry) => entry.workflow._tag === workflow)?.workflow
  if (definition === undefined) return {}
  const shown = (schema: Schema.Top, value: unknown) =>
    value === undefined ? undefined : (redactor(Schema.toCodecJson(schema))(value) as Schema.Json)
  const { record, snapshot } = opened
  const payload = shown(definition.payloadSchema, yield* storedPayload(opened))
  if (record.tag !== "Completed") return optional({ payload })
  const [last] = yield* Effect.flatMap(Journal, (journal) => journal.events(record, record.sequence - 1, 1))
  const stored = Schema.decodeUnknownOption(Success)(last?.body ?? snapshot?.body)
  const result = Option.isNone(stored) ? undefined : shown(definition.successSchema, stored.value.exit.success)
  return optional({ payload, result })
})

const Key = Schema.Struct({ machine: Schema.String, id: Schema.String })
const Parent = Schema.fromJsonString(Schema.Struct({ parent: Schema.optionalKey(Key), by: Schema.optionalKey(Key) }))

/** Executions that wait for this one. Only its first 1,000 events are searched. */
const parentsOf = Effect.fnUntraced(function* ({ origin, record }: OpenedInstance) {
  const events = yield* Effect.flatMap(Journal, (journal) => journal.events(record, 0, 1000))
  const bodies = [origin, ...events.flatMap(({ tag, body }) => (tag === "Awaited" || tag === "Started" ? [body] : []))]
  const keys = bodies.flatMap((body) => {
    const read = Option.getOrUndefined(Schema.decodeUnknownOption(Parent)(body))
    return [read?.parent ?? [], read?.by ?? []].flat()
  })
  const named = new Map(keys.map(({ machine, id }) => [`${machine} ${id}`, { workflow: machine.slice(prefix.length), id }]))
  return [...named.values()]
})

const Failure = Schema.fromJsonString(
  Schema.Struct({
    exit: Schema.Struct({
      failure: Schema.Array(
        Schema.Struct({ _tag: Schema.String, error: Schema.optionalKey(Schema.Json), defect: Schema.optionalKey(Schema.Json) }),
      ),
    }),
  }),
)

/**
 * The error that an execution ended with, in one line, without sensitive fields. Undefined where this process does not know the error's
 * schema, or where the journal was pruned.
 */
const failureOf = Effect.fnUntraced(function* (workflow: string, record: InstanceRecord) {
  const definition = (yield* known).find((entry) => entry.workflow._tag === workflow)?.workflow
  const [last] = yield* Effect.flatMap(Journal, (journal) => journal.events(record, record.sequence - 1, 1))
  const stored = Schema.decodeUnknownOption(Failure)(last?.body)
  if (definition === undefined || Option.isNone(stored)) return undefined
  const shown = redactor(Schema.toCodecJson(definition.errorSchema))
  const texts = stored.value.exit.failure.flatMap(({ error, defect }) =>
    error === undefined ? (defect === undefined ? [] : [errorText(defect)]) : [errorText(shown(error))],
  )
  return texts.length === 0 ? undefined : texts.join("; ").slice(0, longestProblem)
})

const longestProblem = 1000

const NamedError = Schema.Struct({ name: Schema.optionalKey(Schema.String), message: Schema.String })

/** An `Error` by its name and message, other values as they are. */
const errorText = (error: unknown): string => {
  if (typeof error === "string") return error
  const named = Schema.decodeUnknownOption(NamedError)(error)
  if (Option.isNone(named)) return JSON.stringify(error)
  const { name = "Error", message } = named.value
  return `${name}: ${message}`
}

export interface EventsPage {
  readonly after?: number | undefined
  readonly limit?: number | undefined
}

/** The names of its events, oldest first: `Activity/charge card`, `ClockSet/reminder`, `Suspended`, `Completed`. */
export const history = Effect.fn("executions.history")(function* (
  workflow: string,
  id: string,
  { after = 0, limit = 100 }: EventsPage = {},
) {
  yield* found(workflow, id)
  const most = Math.min(1000, Math.max(1, limit))
  const records = yield* Effect.flatMap(Journal, (journal) => journal.events(keyOf(workflow, id), after, most + 1))
  const events = records.slice(0, most).map(({ sequence, at, tag }) => ({ sequence, at, event: tag }))
  return paged({ events }, records.length > most ? events.at(-1)?.sequence : undefined)
})

export interface StartExecution {
  readonly workflow: string
  /** Default: the id that the workflow derives from its payload. */
  readonly id?: string | undefined
  readonly payload?: Readonly<Record<string, Schema.Json>> | undefined
}

/**
 * Starts an execution, which a server or worker runs. Starting it again with the same id and payload returns its state; another payload
 * with the same id is refused.
 */
export const start = Effect.fn("executions.start")(function* ({ workflow: name, id: given, payload: json = {} }: StartExecution) {
  const workflow = yield* startable(name)
  const { decode, encode } = payloadJson(workflow)
  const payload = yield* Effect.fromResult(decode(json))
  const id = given ?? (yield* derivedId(workflow, payload))
  yield* checkId(name, id)
  if (!(yield* isStarted(name, id)))
    yield* ofEngine((yield* WorkflowEngine).execute(workflow as Executable, { executionId: id, payload, discard: true }))
  // Of concurrent starts, the payload of the first is stored.
  const stored = yield* Effect.flatMap(found(name, id), storedPayload)
  // A pruned payload cannot be compared.
  const isSame = stored === undefined || isDeepStrictEqual(stored, encode(payload))
  return isSame ? yield* get(name, id) : yield* new ExecutionExists({ workflow: name, id })
})

const checkId = (workflow: string, id: string) => {
  const problem = id === "" ? "it is empty" : (nameProblem("id", id) ?? addressProblem(id))
  return problem === undefined ? Effect.void : Effect.fail(new ExecutionIdRefused({ workflow, problem }))
}

const isStarted = (workflow: string, id: string) =>
  Effect.map(
    Effect.flatMap(Journal, (journal) => journal.open(keyOf(workflow, id))),
    Option.exists(({ record }) => record.tag !== "Waiting"),
  )

/** A workflow that users can start. Only batches start the workflow of knowledge. */
const startable = Effect.fnUntraced(function* (name: string) {
  const workflow = yield* findWorkflow(name)
  const { knowledge } = yield* Systems
  return Option.isSome(knowledge) && name === "extraction" ? yield* new WorkflowBuiltIn({ workflow: name }) : workflow
})

/** An async workflow derives no id from its payload: its idempotency key is always its name. */
const derivedId = (workflow: Workflow.Any, payload: object) =>
  Effect.suspend(() =>
    workflow.idempotencyKey(payload) === workflow._tag
      ? Effect.fail(new ExecutionIdRefused({ workflow: workflow._tag, problem: "it derives none from its payload" }))
      : workflow.executionId(payload),
  )

type Executable = Workflow.Workflow<string, Workflow.AnyStructSchema, Schema.Top, Schema.Top>

/** The workflow's layer has the services of its schemas. Schemas of JSON payloads need none. */
const ofEngine = (started: Effect.Effect<string, unknown, unknown>) => started as Effect.Effect<string>

/** Decodes the payload of a workflow from JSON, and encodes it as stored. */
const payloadJson = ({ _tag: workflow, payloadSchema }: Workflow.Any) => {
  const codec = Schema.toCodecJson(payloadSchema) as unknown as Schema.Codec<object, object>
  const decode = Schema.decodeUnknownResult(codec, { onExcessProperty: "error", errors: "all" })
  return {
    decode: (json: object) =>
      Result.mapError(
        decode(json),
        (problem) =>
          new InvalidPayload({ workflow, problem: problemOfFields(problem, json, codec), example: examplePayload(payloadSchema) }),
      ),
    encode: (payload: object): unknown => JSON.parse(JSON.stringify(Schema.encodeSync(codec)(payload))),
  }
}

/** The JSON Schema of a workflow's payload, or of the value of an event. */
export const jsonSchemaOf = (schema: Schema.Constraint): Schema.Json => {
  const document = Schema.toJsonSchemaDocument(schema)
  const hasDefinitions = Object.keys(document.definitions).length > 0
  return (hasDefinitions ? { ...document.schema, $defs: document.definitions } : document.schema) as Schema.Json
}

const examplePayload = (schema: Workflow.AnyStructSchema) => exampleFields(jsonSchemaOf(schema))

const Origin = Schema.fromJsonString(Schema.Struct({ payload: Schema.optionalKey(Schema.Unknown) }))

const payloadIn = (text: string | undefined): unknown =>
  Option.getOrUndefined(Option.map(Schema.decodeUnknownOption(Origin)(text), ({ payload }) => payload))

/** The payload of an execution; undefined once its journal was pruned. If an event arrived before the start, `Started` has the payload. */
const storedPayload = Effect.fnUntraced(function* ({ origin, record }: OpenedInstance) {
  const payload = payloadIn(origin)
  if (payload !== undefined) return payload
  const events = yield* Effect.flatMap(Journal, (journal) => journal.events(record, 0, 1000))
  return payloadIn(events.find(({ tag }) => tag === "Started")?.body)
})

/**
 * The workflow of an execution that had not ended at the first attempt of the request; undefined where it has ended since. This process
 * must know the workflow.
 */
const changeable = Effect.fnUntraced(function* (workflow: string, id: string) {
  const { before } = yield* CurrentAttempt
  const { record } = yield* found(workflow, id)
  const isEnded = record.status === "final"
  if (yield* before(Effect.succeed(isEnded))) return yield* new ExecutionEnded({ workflow, id, phase: record.tag })
  return isEnded ? undefined : yield* findWorkflow(workflow)
})

/** Resumes an execution that is suspended or held. A running execution is unchanged. */
export const resume = Effect.fn("executions.resume")(function* (workflow: string, id: string) {
  const definition = yield* changeable(workflow, id)
  if (definition !== undefined) yield* Effect.flatMap(WorkflowEngine, (engine) => engine.resume(definition, id))
  return yield* get(workflow, id)
})

/** Interrupts an execution: no further activity starts, and the compensations of completed steps run. */
export const interrupt = Effect.fn("executions.interrupt")(function* (workflow: string, id: string) {
  const definition = yield* changeable(workflow, id)
  if (definition !== undefined) yield* Effect.flatMap(WorkflowEngine, (engine) => engine.interrupt(definition, id))
  return yield* get(workflow, id)
})

export interface SendToExecution {
  readonly workflow: string
  readonly id: string
  /** The name of the event in the configuration. */
  readonly event: string
  /** Default: null, for an event without a value. */
  readonly value?: Schema.Json | undefined
  /** Keeps the event for an execution that is started later. Default: an execution that does not exist is refused. */
  readonly beforeStart?: boolean | undefined
}

/**
 * Sends an event to an execution, which takes it when it awaits the event, now or later. An execution takes each event once: sending
 * the same value again returns the state of the execution, and another value is refused.
 */
export const send = Effect.fn("executions.send")(function* ({
  workflow,
  id,
  event,
  value: json = null,
  beforeStart = false,
}: SendToExecution) {
  const deferred = yield* eventNamed(workflow, event)
  const { decode, encode } = eventJson(workflow, event, deferred)
  const value = yield* Effect.fromResult(decode(json))
  yield* checkId(workflow, id)
  const opened = yield* Effect.flatMap(Journal, (journal) => journal.open(keyOf(workflow, id)))
  if (Option.isNone(opened) && !beforeStart) return yield* new ExecutionNotFound({ workflow, id })
  if (!Option.exists(opened, ({ record }) => record.status === "final"))
    yield* Effect.flatMap(WorkflowEngine, (engine) =>
      engine.deferredDone(deferred, { workflowName: workflow, executionId: id, deferredName: deferred.name, exit: Exit.succeed(value) }),
    )
  // Of concurrent sends, the value of the first is stored.
  const stored = yield* storedEvent(workflow, id, deferred.name)
  if (stored === undefined) return yield* new ExecutionEnded({ workflow, id, phase: (yield* get(workflow, id)).phase })
  const isSame = isDeepStrictEqual(stored.success, encode(value))
  return isSame ? yield* get(workflow, id) : yield* new ExecutionEventTaken({ workflow, id, event })
})

/** The workflow's layer has the services of an event's schema. The schema of a JSON value needs none. */
type EventDeferred = DurableDeferred.DurableDeferred<Schema.Codec<unknown, unknown>>

const eventNamed = Effect.fnUntraced(function* (name: string, event: string) {
  const { events } = yield* findEntry(name)
  if (!Object.hasOwn(events, event)) return yield* new ExecutionEventUnknown({ workflow: name, event, known: Object.keys(events) })
  return events[event] as unknown as EventDeferred
})

/** Decodes the value of an event from JSON, and encodes it as stored. */
const eventJson = (workflow: string, event: string, { successSchema }: EventDeferred) => {
  const codec = Schema.toCodecJson(successSchema)
  const decode = Schema.decodeUnknownResult(codec, { onExcessProperty: "error", errors: "all" })
  const refused = (problem: string) =>
    new ExecutionEventInvalid({ workflow, event, problem, example: exampleOf(jsonSchemaOf(successSchema)) })
  return {
    decode: (json: unknown) =>
      Result.mapError(decode(json), (problem) => refused(problemOfFields(problem, Predicate.isObject(json) ? json : {}, codec))),
    // JSON has no undefined.
    encode: (value: unknown): unknown => JSON.parse(JSON.stringify(Schema.encodeSync(codec)(value) ?? null)),
  }
}

const StoredEvent = Schema.fromJsonString(Schema.Struct({ exit: Schema.Struct({ success: Schema.optionalKey(Schema.Unknown) }) }))

/** The stored value of an event; undefined before it arrives, or where the journal of an ended execution was pruned. */
const storedEvent = Effect.fnUntraced(function* (workflow: string, id: string, deferred: string) {
  const journal = yield* Journal
  const tag = `Deferred/${deferred}`
  for (let after = 0; ; ) {
    const page = yield* journal.events(keyOf(workflow, id), after, eventPage)
    const arrived = page.find((one) => one.tag === tag)
    if (arrived !== undefined) return Option.getOrElse(decodeStored(arrived.body), () => notStored).exit
    if (page.length < eventPage) return undefined
    after = page.at(-1)?.sequence ?? after
  }
})

/** The workflow's own code may complete a deferred with a failure. That equals no value that a caller can send. */
const notStored: typeof StoredEvent.Type = { exit: {} }

const decodeStored = Schema.decodeUnknownOption(StoredEvent)

const eventPage = 1000
