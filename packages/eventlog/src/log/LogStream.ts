/** The events of a log with decoded payloads, as a stream from any position. */
import * as Effect from "effect/Effect"
import type * as Event from "effect/eventlog/Event"
import type * as EventGroup from "effect/eventlog/EventGroup"
import type { EventLogSchema } from "effect/eventlog/EventLog"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { EventFeed, type FeedError } from "../journal/EventFeed.ts"
import { EntryUnreadable } from "../journal/errors.ts"
import type { StoredEntry } from "../journal/StoredEntry.ts"

/** An event with its position in the log and its tag, by which a `switch` narrows the payload. */
export type LogEvent<Events extends Event.Any> = Event.TaggedPayload<Events> & {
  readonly position: number
  readonly primaryKey: string
  /** When it was created, in milliseconds. */
  readonly at: number
}

/**
 * All events of a log after a position, then each new one of any process. Default: from the beginning. An event that does not fit
 * the schema fails the stream with its position.
 */
export const stream = <Groups extends EventGroup.Any>(
  schema: EventLogSchema<Groups>,
  options?: { readonly after?: number },
): Stream.Stream<
  LogEvent<EventGroup.Events<Groups>>,
  FeedError,
  EventFeed | Event.PayloadSchema<EventGroup.Events<Groups>>["DecodingServices"]
> => {
  const events = new Map(schema.groups.flatMap((group) => Object.entries((group as unknown as EventGroup.AnyWithProps).events)))
  const decoders = new Map([...events].map(([tag, { payloadSchemaBinary }]) => [tag, Schema.decodeUnknownEffect(payloadSchemaBinary)]))

  const decoded = (journal: string) => (stored: StoredEntry) => {
    const { position, entry } = stored
    const unreadable = (problem: string) => Effect.fail(new EntryUnreadable({ journal, position, problem }))
    const decode = decoders.get(entry.event)
    if (decode === undefined) return unreadable(`the log has no event ${entry.event}`)
    return Effect.matchEffect(decode(entry.payload), {
      onFailure: ({ message }) => unreadable(`the payload of ${entry.event} does not fit its schema: ${message}`),
      onSuccess: (payload) =>
        Effect.succeed({ _tag: entry.event, payload, position, primaryKey: entry.primaryKey, at: entry.createdAtMillis }),
    })
  }

  // The tags and payloads are those of the schema; the type checker cannot infer that through a map.
  return Stream.unwrap(
    Effect.map(EventFeed, (feed) => Stream.mapEffect(feed.stream(options), decoded(feed.journal))),
  ) as unknown as ReturnType<typeof stream<Groups>>
}
