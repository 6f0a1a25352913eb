/** Hears by LISTEN what other processes announce. It is made anew when its connection ends; until then, asking has to do. */
import type * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import type { SqlClient } from "effect/unstable/sql/SqlClient"
import type { Hearing } from "../Following.ts"
import { announcementOf, channel } from "./Announcements.ts"

/** A driver that can listen. Listening keeps a connection: with a pool of one nothing else could ever run. */
export const canListen = (client: SqlClient): client is SqlClient & Pick<PgClient.PgClient, "listen"> =>
  Predicate.hasProperty(client, "listen") &&
  !(Predicate.hasProperty(client, "config") && Predicate.hasProperty(client.config, "maxConnections") && client.config.maxConnections === 1)

export const hearing =
  (client: Pick<PgClient.PgClient, "listen">, schema: string, journal: string): Hearing =>
  (poke) =>
    Effect.scoped(
      Effect.gen(function* () {
        const notifications = yield* client.listen(channel)
        // What was announced before this connection was heard by nobody.
        poke(Number.POSITIVE_INFINITY)
        return yield* Effect.forever(
          Effect.map(Queue.take(notifications), ({ payload }) => {
            const announced = announcementOf(payload)
            if (announced?.schema === schema && announced.journal === journal) poke(announced.position)
          }),
        )
      }),
    ).pipe(
      Effect.tapError((error) => Effect.logWarning(`journal ${journal} does not hear of other processes at the moment`, error)),
      Effect.retry(Schedule.spaced("1 second")),
      Effect.orDie,
    )
