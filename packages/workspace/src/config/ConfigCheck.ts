/** Decodes a configuration at run time: an unknown setting, at any depth, is refused with its path and the nearest known name. */
import { DurableWorkflow, type Upcasters } from "@detent/durable"
import { type Schedule, type ScheduleTarget, scheduleMachineName } from "@detent/durable/Schedules"
import { nearest } from "@detent/entity"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ClusterSettings } from "../ClusterMember.ts"
import { decodeStrictly } from "../SchemaProblem.ts"
import { bulkMachine, machinesOfSystem } from "../Systems.ts"
import type { Webhook } from "../Webhook.ts"
import type { AnyMachine, Config, ConfigLayer, ConfiguredWorkflow, UploadType, WorkflowEvents, WorkspaceLimits } from "./Settings.ts"

export interface ConfigProblem {
  readonly problem: string
  readonly nextStep: string
}

const declared = <A>(is: (value: unknown) => boolean, expected: string) => Schema.declare((value): value is A => is(value), { expected })

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

const isMachine = (value: unknown): boolean => isObject(value) && "blueprint" in value && "name" in value && typeof value.name === "string"

/** An Effect workflow is a function with properties. */
const isEffectWorkflow = (value: unknown): boolean =>
  typeof value === "function" && "_tag" in value && typeof value._tag === "string" && "payloadSchema" in value

const isAsyncWorkflow = (value: unknown): boolean =>
  isObject(value) && "register" in value && "definition" in value && isEffectWorkflow(value.definition)

const isDeferred = (value: unknown): boolean => isObject(value) && "name" in value && "successSchema" in value && "exitSchema" in value

const isUpload = (value: unknown): boolean =>
  value === "items" || (isObject(value) && "kind" in value && "fields" in value && "name" in value && typeof value.name === "string")

const isSchedule = (value: unknown): boolean => isObject(value) && "start" in value && "definition" in value && "name" in value

const isScheduleTarget = (value: unknown): boolean => isObject(value) && "start" in value && "problemOf" in value && "name" in value

const isWebhook = (value: unknown): boolean => isObject(value) && "verify" in value && "on" in value && "name" in value

const isDuration = (value: unknown): boolean => {
  const duration = Duration.fromInput(value as Duration.Input)
  return Option.isSome(duration) && Duration.isGreaterThan(duration.value, Duration.zero)
}

const duration = declared<Duration.Input>(isDuration, 'a duration above zero, such as "30 days"')

const upcast = declared<NonNullable<Upcasters[number]["state"]>>((value) => typeof value === "function", "a function of the stored JSON")

const { optionalKey: optional, Struct: struct } = Schema

/** A whole number above zero. */
const count = optional(Schema.Int.check(Schema.isGreaterThan(0)))

const Workflow = Schema.Union([
  declared<Exclude<ConfiguredWorkflow<unknown>, { readonly layer: unknown }>>(
    isAsyncWorkflow,
    "a workflow made with `workflow` of @detent/durable/promise",
  ),
  struct({
    workflow: declared<Extract<ConfiguredWorkflow<unknown>, { readonly layer: unknown }>["workflow"]>(
      isEffectWorkflow,
      "a workflow made with Workflow.make",
    ),
    layer: declared<Layer.Layer<never, unknown, unknown>>(Layer.isLayer, "the layer that workflow.toLayer makes"),
    events: optional(
      Schema.Record(Schema.String, declared<WorkflowEvents[string]>(isDeferred, "a deferred made with DurableDeferred.make")),
    ),
  }),
])

const Http = struct({
  bodyBytes: count,
  uploadBytes: count,
  requests: count,
  unauthenticatedRequests: count,
  streams: count,
  connections: count,
  headersTimeout: optional(duration),
  requestTimeout: optional(duration),
  unauthenticatedTimeout: optional(duration),
  answerTimeout: optional(duration),
  stopTimeout: optional(duration),
})

/** In MB. An idle worker process already uses half of this. */
const leastMemory = 200

