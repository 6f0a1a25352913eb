/** Errors of operations on an object that does not exist or is in the wrong state. `ErrorKind.ts` adds next steps that list objects. */
import { nearest } from "@detent/entity"
import * as Schema from "effect/Schema"

export class MachineNotFound extends Schema.TaggedError<MachineNotFound>()("MachineNotFound", { machine: Schema.String }) {
  override get message() {
    return `there is no machine ${this.machine}`
  }
}

/** Instances of the machine are stored, but this process has no definition of the machine. */
export class MachineUnregistered extends Schema.TaggedError<MachineUnregistered>()("MachineUnregistered", { machine: Schema.String }) {
  override get message() {
    return `machine ${this.machine} is not in detent.config.ts, although instances of it are stored`
  }
}

/** An Effect workflow has no states to show and takes no machine events. */
export class NotAMachine extends Schema.TaggedError<NotAMachine>()("NotAMachine", { machine: Schema.String }) {
  override get message() {
    return `${this.machine} is a workflow: its executions are listed, but have no states to draw, and take events of their own`
  }
}

/** No machine has an instance of this id. */
export class InstanceUnknown extends Schema.TaggedError<InstanceUnknown>()("InstanceUnknown", { instance: Schema.String }) {
  override get message() {
    return `there is no instance ${this.instance}`
  }
}

/** Several machines have an instance of this id. */
export class InstanceAmbiguous extends Schema.TaggedError<InstanceAmbiguous>()("InstanceAmbiguous", {
  instance: Schema.String,
  found: Schema.Array(Schema.String),
}) {
  override get message() {
    return `${this.instance} is an id of several machines; name one of ${this.found.join(", ")}`
  }
}

/** The caller filtered a list by a state that the machine does not have. */
export class StateUnknown extends Schema.TaggedError<StateUnknown>()("StateUnknown", {
  machine: Schema.String,
  state: Schema.String,
  states: Schema.Array(Schema.String),
}) {
  override get message() {
    return `${this.machine} has no state ${this.state}; its states are ${this.states.join(", ")}`
  }
}

/** The idempotency key belongs to another event of the instance. */
export class KeyTaken extends Schema.TaggedError<KeyTaken>()("KeyTaken", {
  machine: Schema.String,
  id: Schema.String,
  key: Schema.String,
  sequence: Schema.Int,
  event: Schema.String,
  difference: Schema.Literals(["event", "fields"]),
}) {
  override get message() {
    const { machine, id, key, sequence, event, difference } = this
    const other = difference === "event" ? "" : " with other fields"
    return `key ${key} of ${machine}/${id} belongs to event ${sequence}, ${event}${other}; nothing was sent: choose another key for another event`
  }
}

/** The idempotency key belongs to a request with other content. */
export class RequestKeyTaken extends Schema.TaggedError<RequestKeyTaken>()("RequestKeyTaken", { key: Schema.String }) {
  override get message() {
    return `key ${this.key} belongs to a request with other content; nothing was done: choose another key for another request`
  }
}

export class CommandNotFound extends Schema.TaggedError<CommandNotFound>()("CommandNotFound", { key: Schema.String }) {
  override get message() {
    return `there is no command ${this.key}`
  }
}

/** The status of the command does not allow a retry or a skip. */
export class CommandNotFailed extends Schema.TaggedError<CommandNotFailed>()("CommandNotFailed", {
  key: Schema.String,
  status: Schema.String,
}) {
  override get message() {
    return `command ${this.key} is ${this.status}: only failed commands can be retried, and only failed or pending ones skipped`
  }
}

export class TimerNotFound extends Schema.TaggedError<TimerNotFound>()("TimerNotFound", { name: Schema.String, id: Schema.String }) {
  override get message() {
    return `there is no dead timer ${this.name} of ${this.id}`
  }
}

export class ArtifactNotFound extends Schema.TaggedError<ArtifactNotFound>()("ArtifactNotFound", {
  batchId: Schema.String,
  name: Schema.String,
}) {
  override get message() {
    return `batch ${this.batchId} has no artifact of this name`
  }
}

export class GraphNotFound extends Schema.TaggedError<GraphNotFound>()("GraphNotFound", { namespace: Schema.String }) {
  override get message() {
    return `there is no graph ${this.namespace} yet; start a batch with this targetNamespace`
  }
}

/** The machine's first state has fields without defaults: the caller must give them. */
export class InputNeeded extends Schema.TaggedError<InputNeeded>()("InputNeeded", {
  machine: Schema.String,
  id: Schema.String,
  first: Schema.String,
  states: Schema.String,
  /** An example of the fields. */
  fields: Schema.Record(Schema.String, Schema.Json),
}) {
  override get message() {
    const { machine, id, first, states, fields } = this
    const example = JSON.stringify({ id, input: fields })
    return `${machine} begins as ${first}, which has fields; give them as "input", such as ${example}, or a whole state as "state", one of ${states}`
  }
}

