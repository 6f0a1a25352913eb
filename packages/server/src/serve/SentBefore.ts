/**
 * What was sent under a key before. The same event again is answered from the journal; another one under that key would get the
 * answer of the first, so it is refused.
 */
import { isDeepStrictEqual } from "node:util"
import { type Instance, Journal } from "@detent/durable"
import type { Tagged } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { MachineJson } from "./MachineJson.ts"

export class KeyTaken extends Schema.TaggedError<KeyTaken>()("KeyTaken", {
  machine: Schema.String,
  id: Schema.String,
  key: Schema.String,
  sequence: Schema.Int,
  event: Schema.String,
  difference: Schema.Literals(["event", "fields"]),
}) {
  override get message() {
    const { machine, id, key, sequence, event, difference } = this
    const other = difference === "event" ? "" : " with other fields"
    return `key ${key} of ${machine}/${id} is that of event ${sequence}, ${event}${other}; nothing was sent: choose another key for another event`
  }
}

/** The event that was journaled under the key, if one was; refused where it is another than the one to be sent. */
export const sentBefore = (instance: Instance<Tagged, Tagged>, json: MachineJson, event: Tagged, key: string) =>
  Effect.gen(function* () {
    const { machine, id } = instance
    const found = yield* Effect.flatMap(Journal, (journal) => journal.findDuplicate({ machine, id }, key))
    if (Option.isNone(found)) return undefined
    const { sequence, tag } = found.value
    const taken = { machine, id, key, sequence, event: tag }
    if (tag !== event._tag) return yield* new KeyTaken({ ...taken, difference: "event" })
    const journaled = yield* instance.history.pipe(
      Stream.filter((entry) => entry.sequence === sequence),
      Stream.runHead,
      // A history that was cut short or cannot be replayed has nothing to compare with.
      Effect.orElseSucceed(() => Option.none()),
    )
    if (Option.isSome(journaled) && !isDeepStrictEqual(json.event(journaled.value.event), json.event(event)))
      return yield* new KeyTaken({ ...taken, difference: "fields" })
    return { sequence, event: tag }
  })