const UploadItem = struct({
  time: optional(duration),
  memory: optional(Schema.Int.check(Schema.isGreaterThanOrEqualTo(leastMemory))),
})

const Limits = struct({
  eventSize: count,
  stateSize: count,
  mailbox: count,
  instances: count,
  commands: count,
  uploadItems: count,
  uploadItem: optional(UploadItem),
  http: optional(Http),
})

/** From 1 to the largest limit that every store can keep. */
const Limit = Schema.Int.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(2_147_483_647))

const groupLimits = { concurrency: optional(Limit), rate: optional(struct({ limit: Limit, interval: duration })) }

const Queue = struct({ ...groupLimits, perGroup: optional(struct(groupLimits)) })

const Cluster = struct({
  // `--cluster` of the command line may give it.
  address: Schema.optional(Schema.String),
  listen: optional(Schema.String),
  token: optional(Schema.String),
  lease: optional(duration),
  patience: optional(duration),
  outgoing: optional(struct({ requests: count, characters: count })),
})

const Settings = struct({
  machines: optional(Schema.Array(declared<AnyMachine<unknown>>(isMachine, "a machine made with Machine.make({ ... })"))),
  workflows: optional(Schema.Array(Workflow)),
  layers: optional(declared<ConfigLayer<unknown>>(Layer.isLayer, "a Layer of Effect")),
  upcasters: optional(
    Schema.Record(
      Schema.String,
      Schema.Record(Schema.String.check(Schema.isPattern(/^\d+$/u)), struct({ state: optional(upcast), event: optional(upcast) })),
    ),
  ),
  // Decoded by its own schema, which is loaded only for a configuration with this section.
  knowledge: optional(Schema.Unknown),
  uploads: optional(Schema.NonEmptyArray(declared<UploadType>(isUpload, '"items", or an upload made with defineUpload'))),
  retention: optional(Schema.Record(Schema.String, duration)),
  commandRetention: optional(struct({ finished: optional(duration), deadLetters: optional(duration) })),
  limits: optional(Limits),
  queues: optional(Schema.Record(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200)), Queue)),
  schedules: optional(Schema.Array(declared<Schedule>(isSchedule, 'a schedule made with schedule("name", { ... })'))),
  scheduleTargets: optional(Schema.Array(declared<ScheduleTarget>(isScheduleTarget, 'a target made with scheduleTarget("name", { ... })'))),
  webhooks: optional(Schema.Array(declared<Webhook>(isWebhook, 'a webhook made with webhook("name", { ... })'))),
  cluster: optional(Cluster),
})

const decodeKnowledge = Effect.map(
  Effect.promise(() => import("@detent/knowledge/KnowledgeSettings")),
  ({ KnowledgeSettings }) => decodeStrictly(struct({ knowledge: KnowledgeSettings })),
)

/** The type annotation fails to compile where the type and the schema have different settings. */
const decode: (value: unknown) => Result.Result<DecodedSettings, string> = decodeStrictly(Settings)

type DecodedSettings = Partial<Pick<Config, "machines" | "workflows" | "layers" | "schedules" | "scheduleTargets" | "webhooks">> & {
  readonly knowledge?: unknown
  readonly uploads?: ReadonlyArray<UploadType>
  readonly limits?: WorkspaceLimits
  readonly queues?: Config["queues"]
  readonly upcasters?: Readonly<Record<string, object>>
  readonly retention?: Readonly<Record<string, Duration.Input>>
  readonly commandRetention?: Config["commandRetention"]
  readonly cluster?: ClusterSettings
}

const example = "export default defineConfig({ machines: [...] })"

export const checkConfig = (value: unknown): Effect.Effect<Config, ConfigProblem> =>
  Effect.gen(function* () {
    if (!isObject(value)) return yield* Effect.fail({ problem: "its default export is not a configuration", nextStep: `write ${example}` })
    const settings = yield* Effect.mapError(Effect.fromResult(decode(value)), problemOfText)
    if (Object.keys(value).length === 0) return yield* Effect.fail({ problem: "it is empty", nextStep: `write ${example}` })
    const { knowledge } = settings
    if (knowledge !== undefined) yield* Effect.mapError(Effect.fromResult((yield* decodeKnowledge)({ knowledge })), problemOfText)
    const problem = problemOfNames(settings)
    return problem === undefined ? ({ machines: [], ...value } as Config) : yield* Effect.fail(problem)
  })