/** Both `input` and `state` were given. */
export class InputTwice extends Schema.TaggedError<InputTwice>()("InputTwice", { machine: Schema.String, id: Schema.String }) {
  override get message() {
    return `${this.machine} ${this.id} cannot begin both with "input" and with "state"; give the fields of the first state as "input", or a whole state as "state"`
  }
}

export class FileMissing extends Schema.TaggedError<FileMissing>()("FileMissing", {}) {
  override get message() {
    return "the form has no file; send one as multipart/form-data, such as with curl -F file=@items.json"
  }
}

/** A part of a form comes after its file, where it can no longer say how the file is read. */
export class PartAfterFile extends Schema.TaggedError<PartAfterFile>()("PartAfterFile", { part: Schema.String }) {
  override get message() {
    return `the part ${this.part} of the form comes after its file, which is stored while it arrives; send it before the file, such as with curl -F 'mapping=<mapping.json' -F file=@items.csv`
  }
}

/** The instance has no such timer: the timer has fired, or the instance has left its state. */
export class TimerNotSet extends Schema.TaggedError<TimerNotSet>()("TimerNotSet", {
  machine: Schema.String,
  id: Schema.String,
  name: Schema.String,
  known: Schema.Array(Schema.String),
}) {
  override get message() {
    const { machine, id, name, known } = this
    return `${machine} ${id} has no timer ${name}; ${known.length === 0 ? "it has none" : `it has ${known.join(", ")}`}`
  }
}

/** The graph has no such document, or its text is no longer stored. */
export class DocumentNotFound extends Schema.TaggedError<DocumentNotFound>()("DocumentNotFound", {
  namespace: Schema.String,
  documentId: Schema.String,
}) {
  override get message() {
    return `the graph ${this.namespace} has no text of a document ${this.documentId}; provenance names the documents of its facts`
  }
}

/** No item of the upload remains to be retried. */
export class UploadComplete extends Schema.TaggedError<UploadComplete>()("UploadComplete", { batchId: Schema.String, stored: Schema.Int }) {
  override get message() {
    return `upload ${this.batchId} is complete: all ${this.stored} items are stored; nothing is left to retry`
  }
}

/** No item of a kind has this id. */
export class StoredItemNotFound extends Schema.TaggedError<StoredItemNotFound>()("StoredItemNotFound", {
  kind: Schema.String,
  id: Schema.String,
}) {
  override get message() {
    return `no stored item of ${this.kind} has the id ${this.id}; search to find it`
  }
}

export type SystemName = "knowledge" | "uploads"

/** The setting that turns each system on. */
const settingOf: Readonly<Record<SystemName, string>> = { knowledge: "knowledge: {}", uploads: 'uploads: ["items"]' }

/** The caller asked for a batch, a graph or an upload in a workspace where that system is off. */
export class SystemOff extends Schema.TaggedError<SystemOff>()("SystemOff", { system: Schema.Literals(["knowledge", "uploads"]) }) {
  override get message() {
    return `${this.system} ${this.system === "uploads" ? "are" : "is"} off; add \`${settingOf[this.system]}\` to detent.config.ts`
  }
}

/** No workflow of this name is known, and none has executions. */
export class WorkflowNotFound extends Schema.TaggedError<WorkflowNotFound>()("WorkflowNotFound", {
  workflow: Schema.String,
  known: Schema.Array(Schema.String),
}) {
  override get message() {
    const { workflow, known } = this
    return `there is no workflow ${workflow}; ${known.length === 0 ? "add it to workflows in detent.config.ts" : `use one of ${known.join(", ")}`}`
  }
}

/** A workflow of a system cannot be started directly: the system has its own requests. */
export class WorkflowBuiltIn extends Schema.TaggedError<WorkflowBuiltIn>()("WorkflowBuiltIn", { workflow: Schema.String }) {
  override get message() {
    return `workflow ${this.workflow} is run by batches; start a batch of documents instead`
  }
}

/** The payload of an execution does not fit the schema of its workflow. */
export class InvalidPayload extends Schema.TaggedError<InvalidPayload>()("InvalidPayload", {
  workflow: Schema.String,
  problem: Schema.String,
  /** An example of the fields. */
  example: Schema.Record(Schema.String, Schema.Json),
}) {
  override get message() {
    const { workflow, problem, example } = this
    return `the payload of workflow ${workflow} does not fit: ${problem}; it is something like ${JSON.stringify(example)}`
  }
}

export class ExecutionIdRefused extends Schema.TaggedError<ExecutionIdRefused>()("ExecutionIdRefused", {
  workflow: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `no execution of workflow ${this.workflow} can have this id: ${this.problem}`
  }
}

