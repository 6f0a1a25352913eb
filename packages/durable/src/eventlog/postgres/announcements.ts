/** How processes announce through PostgreSQL's NOTIFY how far a journal has come, and listen for it. */
import type * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Queue from "effect/Queue"
import type { SqlClient } from "effect/unstable/sql/SqlClient"
import type { Listener } from "../JournalFollower.ts"

export const channel = "detent_domain_events"

export interface Announcement {
  readonly schema: string
  readonly journal: string
  readonly position: number
}

export const announcement = ({ schema, journal, position }: Announcement): string => JSON.stringify([schema, journal, position])

/** Any client can NOTIFY: a payload that cannot be read is ignored. */
export const announcementOf = (payload: string): Announcement | undefined => {
  try {
    const parsed: unknown = JSON.parse(payload)
    if (!Array.isArray(parsed)) return undefined
    const [schema, journal, position] = parsed
    if (typeof schema !== "string" || typeof journal !== "string" || !Number.isSafeInteger(position)) return undefined
    return { schema, journal, position }
  } catch {
    return undefined
  }
}

/** A driver that can listen. Listening keeps a connection: with a pool of one nothing else could ever run. */
export const canListen = (client: SqlClient): client is SqlClient & Pick<PgClient.PgClient, "listen"> =>
  Predicate.hasProperty(client, "listen") &&
  !(Predicate.hasProperty(client, "config") && Predicate.hasProperty(client.config, "maxConnections") && client.config.maxConnections === 1)

export const listenerOf =
  (client: Pick<PgClient.PgClient, "listen">, schema: string, journal: string): Listener =>
  (listens, announced) =>
    Effect.scoped(
      Effect.gen(function* () {
        const notifications = yield* client.listen(channel)
        yield* listens
        return yield* Effect.forever(
          Effect.map(Queue.take(notifications), ({ payload }) => {
            const found = announcementOf(payload)
            if (found?.schema === schema && found.journal === journal) announced(found.position)
          }),
        )
      }),
    )
