/** The failures of domain events. Each says where it happened and what to do; none contains a payload, which may be secret. */

import { EventJournalError } from "effect/eventlog/EventJournal"
import * as Schema from "effect/Schema"

/** A stored row that is not an event. It is never skipped: each reader fails with this until the row is repaired. */
export class EntryUnreadable extends Schema.TaggedError<EntryUnreadable>()("EntryUnreadable", {
  journal: Schema.String,
  /** Absent when not even the position can be read. */
  position: Schema.optionalKey(Schema.Int),
  problem: Schema.String,
}) {
  override get message() {
    const where = this.position === undefined ? "an entry" : `the entry at position ${this.position}`
    return `journal ${this.journal}: ${where} cannot be read: ${this.problem}; repair or delete the row, nothing was skipped`
  }
}

/** An event that cannot be stored. Nothing was written. */
export class EntryRefused extends Schema.TaggedError<EntryRefused>()("EntryRefused", {
  journal: Schema.String,
  event: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `journal ${this.journal}: event ${this.event} cannot be stored: ${this.problem}`
  }
}

/** The scope of the journal has ended. Nothing was written. */
export class JournalClosed extends Schema.TaggedError<JournalClosed>()("JournalClosed", { journal: Schema.String }) {
  override get message() {
    return `journal ${this.journal} has been closed and accepts no more events; write before its layer ends`
  }
}

/** A handler took too long. Its event was not stored, and its writes to the database were rolled back. */
export class HandlerTimeout extends Schema.TaggedError<HandlerTimeout>()("HandlerTimeout", {
  journal: Schema.String,
  event: Schema.String,
  millis: Schema.Number,
}) {
  override get message() {
    const limit = `more than ${this.millis} ms while all writers wait for it`
    return `journal ${this.journal}: the handler of ${this.event} took ${limit}; move slow work out of it, or set handlerTimeout`
  }
}

/** A stored event that the handlers of a log could not handle. The projection stays at the position before it. */
export class ReplayFailed extends Schema.TaggedError<ReplayFailed>()("ReplayFailed", {
  journal: Schema.String,
  projection: Schema.String,
  position: Schema.Int,
  event: Schema.String,
  problem: Schema.String,
  cause: Schema.optionalKey(Schema.Defect()),
}) {
  override get message() {
    const where = `journal ${this.journal}: event ${this.event} at position ${this.position} stops projection ${this.projection}`
    return `${where}: ${this.problem}; correct the handler and restart: the replay resumes at that event`
  }
}

/** A reader asks for events after a position that this journal never had: the position is of another journal, or of a newer copy. */
export class PositionUnknown extends Schema.TaggedError<PositionUnknown>()("PositionUnknown", {
  journal: Schema.String,
  after: Schema.Number,
  last: Schema.Int,
}) {
  override get message() {
    return `journal ${this.journal}: there is no position ${this.after}, the last one is ${this.last}; read from the beginning`
  }
}

/** Wraps a failure as Effect's `EventJournal` reports it. */
export const failed =
  (method: string) =>
  (cause: unknown): EventJournalError =>
    cause instanceof EventJournalError ? cause : new EventJournalError({ method, cause })
