/**
 * The id of a database: random, made once with its tables, and stored in it. A backup, a restored backup and a copy have the id of the
 * original.
 *
 * Two databases may both have an instance `invoice/7`, and their handlers may use one account of a payment provider. Without the id, the
 * provider would take the request of the second database for a repeated request of the first, and return the answer to that one.
 */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/** Twelve hexadecimal digits. */
export type DatabaseId = string

export const randomDatabaseId: Effect.Effect<DatabaseId> = Effect.map(Random.next, (random) =>
  Math.floor(random * 2 ** 48)
    .toString(16)
    .padStart(12, "0"),
)

/** The idempotency key that a handler gets for something that has this key in its database. */
export const idempotencyKey = (databaseId: DatabaseId, key: string): string => `${databaseId}/${key}`

/** The key in the database, also where the idempotency key of a handler is given. */
export const storedKey = (databaseId: DatabaseId, key: string): string => {
  const prefix = idempotencyKey(databaseId, "")
  return key.startsWith(prefix) ? key.slice(prefix.length) : key
}
