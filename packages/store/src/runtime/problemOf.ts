/** Failures in log lines: one line with the messages of the error and of its causes. Faults of the program show stack frames too. */
import { explain, explainWithFrames, joinLines } from "@detent/machine/internal"
import * as Cause from "effect/Cause"

/** The error of a cause, with its own causes, in one line. */
export const problemOf = (cause: Cause.Cause<unknown>): string => joinLines(explain(Cause.squash(cause)), " ")

/** The same, with the stack frames of the error below. */
export const faultOf = (cause: Cause.Cause<unknown>): string => explainWithFrames(Cause.squash(cause))

/** How many errors are shown of callbacks that fail together. */
const mostFaults = 10

/** The errors that several callbacks threw, each with its stack frames. */
export const faultsOf = (thrown: ReadonlyArray<unknown>): string => {
  const others = thrown.length - mostFaults
  const shown = thrown.slice(0, mostFaults).map(explainWithFrames).join("\n")
  return others > 0 ? `${shown}\nand ${others} more` : shown
}
