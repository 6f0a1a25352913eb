/** What can be wrong with stored domain events. Each says where, and what to do; none contains a payload, which may be secret. */
import * as Schema from "effect/Schema"
import { EventJournalError } from "effect/unstable/eventlog/EventJournal"

/** A stored row that is no event. It is never skipped: whoever reads it fails with this until it is repaired. */
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

/** An event that no store can take or give back. Nothing was written. */
export class EntryRefused extends Schema.TaggedError<EntryRefused>()("EntryRefused", {
  journal: Schema.String,
  event: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `journal ${this.journal}: event ${this.event} cannot be stored: ${this.problem}`
  }
}

/** The scope of the journal is over. Nothing was written. */
export class JournalClosed extends Schema.TaggedError<JournalClosed>()("JournalClosed", { journal: Schema.String }) {
  override get message() {
    return `journal ${this.journal} has been closed and takes no more events; write before its layer ends`
  }
}

/** A handler did not come to an end. Its event was not stored, and what it did in the database was undone. */
export class HandlerTimeout extends Schema.TaggedError<HandlerTimeout>()("HandlerTimeout", {
  journal: Schema.String,
  event: Schema.String,
  millis: Schema.Number,
}) {
  override get message() {
    const limit = `more than ${this.millis} ms while everybody who writes waits for it`
    return `journal ${this.journal}: the handler of ${this.event} took ${limit}; move slow work out of it, or set handlerTimeout`
  }
}

/** A stored event that the handlers of a log could not take. The projection stays where it was, before that event. */
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
    return `${where}: ${this.problem}; correct the handler and start again, it goes on from there`
  }
}

/** A reader asks for what comes after a position this journal never had: it belongs to another journal, or to a newer copy of this. */
export class PositionUnknown extends Schema.TaggedError<PositionUnknown>()("PositionUnknown", {
  journal: Schema.String,
  after: Schema.Number,
  last: Schema.Int,
}) {
  override get message() {
    return `journal ${this.journal}: there is no position ${this.after}, the last one is ${this.last}; read from the beginning`
  }
}

/** What went wrong, as Effect's `EventJournal` tells it. */
export const failed =
  (method: string) =>
  (cause: unknown): EventJournalError =>
    cause instanceof EventJournalError ? cause : new EventJournalError({ method, cause })
