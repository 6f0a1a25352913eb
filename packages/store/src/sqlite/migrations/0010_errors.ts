/** The errors of a command's latest executions, as JSON. Commands whose failure was handled are counted as finished. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  `alter table detent_commands add column errors text`,
  `drop trigger detent_commands_remove`,
  `create trigger detent_commands_remove after delete on detent_commands when old.status in ('completed', 'skipped', 'handled')
    begin
      update detent_finished set commands = commands - 1 where queue = old.queue and status = old.status;
    end`,
]

export const errors = Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
