/** Keys of commands are unique within their queue, no longer in all queues together. The index also finds a key in any queue. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = (schema: string) => [
  `create unique index commands_key_in_queue on ${schema}.commands (key, queue)`,
  `alter table ${schema}.commands drop constraint commands_key_key`,
]

export const keys = (schema: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    for (const statement of statements(schema)) yield* sql.unsafe(statement)
  })
