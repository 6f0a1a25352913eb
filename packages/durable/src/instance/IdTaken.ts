/**
 * The same id is the same event: it is answered with what the event first came to. Another event under that id would be taken for
 * it and lost without a word, so it is refused. Events of one tag may differ in their fields, as one that is made anew with the
 * time of the attempt does.
 */
import { InvalidEvent } from "@detent/machine"
import type { Tagged } from "@detent/machine/internal"
import type { InstanceKey } from "../store/Commit.ts"
import type { Envelope } from "./Envelope.ts"
import { reservedPrefix } from "./SelfSentEvents.ts"

/** Ids of the engine's own are shared on purpose: of a command's success and failure, one is heard. */
export const isIdOfAnother = ({ dedupeId, event }: Envelope, first: Tagged): boolean =>
  event._tag !== first._tag && dedupeId?.startsWith(reservedPrefix) === false

export const idTaken = ({ machine, id }: InstanceKey, { dedupeId, event }: Envelope, taken: string): InvalidEvent =>
  new InvalidEvent({ machine, id, event: event._tag, problem: `id ${dedupeId} is that of ${taken}; give each event an id of its own` })