/** Uses the suggested nearest name as the next step. */
const problemOfText = (text: string): ConfigProblem => {
  const question = text.lastIndexOf("; did you mean ")
  if (question !== -1) return { problem: text.slice(0, question), nextStep: text.slice(question + "; ".length) }
  const isOfMachines = text.startsWith("machines")
  return {
    problem: text,
    nextStep: isOfMachines ? `write ${example}` : "the README of @detent/workspace has every setting with an example",
  }
}

/** Finds names that are reserved, used twice or unknown. */
const problemOfNames = ({
  machines = [],
  workflows = [],
  schedules = [],
  scheduleTargets = [],
  webhooks = [],
  upcasters = {},
  retention = {},
  knowledge,
  uploads,
}: DecodedSettings) => {
  const own = machines.map(({ name }) => name)
  const known = [
    ...own,
    ...(knowledge === undefined ? [] : machinesOfSystem.knowledge),
    ...(uploads === undefined ? [] : machinesOfSystem.uploads),
  ]
  const named = [...(knowledge === undefined ? [] : workflowsOfKnowledge), ...workflows.map(nameOfWorkflow)]
  return (
    takenName(own) ??
    usedTwice("machines", known) ??
    usedTwice(
      "uploads",
      (uploads ?? []).map((one) => (one === "items" ? "Items" : one.name)),
    ) ??
    usedTwice("workflows", named) ??
    usedTwice(
      "schedules",
      schedules.map(({ name }) => name),
    ) ??
    usedTwice(
      "webhooks",
      webhooks.map(({ name }) => name),
    ) ??
    usedTwice(
      "scheduleTargets",
      scheduleTargets.map(({ name }) => name),
    ) ??
    unknownName("upcasters", "machine", Object.keys(upcasters), own) ??
    unknownName("retention", "machine or workflow", Object.keys(retention), [
      ...known,
      bulkMachine,
      ...named.map(DurableWorkflow.machineOf),
    ])
  )
}

/** Names that no other workflow can have where knowledge is on. */
const workflowsOfKnowledge = ["extraction"]

const nameOfWorkflow = (one: ConfiguredWorkflow<unknown>): string => ("workflow" in one ? one.workflow._tag : one.name)

/** Names of machines that are not those of a system, and what they are reserved for. */
const reserved: ReadonlyArray<readonly [name: string, use: string]> = [
  [bulkMachine, "jobs of `detent instance bulk`"],
  [scheduleMachineName, "schedules"],
]

const takenName = (machines: ReadonlyArray<string>): ConfigProblem | undefined => {
  const [name, use] = reserved.find(([one]) => machines.includes(one)) ?? []
  return name === undefined
    ? undefined
    : { problem: `a machine has the name ${name}, which is reserved for ${use}`, nextStep: "rename the machine" }
}

const usedTwice = (kind: string, names: ReadonlyArray<string>): ConfigProblem | undefined => {
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  return twice === undefined ? undefined : { problem: `two ${kind} have the name ${twice}`, nextStep: "give each a name of its own" }
}

const unknownName = (
  setting: string,
  kind: string,
  names: ReadonlyArray<string>,
  known: ReadonlyArray<string>,
): ConfigProblem | undefined => {
  const name = names.find((one) => !known.includes(one))
  if (name === undefined) return undefined
  const near = known.find((one) => one === DurableWorkflow.machineOf(name)) ?? nearest(name, known)
  return {
    problem: `${setting}.${name} names no ${kind} of this configuration`,
    nextStep: near === undefined ? `add the ${kind} to the configuration, or remove the setting` : `did you mean ${near}?`,
  }
}
