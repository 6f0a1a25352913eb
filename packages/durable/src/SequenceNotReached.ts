/** A sequence number that an instance's journal does not have. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { InstanceRecord } from "./store/Journal.ts"

export class SequenceNotReached extends Schema.TaggedError<SequenceNotReached>()("SequenceNotReached", {
  machine: Schema.String,
  id: Schema.String,
  sequence: Schema.Number,
  last: Schema.Number,
}) {
  override get message() {
    return `${this.machine} ${this.id} has no sequence ${this.sequence}: its journal goes from 0 to ${this.last}; ask for one of those`
  }
}

export const reached = ({ machine, id, sequence: last }: InstanceRecord, sequence: number): Effect.Effect<void, SequenceNotReached> =>
  Number.isInteger(sequence) && sequence >= 0 && sequence <= last
    ? Effect.void
    : Effect.fail(new SequenceNotReached({ machine, id, sequence, last }))
