/** Maps errors of operations to problems: the HTTP status of their kind, and a message with the next step. */

import { BadRequest, Conflict, Failed, kind, type Problem, problemClasses, problemClassOf } from "@detent/api/Problem"
import { reachOperation } from "@detent/durable/internal"
import { MachineStopped, PersistenceFailed } from "@detent/machine"
import { explain } from "@detent/machine/internal"
import type { AlreadyUploaded } from "@detent/uploads"
import { messageOn, nameOf, outcomeOf } from "@detent/workspace/ErrorKind"
import { inOneLine } from "@detent/workspace/SchemaProblem"
import * as Effect from "effect/Effect"

export interface OperationError {
  readonly _tag: string
  readonly message: string
}

/** Failures whose own message the caller needs: it has the reason and the next step, and no address. */
const explained: ReadonlySet<string> = new Set(["TaskPostponed", "Overloaded", "NewerVersion"])

/**
 * Failures of the store and of machines get a general message: their own message may contain an address with a password, and goes to
 * the log only.
 */
const isOurs = (status: number, tag: string): boolean => (status === 503 || status === 500) && !explained.has(tag)

/** The message of a postponed task may contain the address of a store. */
const withoutCredentials = (text: string): string => {
  const [start = "", ...addresses] = text.split("://")
  return [start, ...addresses.map((address) => address.replace(/^[^\s/@]+(?=@)/, "•••"))].join("://")
}

/** In UTF-16 code units: how much of a message is answered from its beginning, the cause, and from its end, the next step. */
const longestBeginning = 3000
const longestEnd = 1000

/** Cuts the middle out of a message that repeats a long text of the request: the caller has that text. */
const withoutMiddle = (text: string): string =>
  text.length <= longestBeginning + longestEnd
    ? text
    : `${text.slice(0, longestBeginning).toWellFormed()}…${text.slice(-longestEnd).toWellFormed()}`

const generalMessage = (error: OperationError): string => {
  if (error._tag === "ActionFailed" || error._tag === "EndlessTransition")
    return "the machine failed; see the server's log for the cause, and whether the transition stands"
  const retry = "a change may have been made, so retry with the same Idempotency-Key"
  return isUnreached(error)
    ? `no node of the cluster answered for the instance; ${retry}; GET /api/v1/nodes lists the nodes, and the server's log has the cause`
    : `the store failed, or its answer was lost; ${retry}`
}

/** Whether a request did not reach the node of a cluster that has the instance. The store may be healthy. */
const isUnreached = (error: OperationError): boolean => error instanceof PersistenceFailed && error.operation === reachOperation

/** An engine that is stopping does not know the state of the instance, only the reason. */
const messageOf = (error: OperationError): string =>
  inOneLine(error instanceof MachineStopped && error.state === "(unknown)" ? error.reason : messageOn("http", error))

/** By its tag: a server without uploads loads none of their code. */
const isAlreadyUploaded = (error: OperationError): error is AlreadyUploaded => error._tag === "AlreadyUploaded"

export const problemOf = (error: OperationError): Problem => {
  if (isProblem(error)) return error
  const name = nameOf(error)
  const { status, title } = outcomeOf(name)
  const detail = isOurs(status, name) ? generalMessage(error) : withoutMiddle(withoutCredentials(messageOf(error)))
  if (isAlreadyUploaded(error)) return new Conflict({ type: kind(name), title, status, detail, batchId: error.batchId })
  const Class = problemClassOf(status) ?? Failed
  return new Class({ type: kind(name), title, status, detail })
}

const classes = Object.values(problemClasses)

export const isProblem = (error: unknown): error is Problem => classes.some((one) => error instanceof one)

export const badRequest = (name: string, detail: string): BadRequest =>
  new BadRequest({ type: kind(name), title: "The request cannot be understood", status: 400, detail: withoutMiddle(detail) })

/** Failures that the caller retries, as a queue does by itself. */
const isRepeated = ({ _tag }: OperationError): boolean => _tag === "TaskPostponed"

/** Runs an operation and maps its errors to problems. Errors of the server itself are logged with their causes. */
export const answering = <A, E extends OperationError, R>(operation: Effect.Effect<A, E, R>): Effect.Effect<A, Problem, R> =>
  Effect.catch(operation, (error) => {
    const problem = problemOf(error)
    if (problem.status < 500) return Effect.fail(problem)
    const line = explain(error)
    const logged = isRepeated(error) ? Effect.logWarning(line) : Effect.logError(line)
    return Effect.andThen(logged, Effect.fail(problem))
  })
