/**
 * The end of a resource, for finalizers. A failure is logged, and is no failure of the effect: the effect has its result already. As a defect
 * it would even replace a typed failure, because defects go before failures.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { explainWithFrames } from "./MachineError.ts"

/** `what` names the resource in the log, for example "the file". */
export const releasing = (what: string, release: () => unknown): Effect.Effect<void> =>
  Effect.promise(async () => void (await release())).pipe(
    Effect.catchCause((cause) => Effect.logWarning(`${what} could not be released: ${explainWithFrames(Cause.squash(cause))}`)),
  )
