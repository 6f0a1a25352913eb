/** Checks that a journal has a sequence number. */
import { SequenceNotReached } from "@detent/machine"
import * as Effect from "effect/Effect"
import type { InstanceRecord } from "./store/Journal.ts"

export { SequenceNotReached } from "@detent/machine"

export const reached = ({ machine, id, sequence: last }: InstanceRecord, sequence: number): Effect.Effect<void, SequenceNotReached> =>
  Number.isInteger(sequence) && sequence >= 0 && sequence <= last
    ? Effect.void
    : Effect.fail(new SequenceNotReached({ machine, id, sequence, last }))
