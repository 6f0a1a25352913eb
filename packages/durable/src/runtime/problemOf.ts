/** Failures in log lines: one line with the messages of the error and of its causes. A stack trace belongs in a debug log. */
import { explain, joinLines } from "@detent/machine/internal"
import * as Cause from "effect/Cause"

/** The error of a cause, with its own causes, in one line. */
export const problemOf = (cause: Cause.Cause<unknown>): string => joinLines(explain(Cause.squash(cause)), " ")
