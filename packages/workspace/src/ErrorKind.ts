/**
 * The registry of errors that operations fail with. A kind gives the HTTP status and the exit code; an entry may give a more
 * exact status, and the request or command that lists the existing objects.
 */

import { NewerVersion } from "@detent/machine"

export type ErrorKind = "usage" | "not found" | "conflict" | "refused" | "forbidden" | "unavailable" | "failed"

/** The two ways to call an operation. A next step names a request of the API or a command. */
export type Surface = "http" | "cli"

interface KindOutcome {
  readonly status: number
  readonly exitCode: 1 | 2 | 3 | 4
  readonly title: string
}

const outcomes: Readonly<Record<ErrorKind, KindOutcome>> = {
  usage: { status: 422, exitCode: 2, title: "The content cannot be accepted" },
  "not found": { status: 404, exitCode: 3, title: "Not found" },
  conflict: { status: 409, exitCode: 4, title: "Not possible in the current state" },
  refused: { status: 422, exitCode: 4, title: "The content cannot be accepted" },
  forbidden: { status: 403, exitCode: 4, title: "Not allowed" },
  unavailable: { status: 503, exitCode: 1, title: "Not available now" },
  failed: { status: 500, exitCode: 1, title: "It failed" },
}

interface Entry {
  readonly kind: ErrorKind
  readonly status?: number
  readonly title?: string
  readonly next?: Readonly<Record<Surface, string>>
}

const usage: Entry = { kind: "usage" }
const notFound: Entry = { kind: "not found" }
const conflict: Entry = { kind: "conflict" }
const refused: Entry = { kind: "refused" }
const forbidden: Entry = { kind: "forbidden" }
const unavailable: Entry = { kind: "unavailable" }
const failed: Entry = { kind: "failed" }
const tooLarge: Entry = { kind: "refused", status: 413, title: "Too large" }
const timedOut: Entry = { kind: "failed", status: 504, title: "The request took too long" }

/** By the tag of the error. An error without an entry has the kind `failed`. */
const registry: Readonly<Record<string, Entry>> = {
  // Operations
  MachineNotFound: { ...notFound, next: { http: "GET /api/v1/machines lists them", cli: "see `detent machine list`" } },
  MachineUnregistered: {
    ...notFound,
    next: { http: "add it to machines there, and restart the server", cli: "add it to machines there" },
  },
  SystemOff: notFound,
  NodeNotFound: { ...notFound, next: { http: "GET /api/v1/nodes lists them", cli: "see `detent cluster status`" } },
  WorkflowNotFound: notFound,
  ExecutionNotFound: {
    ...notFound,
    next: { http: "GET /api/v1/executions lists them", cli: "see `detent execution list`" },
  },
  ExecutionEnded: conflict,
  ExecutionExists: { ...conflict, next: { http: "choose another id", cli: "choose another with --id" } },
  ExecutionEventUnknown: usage,
  ExecutionEventInvalid: usage,
  ExecutionEventTaken: conflict,
  ExecutionIdRefused: { ...usage, next: { http: 'give one as "id"', cli: "give one with --id" } },
  InvalidPayload: usage,
  WorkflowBuiltIn: refused,
  NotAMachine: {
    ...usage,
    status: 404,
    title: "Not found",
    next: { http: "POST /api/v1/executions/WORKFLOW/ID/events sends one", cli: "see `detent execution send`" },
  },
  InstanceUnknown: { ...notFound, next: { http: "GET /api/v1/instances lists them", cli: "see `detent instance list`" } },
  InstanceAmbiguous: usage,
  StateUnknown: usage,
  SearchRefused: usage,
  LabelsRefused: usage,
  InputNeeded: usage,
  InputTwice: usage,
  KeyTaken: refused,
  OtherData: usage,
  RequestKeyTaken: refused,
  CommandNotFound: { ...notFound, next: { http: "GET /api/v1/commands lists them", cli: "see `detent command list`" } },
  CommandNotFailed: conflict,
  RetryRefused: conflict,
  ScheduleNotFound: { ...notFound, next: { http: "GET /api/v1/schedules lists them", cli: "see `detent schedule list`" } },
  ScheduleRefused: usage,
  TimerNotSet: notFound,
  TimerNotFound: { ...notFound, next: { http: "GET /api/v1/timers/dead lists them", cli: "see `detent timer list`" } },
  ArtifactNotFound: {
    ...notFound,
    next: { http: "GET /api/v1/batch/ID/artifacts lists them", cli: "see `detent batch artifacts ID`" },
  },
  GraphNotFound: notFound,
  DocumentNotFound: notFound,
  FileMissing: usage,
  PartAfterFile: usage,
  UploadComplete: conflict,
  InstanceNeeded: usage,
  HistoryTooLong: usage,
  DiagramTooLarge: refused,
  DiagramFailed: failed,
  WorkspaceRefused: failed,
  OutsideCluster: conflict,
  ClusterMisconfigured: usage,
  DatabaseRefused: usage,
  ConfigRefused: usage,
  CopyRefused: conflict,
  CopyFailed: failed,
  CopyDiffers: failed,
  // Machines and their instances
  InstanceNotFound: notFound,
  SequenceNotReached: notFound,
  InvalidEvent: usage,
  InvalidState: usage,
  InvalidTransition: conflict,
  TransitionRefused: conflict,
  MachineStopped: conflict,
  Overloaded: unavailable,
  ActorExists: conflict,
  InstanceExists: conflict,
  RepairRefused: conflict,
  PreviewRefused: conflict,
  SequenceConflict: conflict,
  NewerVersion: {
    ...unavailable,
    next: {
      http: "retry in a moment: while a new version is deployed, another process answers",
      cli: "run the command where that version is",
    },
  },
  EventReplayError: { ...failed, status: 409, title: "Not possible in the current state" },
  LockingFailed: conflict,
  PersistenceFailed: unavailable,
  StoreNotOpened: unavailable,
  EventJournalError: unavailable,
  ProcessingTimeout: timedOut,
  ActionFailed: failed,
  EndlessTransition: failed,
  // Batches and the graph
  BatchNotFound: notFound,
  RunNotFound: notFound,
  GraphVersionUnknown: notFound,
  BlobNotFound: notFound,
  BatchExists: conflict,
  BatchNotRetryable: conflict,
  BatchStopped: conflict,
  RunStatusConflict: conflict,
  ReviewNotReady: conflict,
  ReviewFactUnknown: notFound,
  EntityUnknown: notFound,
  IdentityUnknown: notFound,
  IdentityRefused: conflict,
  WithdrawalRefused: {
    ...conflict,
    next: {
      http: 'withdraw or correct what it names, or send {"force": true} to withdraw it anyway',
      cli: "withdraw or correct what it names, or withdraw it anyway with --force",
    },
  },
  RunStatusRefused: conflict,
  ManifestRefused: usage,
  FactMappingRefused: usage,
  AddressRefused: usage,
  ActivityInputRefused: usage,
  ActivityRefused: conflict,
  TaskPostponed: unavailable,
  TaskGivenUp: refused,
  TaskQueueFailed: unavailable,
  KeysUnavailable: unavailable,
  ExtractorRefused: usage,
  ExtractionFailed: unavailable,
  QueryRefused: usage,
  QueryTooLarge: refused,
  QueryMemoryExceeded: refused,
  QueryTimedOut: timedOut,
  StorageFailed: unavailable,
  StorageFull: unavailable,
  PreconditionFailed: unavailable,
  RunStoreFailed: unavailable,
  ArtifactDamaged: failed,
  ArtifactMissing: failed,
  RunRowUnreadable: failed,
  GraphVersionDamaged: failed,
  // Uploads
  AlreadyUploaded: conflict,
  ItemNotFailed: conflict,
  ItemNotFound: notFound,
  StoredItemNotFound: notFound,
  ItemStillInvalid: refused,
  NothingToCorrect: conflict,
  FailuresTooWide: refused,
  UploadUnknown: { ...notFound, next: { http: "GET /api/v1/upload-kinds lists them", cli: "see `detent upload kinds`" } },
  FieldNotIndexed: usage,
  FileNotFound: notFound,
  FileInvalid: refused,
  FileChanged: refused,
  FileDamaged: refused,
  FileUnreadable: refused,
  FileTooLarge: tooLarge,
  TooManyItems: tooLarge,
  MappingRefused: usage,
  // Requests
  BodyTooLarge: tooLarge,
  MultipartError: { ...usage, status: 400, title: "The form cannot be read" },
  UnsupportedContentType: { ...usage, status: 415, title: "This type is not supported" },
  Unauthorized: { ...forbidden, status: 401 },
  Forbidden: forbidden,
  TokenNeeded: usage,
  TokenWeak: usage,
  TokenNameTaken: conflict,
  TokenUnknown: { ...notFound, next: { http: "GET /api/v1/tokens lists them", cli: "see `detent token list`" } },
  TokenRefused: usage,
  // Webhooks
  WebhookRefused: { ...forbidden, status: 401, title: "The signature is not accepted" },
  WebhookBodyInvalid: usage,
  // The command line
  WrongUsage: usage,
  NothingFound: notFound,
  NotAllowed: forbidden,
}

