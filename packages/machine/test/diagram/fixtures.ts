import type { Trace, TraceStep } from "../../src/actor/Trace.ts"
import type {
  Blueprint,
  EventBlueprint,
  FieldBlueprint,
  GroupBlueprint,
  StateBlueprint,
  TargetBlueprint,
  TransitionBlueprint,
} from "../../src/contract/Blueprint.ts"

const field = (name: string): FieldBlueprint =>
  name.startsWith("!") ? { name: name.slice(1), sensitive: true } : { name, sensitive: false }

/** A field whose name starts with `!` is sensitive. */
export const state = (tag: string, fields: ReadonlyArray<string> = [], rest: Partial<StateBlueprint> = {}): StateBlueprint => ({
  tag,
  fields: fields.map(field),
  group: undefined,
  initial: false,
  final: false,
  requestsOnEnter: [],
  requestsOnExit: [],
  runs: [],
  working: (rest.runs ?? []).length > 0,
  ...rest,
})

export const event = (tag: string, fields: ReadonlyArray<string> = [], rest: Partial<EventBlueprint> = {}): EventBlueprint => ({
  tag,
  fields: fields.map(field),
  group: undefined,
  reply: false,
  ...rest,
})

export const group = (name: string, members: ReadonlyArray<string>, parent?: string): GroupBlueprint => ({ name, parent, members })

export const stay: TargetBlueprint = { _tag: "Stay" }
export const stop = (reason?: string): TargetBlueprint => ({ _tag: "Stop", reason })

type Targets = string | TargetBlueprint | ReadonlyArray<string | TargetBlueprint>

const targetsOf = (to: Targets): ReadonlyArray<TargetBlueprint> =>
  (Array.isArray(to) ? (to as ReadonlyArray<string | TargetBlueprint>) : [to as string | TargetBlueprint]).map((one) =>
    typeof one === "string" ? { _tag: "State", state: one } : one,
  )

type Extra = Partial<Pick<TransitionBlueprint, "guards" | "requests" | "description">>

const common = (from: string, to: Targets, extra: Extra) => ({
  from,
  targets: targetsOf(to),
  guards: [],
  requests: [],
  description: undefined,
  ...extra,
})

export const on = (
  from: string,
  eventTag: string,
  to: Targets,
  extra: Extra & { readonly fallback?: boolean; readonly reenter?: boolean } = {},
): TransitionBlueprint => ({ _tag: "Event", event: eventTag, fallback: false, reenter: false, ...common(from, to, extra), ...extra })

export const after = (
  from: string,
  duration: string | undefined,
  to: Targets,
  extra: Extra & { readonly name?: string; readonly idle?: boolean } = {},
): TransitionBlueprint => ({ _tag: "Timeout", name: "timeout", after: duration, idle: false, ...common(from, to, extra), ...extra })

export const always = (from: string, to: Targets, extra: Extra = {}): TransitionBlueprint => ({
  _tag: "Always",
  ...common(from, to, extra),
})

export const postpone = (from: string, eventTag: string): TransitionBlueprint => ({
  _tag: "Postpone",
  event: eventTag,
  ...common(from, [], {}),
})

export const blueprint = (name: string, parts: Partial<Blueprint> & Pick<Blueprint, "states" | "transitions">): Blueprint => ({
  name,
  version: 1,
  stateGroups: [],
  events: [],
  eventGroups: [],
  guards: [],
  effects: [],
  ...parts,
})

