/** Maps errors of operations to problems: the HTTP status, the kind, and a message with the next step. */
import { MachineStopped } from "@detent/machine"
import * as Effect from "effect/Effect"
import {
  BadRequest,
  Conflict,
  Failed,
  Forbidden,
  kind,
  NotFound,
  type Problem,
  TimedOut,
  TooLarge,
  Unauthorized,
  Unavailable,
  Unprocessable,
  UnsupportedType,
} from "../api/Problem.ts"
import { inOneLine } from "./SchemaProblem.ts"

type ProblemClass = new (fields: {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
}) => Problem

interface Answer {
  readonly make: ProblemClass
  readonly status: number
  readonly title: string
}

const notFound: Answer = { make: NotFound, status: 404, title: "Not found" }
const conflict: Answer = { make: Conflict, status: 409, title: "Not possible as things stand" }
const unprocessable: Answer = { make: Unprocessable, status: 422, title: "The content cannot be accepted" }
const unavailable: Answer = { make: Unavailable, status: 503, title: "Not available now" }
const timedOut: Answer = { make: TimedOut, status: 504, title: "It took too long" }
const tooLarge: Answer = { make: TooLarge, status: 413, title: "Too large" }
const failed: Answer = { make: Failed, status: 500, title: "It failed" }

/** The answer to each error of operations, by its tag. */
const answers: Readonly<Record<string, Answer>> = {
  InstanceNotFound: notFound,
  MachineNotFound: notFound,
  NotAMachine: notFound,
  BatchNotFound: notFound,
  CommandNotFound: notFound,
  ArtifactNotFound: notFound,
  TimerNotFound: notFound,
  GraphNotFound: notFound,
  RunNotFound: notFound,
  SequenceNotReached: notFound,
  GraphVersionUnknown: notFound,
  BlobNotFound: notFound,
  InvalidTransition: conflict,
  TransitionRefused: conflict,
  MachineStopped: conflict,
  ActorExists: conflict,
  SequenceConflict: conflict,
  EventReplayError: conflict,
  LockingFailed: conflict,
  AlreadyUploaded: conflict,
  BatchExists: conflict,
  BatchNotRetryable: conflict,
  BatchStopped: conflict,
  RunStatusConflict: conflict,
  RunStatusRefused: conflict,
  ItemNotFailed: conflict,
  CommandNotFailed: conflict,
  UploadComplete: conflict,
  InvalidEvent: unprocessable,
  InvalidState: unprocessable,
  InputNeeded: unprocessable,
  InstanceNeeded: unprocessable,
  HistoryTooLong: unprocessable,
  InputTwice: unprocessable,
  KeyTaken: unprocessable,
  ManifestRefused: unprocessable,
  AddressRefused: unprocessable,
  FileInvalid: unprocessable,
  FileChanged: unprocessable,
  FileUnreadable: unprocessable,
  QueryRefused: unprocessable,
  QueryTooLarge: unprocessable,
  FileMissing: unprocessable,
  MultipartError: { make: BadRequest, status: 400, title: "The form cannot be read" },
  FileTooLarge: tooLarge,
  BodyTooLarge: tooLarge,
  UnsupportedContentType: { make: UnsupportedType, status: 415, title: "This type is not supported" },
  QueryTimedOut: timedOut,
  ProcessingTimeout: timedOut,
  PersistenceFailed: unavailable,
  StorageFailed: unavailable,
  StorageFull: unavailable,
  StoreNotOpened: unavailable,
  PreconditionFailed: unavailable,
  RunStoreFailed: unavailable,
  EventJournalError: unavailable,
  ActionFailed: failed,
  EndlessTransition: failed,
  ArtifactDamaged: failed,
  ArtifactMissing: failed,
  RunRowUnreadable: failed,
  GraphVersionDamaged: failed,
}

interface OperationError {
  readonly _tag: string
  readonly message: string
}

/** Failures of the store and of machines are described in general terms: their messages may hold an address with a password. The log has them. */
const isOurs = ({ status }: Answer): boolean => status === 503 || status === 500

const generalTerms = (tag: string): string =>
  tag === "ActionFailed" || tag === "EndlessTransition"
    ? "the machine failed at it, and nothing changed; see the server's log for why"
    : "the store cannot be reached or failed; nothing was changed unless it is shown, so try again with the same Idempotency-Key"

/** An engine that takes no events knows no state of the instance, only the reason. */
const messageOf = (error: OperationError): string =>
  inOneLine(error instanceof MachineStopped && error.state === "(unknown)" ? error.reason : error.message)

export const problemOf = (error: OperationError): Problem => {
  if (isProblem(error)) return error
  const answer = answers[error._tag] ?? failed
  const detail = isOurs(answer) ? generalTerms(error._tag) : messageOf(error)
  return new answer.make({ type: kind(error._tag), title: answer.title, status: answer.status, detail })
}

const classes = [
  BadRequest,
  Unauthorized,
  Forbidden,
  NotFound,
  Conflict,
  TooLarge,
  UnsupportedType,
  Unprocessable,
  Failed,
  Unavailable,
  TimedOut,
]

export const isProblem = (error: unknown): error is Problem => classes.some((one) => error instanceof one)

export const badRequest = (name: string, detail: string): BadRequest =>
  new BadRequest({ type: kind(name), title: "The request cannot be understood", status: 400, detail })

/** Runs an operation and maps its errors to problems. Errors of the server itself are logged as they are. */
export const answering = <A, E extends OperationError, R>(operation: Effect.Effect<A, E, R>): Effect.Effect<A, Problem, R> =>
  Effect.catch(operation, (error) => {
    const problem = problemOf(error)
    if (problem.status < 500) return Effect.fail(problem)
    return Effect.andThen(Effect.logError(error.message), Effect.fail(problem))
  })
