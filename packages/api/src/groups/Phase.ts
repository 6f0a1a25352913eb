/** The phases of an execution. */
import * as Schema from "effect/Schema"

/** `Waiting`: an event was sent to the execution before it was started. */
export const Phase = Schema.Literals(["Waiting", "Running", "Compensating", "Suspended", "Held", "Completed", "Failed", "Interrupted"])