export const order = blueprint("order", {
  version: 3,
  states: [
    state("Pending", ["orderId", "total"], { initial: true }),
    state("Awaiting", ["orderId", "total", "!cardNumber"], { requestsOnExit: ["releaseHold"] }),
    state("Paid", ["orderId", "transactionId"], { requestsOnEnter: ["chargeCard", "sendReceipt"] }),
    state("Picking", ["orderId"], { group: "Fulfilling", runs: ["pickItems"] }),
    state("Packing", ["orderId"], { group: "Fulfilling" }),
    state("Delivered", ["orderId"], { final: true }),
    state("Cancelled", ["orderId", "reason"], { final: true }),
  ],
  stateGroups: [group("Fulfilling", ["Picking", "Packing"])],
  events: [
    event("RequestPayment"),
    event("Pay", ["transactionId", "!cardNumber"]),
    event("Cancel", ["reason"]),
    event("Ship"),
    event("Picked"),
    event("Restart"),
    event("Deliver"),
    event("GetTotal", [], { reply: true }),
    event("Fraud"),
  ],
  transitions: [
    on("Pending", "RequestPayment", "Awaiting"),
    on("Awaiting", "Pay", "Paid"),
    on("Pending", "Cancel", "Cancelled"),
    on("Awaiting", "Cancel", "Cancelled"),
    on("Paid", "Ship", ["Picking", "Cancelled"], { guards: ["inStock"], requests: ["notifyWarehouse"] }),
    after("Awaiting", "30 minutes", "Cancelled"),
    on("Picking", "Picked", "Packing"),
    on("Picking", "Restart", "Picking", { reenter: true }),
    postpone("Picking", "Deliver"),
    on("Packing", "Deliver", "Delivered"),
    on("Pending", "GetTotal", stay),
    on("Awaiting", "GetTotal", stay),
    on("Paid", "Fraud", stop("fraud found"), { description: "The bank reported the card" }),
  ],
  guards: ["inStock"],
  effects: ["chargeCard", "sendReceipt", "releaseHold", "notifyWarehouse", "pickItems"],
})

export const documentWorkflow = blueprint("document", {
  states: [
    state("Draft", ["title"], { group: "Editing", initial: true }),
    state("Changing", ["title", "comments"], { group: "Editing" }),
    state("Waiting", ["title"], { group: "Review" }),
    state("Legal", ["title"], { group: "Checks", runs: ["checkTerms"] }),
    state("Security", ["title"], { group: "Checks", runs: ["scanContent"] }),
    state("Approved", ["title"]),
    state("Published", ["title", "url"], { requestsOnEnter: ["announce"] }),
    state("Archived", [], { final: true }),
  ],
  stateGroups: [
    group("Editing", ["Draft", "Changing"]),
    group("Review", ["Waiting", "Checks"]),
    group("Checks", ["Legal", "Security"], "Review"),
  ],
  events: ["Edit", "Submit", "Assign", "Pass", "Reject", "Publish", "Archive", "Delete"].map((tag) => event(tag)),
  transitions: [
    on("Draft", "Edit", "Draft"),
    on("Draft", "Submit", "Waiting", { guards: ["isComplete"] }),
    on("Changing", "Edit", "Changing"),
    on("Changing", "Submit", "Waiting", { guards: ["isComplete"] }),
    on("Waiting", "Assign", "Legal"),
    after("Waiting", "2 days", stay, { name: "remind", requests: ["remindReviewers"] }),
    after("Waiting", "14 days", "Changing", { name: "expire" }),
    on("Legal", "Pass", "Security"),
    on("Legal", "Reject", "Changing", { requests: ["notifyAuthor"] }),
    on("Security", "Pass", "Approved"),
    on("Security", "Reject", "Changing", { requests: ["notifyAuthor"] }),
    always("Approved", "Published", { guards: ["publishesAtOnce"] }),
    on("Approved", "Publish", "Published"),
    after("Published", "1 year", "Archived", { idle: true }),
    on("Published", "Archive", "Archived"),
    ...["Draft", "Changing", "Waiting", "Legal", "Security", "Approved", "Published"].map((from) =>
      on(from, "Delete", stop("deleted"), { fallback: true }),
    ),
  ],
})

const running = ["Pending", "Extracting", "Resolving"]

