/** Failures in log lines: one line with the message of the error. A stack trace belongs in a debug log. */
import { describe, joinLines } from "@detent/machine/internal"
import * as Cause from "effect/Cause"

/** The error of a cause in one line. */
export const problemOf = (cause: Cause.Cause<unknown>): string => joinLines(describe(Cause.squash(cause)), " ")
