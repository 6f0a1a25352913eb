/** The errors that end a command: exit code and message of each. */
import { explain } from "@detent/machine/internal"
import { messageOn, nameOf, outcomeOf } from "@detent/workspace/ErrorKind"
import * as Cause from "effect/Cause"
import * as Schema from "effect/Schema"
import { ExitCode } from "./ExitCode.mjs"

/** The input cannot be understood: the value of an option, or invalid JSON. */
export class WrongUsage extends Schema.TaggedError<WrongUsage>()("WrongUsage", { problem: Schema.String, nextStep: Schema.String }) {
  override get message() {
    return `${this.problem}; ${this.nextStep}`
  }
}

/** The object that the user named does not exist. */
export class NothingFound extends Schema.TaggedError<NothingFound>()("NothingFound", { what: Schema.String, nextStep: Schema.String }) {
  override get message() {
    return `there is no ${this.what}; ${this.nextStep}`
  }
}

/** The user has not confirmed, or the role or the state does not allow the action. */
export class NotAllowed extends Schema.TaggedError<NotAllowed>()("NotAllowed", { problem: Schema.String, nextStep: Schema.String }) {
  override get message() {
    return `${this.problem}; ${this.nextStep}`
  }
}

/** A running server has refused a change, for the same reasons for which the operation refuses it in this process. */
export class ServerRefused extends Schema.TaggedError<ServerRefused>()("ServerRefused", {
  /** The tag of the error that the operation failed with on the server. */
  reason: Schema.String,
  problem: Schema.String,
  url: Schema.String,
  exitCode: Schema.Int,
}) {
  override get message() {
    return `${this.problem}; asked the server at ${this.url}`
  }
}

const tagOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "_tag" in error && typeof error._tag === "string"
    ? nameOf(error as { readonly _tag: string })
    : "Defect"

/** The messages of an error and of its causes, with its next step for the command line. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? messageOn("cli", { _tag: tagOf(error), message: explain(error) }) : explain(error)

export interface Failure {
  readonly tag: string
  readonly message: string
  readonly exitCode: number
}

export const failureOf = (cause: Cause.Cause<unknown>): Failure => {
  if (Cause.hasInterruptsOnly(cause)) return { tag: "Interrupted", message: "interrupted", exitCode: ExitCode.interrupted }
  const error = Cause.squash(cause)
  if (error instanceof ServerRefused) return { tag: error.reason, message: error.message, exitCode: error.exitCode }
  const tag = tagOf(error)
  return { tag, message: messageOf(error), exitCode: outcomeOf(tag).exitCode }
}