export const batch = blueprint("batch", {
  states: [
    state("Pending", ["batchId", "documentIds", "config"], { initial: true }),
    state("Extracting", ["batchId", "completedCount", "failedCount", "progress"], { runs: ["processDocuments"] }),
    state("Resolving", ["batchId", "progress"], { runs: ["resolveEntities"] }),
    state("Completed", ["batchId", "entityCount"], { final: true, requestsOnEnter: ["notifyCompletion"] }),
    state("Failed", ["batchId", "documentIds", "config", "error"], { requestsOnEnter: ["notifyFailure"] }),
    state("Cancelled", ["batchId"], { final: true }),
  ],
  events: [
    "StartExtraction",
    "DocumentCompleted",
    "DocumentFailed",
    "ExtractionComplete",
    "ResolutionComplete",
    "Cancel",
    "Fail",
    "Retry",
  ].map((tag) => event(tag)),
  transitions: [
    on("Pending", "StartExtraction", "Extracting"),
    on("Extracting", "DocumentCompleted", "Extracting"),
    on("Extracting", "DocumentFailed", "Extracting"),
    on("Extracting", "ExtractionComplete", ["Resolving", "Completed", "Failed"], { guards: ["isResolutionEnabled"] }),
    on("Resolving", "ResolutionComplete", "Completed"),
    ...running.map((from) => on(from, "Cancel", "Cancelled")),
    ...running.map((from) => on(from, "Fail", "Failed")),
    on("Failed", "Retry", "Pending", { guards: ["canRetry"] }),
  ],
  guards: ["isResolutionEnabled", "canRetry"],
  effects: ["processDocuments", "resolveEntities", "notifyCompletion", "notifyFailure"],
})

export const trafficLight = blueprint("traffic light", {
  states: [state("Red", [], { initial: true }), state("Green"), state("Yellow"), state("Blinking")],
  events: [event("PowerLost"), event("PowerBack")],
  transitions: [
    after("Red", "30 seconds", "Green"),
    after("Green", "25 seconds", "Yellow"),
    after("Yellow", "3 seconds", "Red"),
    on("*", "PowerLost", "Blinking", { fallback: true }),
    on("Blinking", "PowerBack", "Red"),
    on("Blinking", "PowerLost", stay),
  ],
})

const noon = Date.UTC(2026, 2, 1, 12)

export const step = (sequence: number, from: string, eventTag: string, to: string, rest: Partial<TraceStep> = {}): TraceStep => ({
  sequence,
  at: noon + sequence * 90_000,
  event: eventTag,
  fields: {},
  from,
  to,
  outcome: "Goto",
  through: [],
  requests: [],
  ...rest,
})

export const traceOf = (machine: string, initial: string, steps: ReadonlyArray<TraceStep>, stopped?: string): Trace => ({
  machine,
  id: `${machine}-7`,
  initial,
  startedAt: noon,
  steps,
  current: steps.at(-1)?.to ?? initial,
  stopped,
})

export const orderTrace = traceOf("order", "Pending", [
  step(1, "Pending", "RequestPayment", "Awaiting"),
  step(2, "Awaiting", "GetTotal", "Awaiting", { outcome: "Stay" }),
  step(3, "Awaiting", "Pay", "Paid", {
    fields: { transactionId: "t-1", cardNumber: "•••" },
    requests: ["releaseHold", "chargeCard", "sendReceipt"],
  }),
  step(4, "Paid", "Ship", "Picking", { requests: ["notifyWarehouse"] }),
])

export const stoppedTrace = traceOf(
  "order",
  "Pending",
  [
    step(1, "Pending", "RequestPayment", "Awaiting"),
    step(2, "Awaiting", "Pay", "Paid"),
    step(3, "Paid", "Fraud", "Paid", { outcome: "Stop" }),
  ],
  "fraud found",
)

export const machines: ReadonlyArray<readonly [name: string, blueprint: Blueprint]> = [
  ["order", order],
  ["document", documentWorkflow],
  ["batch", batch],
  ["traffic light", trafficLight],
]
