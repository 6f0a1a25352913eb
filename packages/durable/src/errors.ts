/** Errors of the engine, with the details that the store has. */
import { InstanceExists, InstanceNotFound, InvalidState, SequenceNotReached } from "@detent/machine"
import { describe, idProblem } from "@detent/machine/internal"
import type { InstanceKey, InstanceRecord, JournalService } from "@detent/store"
import { idBytes, lengthProblem, nameProblem } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

export { InstanceExists, InstanceNotFound, NewerVersion, RepairRefused, SequenceNotReached } from "@detent/machine"

/** The event cannot be previewed. */
export class PreviewRefused extends Schema.TaggedError<PreviewRefused>()("PreviewRefused", {
  machine: Schema.String,
  id: Schema.String,
  event: Schema.String,
}) {
  override get message() {
    return `${this.machine} ${this.id} decides ${this.event} with an Effect, which a preview does not run; send it to get the outcome`
  }
}

/** The error of an instance that exists already, with its state. Where the store cannot be read, the state is left out. */
export const instanceExists = (journal: JournalService, { machine, id }: InstanceKey): Effect.Effect<InstanceExists> =>
  Effect.match(journal.open({ machine, id }), {
    onFailure: () => new InstanceExists({ machine, id }),
    onSuccess: Option.match({
      onNone: () => new InstanceExists({ machine, id }),
      onSome: ({ record }) => new InstanceExists({ machine, id, state: record.tag, status: record.status }),
    }),
  })

/** The error of an id that is not a string: no instance has it. Undefined for any other id. */
export const noInstance = ({ machine, id }: { readonly machine: string; readonly id: unknown }): InstanceNotFound | undefined =>
  typeof id === "string" ? undefined : new InstanceNotFound({ machine, id: describe(id) })

/** Checks that a journal has a sequence number. */
export const reached = ({ machine, id, sequence: last }: InstanceRecord, sequence: number): Effect.Effect<void, SequenceNotReached> =>
  Number.isInteger(sequence) && sequence >= 0 && sequence <= last
    ? Effect.void
    : Effect.fail(new SequenceNotReached({ machine, id, sequence: Number(sequence), last }))

/** The error of an invalid instance id; undefined where the id is valid. */
export const invalidId = (machine: string, id: unknown): InvalidState | undefined => {
  const problem =
    id === ""
      ? "its id is empty; give it one"
      : (idProblem(id) ?? nameProblem("id", String(id)) ?? lengthProblem("id", String(id), idBytes))
  return problem === undefined ? undefined : new InvalidState({ machine, state: "(start)", problem })
}