/** The id belongs to an execution with another payload. */
export class ExecutionExists extends Schema.TaggedError<ExecutionExists>()("ExecutionExists", {
  workflow: Schema.String,
  id: Schema.String,
}) {
  override get message() {
    return `execution ${this.id} of workflow ${this.workflow} exists with another payload; nothing was started`
  }
}

export class ExecutionNotFound extends Schema.TaggedError<ExecutionNotFound>()("ExecutionNotFound", {
  workflow: Schema.String,
  id: Schema.String,
}) {
  override get message() {
    return `there is no execution ${this.id} of workflow ${this.workflow}`
  }
}

/** The configuration declares no event of this name for the workflow. */
export class ExecutionEventUnknown extends Schema.TaggedError<ExecutionEventUnknown>()("ExecutionEventUnknown", {
  workflow: Schema.String,
  event: Schema.String,
  known: Schema.Array(Schema.String),
}) {
  override get message() {
    const { workflow, event, known } = this
    const near = nearest(event, known)
    const hint = near === undefined ? `its events are ${known.join(", ")}` : `did you mean ${near}?`
    return `workflow ${workflow} has no event ${event}; ${known.length === 0 ? "it has none; name them as `events` in detent.config.ts" : hint}`
  }
}

/** The value of an event does not fit the schema of its deferred. */
export class ExecutionEventInvalid extends Schema.TaggedError<ExecutionEventInvalid>()("ExecutionEventInvalid", {
  workflow: Schema.String,
  event: Schema.String,
  problem: Schema.String,
  /** An example of the value. */
  example: Schema.Json,
}) {
  override get message() {
    const { workflow, event, problem, example } = this
    return `the value of event ${event} of workflow ${workflow} does not fit: ${problem}; it is something like ${JSON.stringify(example)}`
  }
}

/** The execution already has an event of this name with another value. The first value stays. */
export class ExecutionEventTaken extends Schema.TaggedError<ExecutionEventTaken>()("ExecutionEventTaken", {
  workflow: Schema.String,
  id: Schema.String,
  event: Schema.String,
}) {
  override get message() {
    const { workflow, id, event } = this
    return `execution ${id} of workflow ${workflow} already has event ${event} with another value; an execution takes each event once, and nothing was sent`
  }
}

/** The execution has ended and can no longer change. */
export class ExecutionEnded extends Schema.TaggedError<ExecutionEnded>()("ExecutionEnded", {
  workflow: Schema.String,
  id: Schema.String,
  phase: Schema.String,
}) {
  override get message() {
    return `execution ${this.id} of workflow ${this.workflow} has ended: it is ${this.phase}`
  }
}

const signatureProblems = {
  NoSecret: ["cannot be verified, because this server has no secret for it", "give the signature a secret, and restart the server"],
  Missing: ["has no signature", "the sender has to sign it with the secret of this webhook"],
  Malformed: ["has a signature of another form", "check that the webhook names the scheme of its sender"],
  Wrong: ["has a wrong signature", "check that the secret is that of this webhook, and that nothing changes the body on its way"],
  Old: ["was signed too long ago, or the clocks of sender and server differ", "let the sender send it again"],
} as const

/** The signature of a delivery does not hold. Nothing was done. */
export class WebhookRefused extends Schema.TaggedError<WebhookRefused>()("WebhookRefused", {
  webhook: Schema.String,
  header: Schema.String,
  reason: Schema.Literals(["NoSecret", "Missing", "Malformed", "Wrong", "Old"]),
}) {
  override get message() {
    const [problem, nextStep] = signatureProblems[this.reason]
    return `the delivery to webhook ${this.webhook} is refused: ${this.header} ${problem}; ${nextStep}`
  }
}

/** The body of a delivery does not fit. Nothing was done. */
export class WebhookBodyInvalid extends Schema.TaggedError<WebhookBodyInvalid>()("WebhookBodyInvalid", {
  webhook: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `the delivery to webhook ${this.webhook} does not fit: ${this.problem}; correct the body, or what the webhook declares`
  }
}

/** A valid token has the name already. */
export class TokenNameTaken extends Schema.TaggedError<TokenNameTaken>()("TokenNameTaken", { name: Schema.String }) {
  override get message() {
    return `there is a token ${this.name}; rotate it for a new secret, or revoke it first`
  }
}

/** No valid token has the name. */
export class TokenUnknown extends Schema.TaggedError<TokenUnknown>()("TokenUnknown", { name: Schema.String }) {
  override get message() {
    return `there is no valid token ${this.name}`
  }
}

/** The token cannot be made or replaced as asked. */
export class TokenRefused extends Schema.TaggedError<TokenRefused>()("TokenRefused", {
  problem: Schema.String,
  nextStep: Schema.String,
}) {
  override get message() {
    return `${this.problem}; ${this.nextStep}`
  }
}