export interface ErrorOutcome extends KindOutcome {
  readonly kind: ErrorKind
}

/** The name of an error in this registry. An error class that extends another one has the tag of that one. */
export const nameOf = (error: { readonly _tag: string }): string => (error instanceof NewerVersion ? "NewerVersion" : error._tag)

/** The status, exit code and title of an error. */
export const outcomeOf = (tag: string): ErrorOutcome => {
  const { kind, status, title } = registry[tag] ?? failed
  const outcome = outcomes[kind]
  return { kind, status: status ?? outcome.status, exitCode: outcome.exitCode, title: title ?? outcome.title }
}

/** The message of an error, with the next step for the given surface. */
export const messageOn = (surface: Surface, error: { readonly _tag: string; readonly message: string }): string => {
  const next = registry[nameOf(error)]?.next
  return next === undefined ? error.message : `${error.message}; ${next[surface]}`
}

/** A problem in a server's response. The tag names the error; servers also have tags that are not in this registry. */
export interface AnsweredProblem {
  readonly tag: string
  readonly status: number
  readonly detail: string
}

/** Translates a server's problem for the command line: the exit code of the same local failure, and a command as its next step. */
export const onCommandLine = ({ tag, status, detail }: AnsweredProblem): Pick<KindOutcome, "exitCode"> & { readonly message: string } => {
  const entry = registry[tag]
  const { exitCode } = entry === undefined ? outcomes[kindOfStatus(status)] : outcomes[entry.kind]
  const ending = entry?.next === undefined ? undefined : `; ${entry.next.http}`
  const message =
    ending === undefined || !detail.endsWith(ending) ? detail : `${detail.slice(0, -ending.length)}; ${entry?.next?.cli ?? ""}`
  return { exitCode, message }
}

const kindOfStatus = (status: number): ErrorKind => {
  if (status === 404) return "not found"
  if (status === 409) return "conflict"
  if (status === 401 || status === 403) return "forbidden"
  return status < 500 ? "usage" : "failed"
}
